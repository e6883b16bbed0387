"""Compute where the rows of the live region are on the screen, and the shortest bytes from one frame to the next."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from overt.frontends.tui.terminal.rows import Row, Span, columns, common_length, cut, plain
from overt.lib.display_width import clusters, has_certain_width, max_width, width

Place = tuple[int, int]
OVERRUN, OVERRUN_END = "\x1b[?7l", "\x1b[?7h"


class DrawnRow(NamedTuple):
    """A row on the screen. `sure`: terminals agree on its width; `tight`: some may find it wider than the screen."""

    row: Row
    text: str
    width: int
    sure: bool
    tight: bool

    def drawn(self) -> str:
        return f"{OVERRUN}{self.text}{OVERRUN_END}" if self.tight else self.text


class FrameLayout(NamedTuple):
    """A frame on the screen. `at` is the place of the cursor in it, `columns` the width of the screen at that time,
    and `source` are the rows before they were cut to that width."""

    rows: list[DrawnRow]
    at: Place
    columns: int
    source: Sequence[Row] = ()


def lay_out(
    rows: Sequence[Row], cursor: Place | None, old: FrameLayout, painted: Callable[[Row], str], size: tuple[int, int]
) -> FrameLayout:
    """Cut a frame to the size of the screen, leaving out its top rows if it is too high. Unchanged rows are reused."""
    room, most = size
    skipped = max(len(rows) - max(most, 1), 0)
    source = tuple(rows[skipped:])
    same = old.columns == room
    drawn: list[DrawnRow] = []
    for at, row in enumerate(source):
        if same and at < len(old.source) and old.source[at] == row:
            drawn.append(old.rows[at])
            continue
        fits = cut(row, room)
        text = plain(fits)
        drawn.append(DrawnRow(fits, painted(fits), width(text), has_certain_width(text), max_width(text) > room))
    if cursor is None or cursor[0] < skipped or not drawn:
        place = max(len(drawn) - 1, 0), 0
    else:
        place = min(cursor[0] - skipped, len(drawn) - 1), min(max(cursor[1], 0), room - 1)
    return FrameLayout(drawn, place, room, source)


def heights(row: Row, room: int, at: int = 0) -> tuple[int, int]:
    """Return how many lines a terminal breaks the row into, and in which of them column `at` is.

    Each cluster counts as the smallest width that any terminal gives it: going up too far would erase finished rows.
    """
    text = plain(row)
    if text.isascii():
        lines = max(-(-len(text) // room), 1)
        return lines, min(at // room, lines - 1)
    lines, used, seen, line_of_at = 1, 0, 0, 0
    for piece in clusters(text):
        taken = min(width(piece), 2)
        if used + taken > room:
            lines, used = lines + 1, 0
        if seen <= at:
            line_of_at = lines - 1
        used += taken
        seen += width(piece)
    return lines, lines - 1 if at >= seen else line_of_at


def move(here: Place, there: Place) -> str:
    """Return the bytes that move the cursor. It goes down by line feeds: a terminal that became lower has dropped the
    rows below the cursor, and a cursor move would stop at its last line, where a line feed scrolls."""
    down, column = there[0] - here[0], there[1]
    if down > 0:
        return "\r" + "\n" * down + (f"\x1b[{column + 1}G" if column else "")
    out = f"\x1b[{-down}A" if down else ""
    if column == here[1]:
        return out
    return out + ("\r" if not column else f"\x1b[{column + 1}G")


def tail(
    old: DrawnRow, new: DrawnRow, here: Place, where: tuple[int, int], painted: Callable[[Row], str]
) -> tuple[str, Place]:
    """Return the bytes that redraw the row at `where` (line, columns of the screen) from its first difference on, and
    the place of the cursor after them."""
    line = where[0]
    end = line, new.width
    rub = "\x1b[K" if new.width < old.width else ""
    whole = move(here, (line, 0)) + new.drawn() + rub
    if not (old.sure and new.sure) or new.tight or old.tight:
        return move(here, (line, 0)) + "\x1b[K" + new.drawn(), end
    place, rest = _differing(old.row, new.row)
    part = move(here, (line, place)) + painted(rest) + rub
    return (part, end) if len(part) < len(whole) else (whole, end)


def _differing(old: Row, new: Row) -> tuple[int, Row]:
    """Return the first column in which the rows differ, and the new row from there on."""
    place = same = 0
    for was, span in zip(old, new, strict=False):
        if was != span:
            break
        place += width(span.text)
        same += 1
    before, rest = old[same:], new[same:]
    if before and rest and before[0][1:] == rest[0][1:]:
        alike = common_length(before[0].text, rest[0].text)
        place += width(rest[0].text[:alike])
        before = (before[0]._replace(text=before[0].text[alike:]), *before[1:])
        rest = (rest[0]._replace(text=rest[0].text[alike:]), *rest[1:])
    if any(text and not width(text[0]) for text in (plain(before), plain(rest))):
        return 0, new  # an accent goes onto the letter before it
    return place, rest


def up_to(row: Row, column: int) -> Row:
    """Return the part of the row before the column."""
    kept: list[Span] = []
    left = column
    for span in row:
        size = columns((span,))
        if size > left:
            taken = place = 0
            for piece in clusters(span.text):
                if taken + width(piece) > left:
                    break
                taken += width(piece)
                place += len(piece)
            kept.append(span._replace(text=span.text[:place]))
            break
        kept.append(span)
        left -= size
    return tuple(kept)
