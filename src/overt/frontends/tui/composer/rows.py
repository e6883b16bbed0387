"""Where the text being edited stands on the screen: display rows, and the way between a place in the text and a column.

A row ends after a space or between Chinese characters where it can, inside of a word where it must. One column stays
free for the cursor behind the last character; a space may stand in it, for the next row begins there anyway. Only what
changed is laid out again: other lines are remembered, and in a long line the rows before and after the change.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from overt.frontends.tui.composer.editor import pieces, sure
from overt.frontends.tui.composer.folded_pastes import RESERVED, Folds, is_fold
from overt.frontends.tui.terminal.rows import common_length
from overt.lib.display_width import fitting_length, width
from overt.lib.text import visible

TAB = "    "
REMEMBERED = 4000
WIDE = "[\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uff01-\uff60]+"
"""Of what people write most: each takes two columns, and a row may end before each."""
LONG = 200
"""Characters of a line from which on only what changed is laid out again."""


class DisplayRow(NamedTuple):
    """One display row: where it begins and ends in the text."""

    start: int
    end: int


class Layout:
    def __init__(self, folds: Folds) -> None:
        self._folds = folds
        self._key: tuple[str, int, int] = ("", 0, 0)
        self._rows: list[DisplayRow] = [DisplayRow(0, 0)]
        self._begins: dict[str, list[int]] = {}
        self._sizes: dict[str, int] = {}
        self._long: tuple[str, list[int]] = ("", [0])
        self._room = 0

    def rows(self, text: str, room: int, skip: int = 0) -> list[DisplayRow]:
        """All rows; the first `skip` characters are drawn elsewhere."""
        if (text, room, skip) == self._key:
            return self._rows
        if room != self._room:
            self._begins, self._long, self._room = {}, ("", [0]), room
        current: dict[str, list[int]] = {}
        made: list[DisplayRow] = []
        place = skip
        for line in (text[skip:] if skip else text).split("\n"):
            begins = self._begins.get(line) or self._broken(line, room)
            current[line] = begins
            if len(begins) == 1:
                made.append(DisplayRow(place, place + len(line)))
            else:
                made += [
                    DisplayRow(place + start, place + end)
                    for start, end in zip(begins, (*begins[1:], len(line)), strict=True)
                ]
            place += len(line) + 1
        self._begins = current
        self._key, self._rows = (text, room, skip), made
        return made

    def _broken(self, line: str, room: int) -> list[int]:
        """Where the rows of a line begin."""
        if line.isascii() and line.isprintable():
            return _broken_ascii(line, room)
        if len(line) <= LONG:
            return self._wrapped(line, room, [0])
        self._long = line, self._rewrapped(line, room, *self._long)
        return self._long[1]

    def _rewrapped(self, line: str, room: int, old: str, known: list[int]) -> list[int]:
        same = common_length(old, line)
        tail = common_length(old[same:][::-1], line[same:][::-1])
        kept = [start for start, later in zip(known, known[2:], strict=False) if later < same] or [0]
        return self._wrapped(line, room, kept, ([start for start in known if start > len(old) - tail], len(old)))

    def _wrapped(self, line: str, room: int, begins: list[int], rest: tuple[list[int], int] = ([], 0)) -> list[int]:
        """`begins` holds rows that are known to stay, `rest` those of the old line behind the change."""
        shift = len(line) - rest[1]
        known = {start + shift: number for number, start in enumerate(rest[0])}
        begins = list(begins)
        while (start := self._next(line, begins[-1], room)) is not None:
            if start in known:
                return begins + [each + shift for each in rest[0][known[start] :]]
            begins.append(start)
        return begins

    def _next(self, line: str, start: int, room: int) -> int | None:
        """Where the row after the one that begins at `start` begins."""
        full = start + room // 2
        run = re.compile(WIDE).match(line, start, full + 1)
        if run and run.end() > full:
            return full
        place = good = start
        taken = 0
        loose = False
        sizes = self._sizes
        for piece in _stream(line, start):
            size = sizes.get(piece) or self._size(piece)
            free = is_fold(piece) or (size == 2 and not piece.isascii())
            if free or loose:
                good = place
            loose = free
            if taken + size > room and place > start and not (piece == " " and taken == room):
                return good if good > start else place
            taken, place = taken + size, place + len(piece)
            if piece in (" ", "\t", "\u3000"):
                good = place
        return place if taken > room and place > start else None

    def shown(self, piece: str) -> str:
        """One cluster as it is drawn."""
        if is_fold(piece):
            label = self._folds.get(piece).label
            return label if width(label) <= self._room else label[: fitting_length(label, max(self._room - 1, 1))] + "…"
        return visible(piece).replace("\t", TAB)

    def _size(self, piece: str) -> int:
        if is_fold(piece):
            return width(self.shown(piece))
        size = self._sizes.get(piece)
        if size is None:
            if len(self._sizes) > REMEMBERED:
                self._sizes.clear()
            size = self._sizes[piece] = width(self.shown(piece))
        return size

    def drawn(self, part: str) -> str:
        """A part of a row as it is drawn."""
        if part.isprintable() and not self.folded(part):
            return part if part.isascii() else visible(part)
        return "".join(self.shown(piece) for piece in pieces(part))

    def folded(self, part: str) -> bool:
        return not part.isascii() and re.search(RESERVED, part) is not None

    def find(self, rows: list[DisplayRow], at: int) -> int:
        """The row in which a place stands; the end of a row that goes on is the beginning of the next."""
        return max(bisect_right(rows, at, key=lambda row: row.start) - 1, 0)

    def column(self, text: str, row: DisplayRow, at: int) -> int:
        return width(self.drawn(text[row.start : at]))

    def place(self, text: str, row: DisplayRow, column: int) -> int:
        """The place in a row that stands at a column, or the last one before it."""
        at, taken = row.start, 0
        goes_on = row.end < len(text) and text[row.end] != "\n"
        for piece in pieces(text[row.start : row.end]):
            taken += self._size(piece)
            # The end of a row that goes on is drawn as the beginning of the next.
            if taken > column or (goes_on and at + len(piece) >= row.end):
                return at
            at += len(piece)
        return at


def _broken_ascii(line: str, room: int) -> list[int]:
    begins = [0]
    start = 0
    while len(line) - start > room:
        if line[start + room] == " ":
            start += room + 1
        else:
            space = line.rfind(" ", start, start + room) + 1
            start = space if space > start else start + room
        begins.append(start)
    return begins


def _stream(line: str, start: int) -> Iterator[str]:
    """The clusters from a place on, found as they are asked for."""
    while start < len(line):
        end = start + 64
        while not sure(line, end):
            end += 1
        yield from pieces(line[start:end])
        start = end
