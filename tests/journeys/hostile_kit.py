"""The terminal chat in a pseudo-terminal whose every byte is looked at, with a screen to read what a person sees."""

import os
import re
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.fakes.model_server import ModelServer
from tests.frontends.tui.screen_kit import Paper
from tests.journeys.journey_kit import OVERT, Place, Terminal
from tests.journeys.test_terminal_bytes import CONTROLS

PATIENCE = 30.0
LINK = re.compile(r"\x1b\]8;;([^\x1b\x07]*)\x1b\\")
OURS = re.compile(
    r"\x1b\[\?(?:7|25|1000|1006|1049|2004|2026)[hl]"
    r"|\x1b\[>1u|\x1b\[<u|\x1b\[>4;[01]m|\x1b\[[0-9;]*m"
    r"|\x1b\[\d*[ABCDGK]|\x1b\[2?J|\x1b\[(?:\d+;\d+)?H"
    r"|\x1b\]8;;[!-~]*\x1b\\|\x1b\]11;\?\x1b\\"
)
"""Everything that the chat itself may send; what rings, notifies or copies is not among it."""
FOREIGN = re.compile(f"[{CONTROLS}\u3164\uffa0\U000e0000-\U000e0fff]")
PASTE, PASTE_END = "\x1b[200~", "\x1b[201~"


class Chat(Terminal):
    """`see` waits for the screen, `hear` for bytes: drawing a screen of paper is slow."""

    def __init__(
        self,
        place: Place,
        words: tuple[str, ...],
        env: Mapping[str, str],
        size: tuple[int, int],
        under: tuple[str, ...],
    ) -> None:
        super().__init__([*under, OVERT, *words], cwd=place.work, env=env)
        self.resize(*size)
        self.paper = Paper(*size)
        self._drawn = self._heard = 0

    def resize(self, columns: int, lines: int) -> None:
        termios.tcsetwinsize(self._master, (lines, columns))

    def screen(self) -> str:
        """What stands on it now."""
        while self._more(0.02):
            pass
        return self._look()

    def _look(self) -> str:
        whole = self.raw[: len(self.raw) - _cut(self.raw)]
        if len(whole) > self._drawn:
            self.paper.write(whole[self._drawn :].decode())
            self._drawn = len(whole)
        return "\n".join(self.paper.display())

    def see(self, wanted: str | Callable[[str], bool], within: float = PATIENCE) -> str:
        """The screen once it shows this and nothing more comes for a moment."""
        deadline = time.monotonic() + within
        while True:
            quiet = not self._more(0.05)
            shown = self._look()
            if quiet and (wanted(shown) if callable(wanted) else wanted in shown):
                return shown
            assert time.monotonic() < deadline, f"{wanted!r} was not shown, but:\n{shown}"

    def hear(self, wanted: str, within: float = PATIENCE) -> None:
        """Until these letters came, which must stand in one row in one style."""
        deadline = time.monotonic() + within
        sought = wanted.encode()
        while (at := self.raw.find(sought, self._heard)) < 0:
            assert self._more(deadline - time.monotonic()), f"{wanted!r} did not come, but: {self.raw[-2000:]!r}"
        self._heard = at + len(sought)

    def hush(self) -> None:
        """Until nothing came for a moment."""
        while self._more(0.1):
            pass
        self._heard = len(self.raw)

    def paste(self, text: str) -> None:
        self.type(f"{PASTE}{text}{PASTE_END}")

    def say(self, text: str) -> None:
        self.type(text)
        self.screen()
        self.type("\r")


@contextmanager
def chat(
    place: Place,
    *words: str,
    server: ModelServer,
    env: Mapping[str, str] | None = None,
    size: tuple[int, int] = (100, 30),
    under: tuple[str, ...] = (),
) -> Iterator[Chat]:
    more = {"TERM": "xterm-256color", **(env or {})}
    opened = Chat(place, words, place.environment(server, more), size, under)
    try:
        yield opened
    finally:
        opened.close()


def assert_harmless(raw: bytes, *, workspace: str = "") -> str:
    """What is left of it without our own sequences, when nothing that is left could drive a terminal.

    Links lead to the web, to a mailbox or to a file of the workspace.
    """
    text = raw.decode("utf-8")  # a raw C1 byte would not be UTF-8
    targets = {target for target in LINK.findall(text) if target}
    allowed = ("http://", "https://", "mailto:", f"file://{os.uname().nodename}{workspace}/")
    assert [target for target in sorted(targets) if not target.lower().startswith(allowed)] == []
    bare = OURS.sub("\0", text)
    found = [hit for hit in FOREIGN.finditer(bare) if hit[0] != "\0"]
    assert not found, [(ascii(hit[0]), ascii(bare[max(hit.start() - 40, 0) : hit.end() + 20])) for hit in found[:5]]
    assert "over\rwritten" not in text  # a return is ours in the live region, so it is known by its neighbours
    return bare.replace("\0", "")


def _cut(data: bytes) -> int:
    """How many bytes at the end are a character or a sequence that has only begun."""
    escape = data.rfind(b"\x1b", max(len(data) - 400, 0))
    if escape >= 0 and not re.match(
        rb"\x1b(?:\[[0-9;?<>=:]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])", data[escape:]
    ):
        return len(data) - escape
    for back in range(1, 4):
        if len(data) >= back and data[-back] >= 0xC0:
            size = 2 if data[-back] < 0xE0 else 3 if data[-back] < 0xF0 else 4
            return back if size > back else 0
    return 0
