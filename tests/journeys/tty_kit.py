"""The installed terminal chat in a pseudo-terminal: its bytes land on paper, and every mode it sets is kept in mind."""

import codecs
import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.frontends.tui.screen_kit import Paper
from tests.journeys.journey_kit import KEY, OVERT, Place, until

PATIENCE = 20.0
MODES = re.compile(r"\x1b\[(\?[0-9;]+[hl]|>[0-9]+u|<[0-9]*u|>4;[0-9]m)|\x1bc")
WHOLE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])")
USUAL = {"?7", "?25"}


class Kept:
    """The modes of a terminal as a program leaves them. The stack of kitty's keyboard forms is kept per screen."""

    def __init__(self) -> None:
        self.on = set(USUAL)
        self._stacks = {False: 0, True: 0}

    def feed(self, text: str) -> None:
        for found in MODES.finditer(text):
            word = found[1] or ""
            if word.startswith("?"):
                for name in word[1:-1].split(";"):
                    (self.on.add if word.endswith("h") else self.on.discard)(f"?{name}")
            elif word.startswith(">4"):
                (self.on.discard if word == ">4;0m" else self.on.add)("other keys")
            elif word:
                full = "?1049" in self.on
                self._stacks[full] = max(self._stacks[full] + (1 if word.startswith(">") else -1), 0)

    def left(self) -> set[str]:
        """What is not as it was found."""
        return (self.on ^ USUAL) | {f"kitty keys, full screen {full}" for full, deep in self._stacks.items() if deep}


class Tty:
    """`env` is all the program gets; `before` is the mode of the terminal as it finds it."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], size: tuple[int, int]) -> None:
        self.paper = Paper(*size)
        self.kept = Kept()
        self.raw = bytearray()
        self.master, self._slave = pty.openpty()
        termios.tcsetwinsize(self._slave, (size[1], size[0]))
        self.before = self.termios()
        self._argv, self._cwd, self._env = argv, cwd, dict(env)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """The last descriptor of the other side goes to the program, so that its end is the end of the line."""
        slave, self._slave = self._slave, -1
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *self._argv], cwd=self._cwd, env=self._env, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def termios(self) -> list[Any]:
        return termios.tcgetattr(self.master)

    # ── what a person does ───────────────────────────────────────────────────────────────────────────────

    def type(self, text: str | bytes) -> None:
        """All of it, while what the program writes is read, as a terminal does."""
        data = memoryview(text.encode() if isinstance(text, str) else text)
        os.set_blocking(self.master, False)
        deadline = time.monotonic() + PATIENCE
        try:
            while data:
                reads, writes, _ = select.select([self.master], [self.master], [], 1)
                if reads:
                    self._take()
                if writes:
                    try:
                        data = data[os.write(self.master, data) :]
                    except BlockingIOError:
                        pass
                assert time.monotonic() < deadline, f"{len(data)} bytes were not taken"
        finally:
            os.set_blocking(self.master, True)

    def resize(self, columns: int, lines: int) -> None:
        self.paper.resize(columns, lines)
        termios.tcsetwinsize(self.master, (lines, columns))

    def hang_up(self) -> None:
        """The window is closed."""
        os.close(self.master)
        self.master = -1

    # ── what a person sees ───────────────────────────────────────────────────────────────────────────────

    def _take(self) -> bool:
        try:
            data = os.read(self.master, 65536)
        except BlockingIOError:
            return True
        except OSError:  # Linux says EIO when the other side is gone
            return False
        self.raw += data
        text = self._held + self._decoder.decode(data)
        start = text.rfind("\x1b")
        cut = start if start >= 0 and not WHOLE.match(text, start) else len(text)
        text, self._held = text[:cut], text[cut:]
        self.kept.feed(text)
        self.paper.write(text)
        return bool(data)

    def read(self, seconds: float) -> bool:
        """Something came within this time."""
        return bool(select.select([self.master], [], [], max(seconds, 0))[0]) and self._take()

    def idle(self, seconds: float = 0.15, most: float = 2.0) -> None:
        """Until nothing has come for so long; something that moves by itself is not waited for."""
        end = time.monotonic() + most
        while time.monotonic() < end and self.read(seconds):
            pass

    def screen(self) -> str:
        return "\n".join(self.paper.display())

    def expect(self, wanted: str | Callable[[str], bool], within: float = PATIENCE) -> str:
        deadline = time.monotonic() + within
        while not (wanted(self.screen()) if callable(wanted) else wanted in self.screen()):
            left = deadline - time.monotonic()
            if left <= 0 or not self.read(left):
                raise AssertionError(f"{wanted!r} was not shown, but:\n{self.screen()}\n{bytes(self.raw[-300:])!r}")
        return self.screen()

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────

    def wait(self) -> int:
        """Read on until the program is gone; its exit code."""
        assert self.process
        deadline = time.monotonic() + PATIENCE
        while self.master >= 0 and self.read(deadline - time.monotonic()):
            pass
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        for end in (self.master, self._slave):
            if end >= 0:
                os.close(end)
        assert KEY.encode() not in self.raw

    def assert_modes_as_found(self) -> None:
        assert (self.kept.left(), self.termios()) == (set(), self.before), self.screen()

    def assert_as_found(self) -> None:
        """Nothing of the program is left in the terminal, and the cursor stands at the start of a line."""
        self.assert_modes_as_found()
        assert self.paper.cursor[1] == 0, self.screen()


@contextmanager
def tty(
    place: Place,
    *words: str,
    env: Mapping[str, str],
    size: tuple[int, int] = (80, 24),
    argv: Sequence[str] = (),
    start: bool = True,
) -> Iterator[Tty]:
    """The program, or `argv` instead, in the workspace of the place."""
    place.distrust()
    made = Tty(argv or [OVERT, *words], cwd=place.work, env={"TERM": "xterm-256color", **env}, size=size)
    try:
        if start:
            made.start()
        yield made
    finally:
        made.close()


def state(pid: int) -> str:
    """As /proc has it: `S` sleeps, `T` is stopped, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def stopped(pid: int) -> None:
    until(lambda: state(pid) == "T")
