"""The installed program in tmux, driven by keys: what stands on the screen, and what in the scrollback."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from tests.journeys.journey_kit import OVERT, Place

TMUX = shutil.which("tmux")
needs_tmux = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
GOLDEN = Path(__file__).parent.parent / "golden" / "screens"
PATIENCE = 30.0
NUMBERS = count()
MASKS = (
    (r"\b\d+(\.\d)?s\b", "…s"),
    (r"overt --resume \w+", "overt --resume ID"),
    (r"\bOvert \d+\.\d+\.\d+", "Overt VERSION"),
    (r"\b\d\d:\d\d\b", "HH:MM"),
    (r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋"),
)
"""What differs from run to run → what stands in a golden screen for it."""


class Pane:
    def __init__(
        self, socket: Path, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        self._socket = socket
        command = f"{shlex.join(argv)}; echo LEFT WITH $?; exec sleep 1000"
        self._tmux(
            "-f",
            os.devnull,
            "new-session",
            "-d",
            "-x",
            str(size[0]),
            "-y",
            str(size[1]),
            "-c",
            str(cwd),
            "sh",
            "-c",
            command,
            env=env,
        )
        self._tmux("set-option", "-g", "history-limit", "100000")

    def _tmux(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        assert TMUX
        where = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color", **(env or {})}
        done = subprocess.run(
            [TMUX, "-u", "-S", str(self._socket), *words], env=where, capture_output=True, check=True, timeout=PATIENCE
        )
        return done.stdout.decode()

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Keys by the names that tmux has for them."""
        self._tmux("send-keys", *keys)

    def answer(self, key: str) -> None:
        """A key for a question that a person has had time to see: one that comes sooner is no answer."""
        time.sleep(0.4)
        self.press(key)

    def paste(self, text: str, file: Path) -> None:
        file.write_text(text)
        self._tmux("load-buffer", str(file))
        self._tmux("paste-buffer", "-p", "-r", "-d")

    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._tmux("capture-pane", "-p").split("\n")).rstrip("\n") + "\n"

    def scrollback(self) -> str:
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def cursor(self) -> tuple[int, int]:
        """Column and row."""
        x, y = self._tmux("display-message", "-p", "#{cursor_x} #{cursor_y}").split()
        return int(x), int(y)

    def told(self, template: str) -> str:
        """What tmux knows of the pane, as in `#{alternate_on}`."""
        return self._tmux("display-message", "-p", template).strip()

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def expect(self, wanted: str | Callable[[str], bool]) -> str:
        """The screen once it shows this, and has not changed for a moment."""
        deadline = time.monotonic() + PATIENCE
        last = ""
        while True:
            shown = self.screen()
            if (wanted(shown) if callable(wanted) else wanted in shown) and shown == last:
                return shown
            if time.monotonic() > deadline:
                raise AssertionError(f"{wanted!r} was not shown, but:\n{shown}")
            last = shown
            time.sleep(0.12)

    def pid(self) -> int:
        """Of the program, below the shell."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(children[0])

    def close(self) -> None:
        self._tmux("kill-server")


@contextmanager
def pane(
    place: Place, argv: Sequence[str], *, env: Mapping[str, str], size: tuple[int, int] = (80, 24)
) -> Iterator[Pane]:
    """A server of its own, whose end is the end of everything in it."""
    made = Pane(place.home.parent / f"tmux-{next(NUMBERS)}", argv, cwd=place.work, env=env, size=size)
    try:
        yield made
    finally:
        made.close()


def overt(*words: str, delay: float = 0.0) -> list[str]:
    slow = [sys.executable, "-m", "tests.fakes.slow_line", str(delay)] if delay else []
    return [*slow, OVERT, *words]


def masked(screen: str) -> str:
    for pattern, instead in MASKS:
        screen = re.sub(pattern, instead, screen)
    return screen


def assert_golden(name: str, screen: str) -> None:
    """The screen is the one on record. With GOLDEN_SCREENS=write in the environment it is put on record."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN_SCREENS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(masked(screen))
    assert path.read_text() == masked(screen)
