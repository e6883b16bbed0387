"""A real tmux with a socket of its own, in which a program runs."""

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

WAIT = 60.0

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    def __init__(self, place: Path) -> None:
        self.place = place
        self._socket = place / "s"

    def run(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", str(self.place / "conf"), *words],
            capture_output=True,
            text=True,
            timeout=WAIT,
            cwd=self.place,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "HOME": str(self.place)},
        )
        return done.stdout

    def start(self, command: str, columns: int = 80, lines: int = 24) -> None:
        (self.place / "conf").write_text("set -g history-limit 50000\nset -g status off\nset -g remain-on-exit on\n")
        self.run("new-session", "-d", "-x", str(columns), "-y", str(lines), command)

    def resize(self, columns: int, lines: int) -> None:
        self.run("resize-window", "-x", str(columns), "-y", str(lines))

    def keys(self, *names: str) -> None:
        self.run("send-keys", *names)

    def screen(self) -> list[str]:
        return self.run("capture-pane", "-p").rstrip("\n").split("\n")

    def everything(self) -> list[str]:
        """The scrollback and the screen, lines that tmux has broken put together."""
        return [line.rstrip() for line in self.run("capture-pane", "-p", "-J", "-S", "-").rstrip("\n").split("\n")]

    def until(self, seen: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT
        while not seen():
            assert time.monotonic() < end, "\n".join(self.screen())
            time.sleep(0.02)


@contextmanager
def tmux() -> Iterator[Tmux]:
    place = Path(tempfile.mkdtemp(prefix="tui"))
    made = Tmux(place)
    try:
        yield made
    finally:
        made.run("kill-server")
        shutil.rmtree(place, ignore_errors=True)


def program(path: Path, *words: object) -> str:
    """A Python file as a command, with the modules of this project and of its tests."""
    root = Path(__file__).parents[3]
    parts = ["env", f"PYTHONPATH={root / 'src'}:{root}", sys.executable, str(path), *map(str, words)]
    return shlex.join(parts)
