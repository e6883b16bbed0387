"""What Ctrl+O opens: all reasoning and the whole output of tools, as much of the newest as is kept."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from overt.frontends.tui.terminal.rows import BLANK, Row, Span, cut, row
from overt.frontends.tui.terminal.verbatim_text import chop, one_line
from overt.lib.text import visible

MOST = 2_000_000
"""Bytes that are kept, about."""


class Detail(NamedTuple):
    head: Span
    text: str
    style: str
    size: int


class DetailLog:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: deque[Detail] = deque()
        self._size = 0

    def add(self, head: str, text: str = "", *, style: str = "", head_style: str = "bold") -> None:
        """What is too long even alone keeps its end."""
        text = text if len(text) <= self._most else text[-self._most :]
        size = len(text) * (1 if text.isascii() else 2) + 200
        self._kept.append(Detail(Span(head, head_style), text, style, size))
        self._size += size
        while self._size > self._most and len(self._kept) > 1:
            self._size -= self._kept.popleft().size

    def rows(self, columns: int) -> list[Row]:
        rows: list[Row] = []
        for detail in self._kept:
            if rows:
                rows.append(BLANK)
            head = one_line(detail.head.text)
            rows.append(cut(row(detail.head._replace(text=head)), columns))
            rows += _lines(detail.text, detail.style, max(columns - 2, 8))
        return rows


def _lines(text: str, style: str, room: int) -> Iterator[Row]:
    """Broken at the edge, not at words: there may be a great many of them."""
    for line in visible(text.replace("\r\n", "\n")).rstrip("\n").split("\n") if text else ():
        for made in chop((Span(line.expandtabs(4), style),), room):
            yield (Span("  "), *made) if made else BLANK
