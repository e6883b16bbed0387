"""How far a fetch has come, for a terminal as one line that is drawn over, else as a few lines of their own."""

from collections.abc import Callable
from time import monotonic

from overt.lib.translations import say

WIDTH = 24
PAUSE = 0.1
STEP = 10
"""Per cent between two lines where there is no terminal."""


class Bar:
    """`write` takes text as it is to be shown, line ends and all."""

    def __init__(self, write: Callable[[str], object], *, terminal: bool) -> None:
        self._write = write
        self._terminal = terminal
        self._began = (0.0, 0)
        self._drawn = 0.0
        self._last = -1
        self._open = False

    def report(self, done: int, total: int) -> None:
        now, percent = monotonic(), done * 100 // total
        if self._last < 0 or percent < self._last:
            self._began, self._last = (now, done), percent - STEP
        if self._terminal and (now - self._drawn >= PAUSE or done == total):
            self._drawn, self._last = now, percent
            full = WIDTH * done // total
            self._write(f"\r[{'#' * full}{'.' * (WIDTH - full)}] {self._words(done, total, now)}\x1b[K")
            self._open = True
        elif not self._terminal and percent >= self._last + STEP:
            self._last = percent - percent % STEP
            self._write(self._words(done, total, now) + "\n")

    def tell(self, line: str) -> None:
        self.end()
        self._write(line + "\n")

    def end(self) -> None:
        """What is drawn stays, and what follows begins on a line of its own."""
        if self._open:
            self._write("\n")
        self._open, self._last = False, -1

    def _words(self, done: int, total: int, now: float) -> str:
        began, had = self._began
        rate = (done - had) / 1e6 / max(now - began, 0.001)
        percent = done * 100 // total
        return say(
            "fetch.bar", done=f"{done / 1e6:.0f}", total=f"{total / 1e6:.0f}", percent=percent, rate=f"{rate:.1f}"
        )
