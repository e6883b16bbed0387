"""Tables: columns fitted to the screen, cells wrapped, and a list of `Head: value` lines where columns cannot fit."""

from collections.abc import Sequence
from typing import NamedTuple

from overt.frontends.tui.terminal.rows import BLANK, Row, Span, columns, plain, wrap
from overt.lib.display_width import width

Cell = Sequence[Span]
BAR = Span(" │ ", "border")
GAP = 3
NARROWEST = 4
WORD = 14
"""A longer word may be broken before a column is given up."""


class Table(NamedTuple):
    head: Sequence[Cell]
    body: Sequence[Sequence[Cell]]
    aligns: Sequence[str]


def widths_for(table: Table, room: int) -> list[int] | None:
    """What each column gets; None when they do not fit beside each other."""
    cells = [[line[number] for line in (table.head, *table.body)] for number in range(len(table.head))]
    natural = [max(columns(cell) for cell in column) for column in cells]
    room -= GAP * (len(natural) - 1)
    if sum(natural) <= room:
        return [max(each, 1) for each in natural]
    whole = [min(each, max(_longest(column), NARROWEST)) for each, column in zip(natural, cells, strict=True)]
    given = [min(each, WORD) for each in whole]
    if sum(given) > room:
        return None
    for wanted in (whole, natural):
        _share(given, wanted, room - sum(given))
    return given


def _share(given: list[int], wanted: Sequence[int], left: int) -> None:
    """Gives what is left to the columns that want more, evenly."""
    while left > 0:
        wanting = [number for number, each in enumerate(given) if each < wanted[number]]
        if not wanting:
            return
        share = max(left // len(wanting), 1)
        for number in wanting:
            more = min(share, wanted[number] - given[number], left)
            given[number] += more
            left -= more


def _longest(column: Sequence[Cell]) -> int:
    """The longest word of a column; each Chinese character is one."""
    longest = 1
    for cell in column:
        for word in plain(cell).split():
            size = len(word) if word.isascii() else max(map(width, "".join(map(_apart, word)).split()), default=1)
            longest = max(longest, size)
    return longest


def _apart(char: str) -> str:
    return f" {char} " if width(char) == 2 else char


def table_rows(table: Table, room: int, *, widths: list[int] | None, headed: bool = True) -> list[Row]:
    if widths is None:
        return _listed(table, room, headed=headed)
    rule: Row = (Span("─┼─".join("─" * each for each in widths), "border"),)
    lines = [_line(line, widths, table.aligns) for line in table.body]
    apart = any(len(line) > 1 for line in lines)
    rows: list[Row] = []
    if headed:
        rows = [*_line(table.head, widths, table.aligns), rule]
    for number, line in enumerate(lines):
        if apart and (number or not headed):
            rows.append(rule)
        rows += line
    return rows


def _line(cells: Sequence[Cell], widths: list[int], aligns: Sequence[str]) -> list[Row]:
    wrapped = [wrap(cell, size) for cell, size in zip(cells, widths, strict=True)]
    rows: list[Row] = []
    for level in range(max(map(len, wrapped))):
        made: list[Span] = []
        for number, cell in enumerate(wrapped):
            part = cell[level] if level < len(cell) else BLANK
            if number:
                made.append(BAR)
            made += _aligned(part, widths[number], aligns[number])
        while made and not made[-1].text.strip(" "):
            made.pop()
        if made and made[-1].text.endswith(" "):
            made[-1] = made[-1]._replace(text=made[-1].text.rstrip(" "))
        rows.append(tuple(made))
    return rows


def _aligned(part: Row, size: int, align: str) -> list[Span]:
    missing = size - columns(part)
    before = missing if align == "right" else missing // 2 if align == "center" else 0
    spaces = (Span(" " * before),) if before > 0 else ()
    after = (Span(" " * (missing - before)),) if missing > before else ()
    return [*spaces, *part, *after]


def _listed(table: Table, room: int, *, headed: bool) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(table.body):
        if number or not headed:
            rows.append(BLANK)
        for head, cell in zip(table.head, line, strict=True):
            if not plain(cell).strip():
                continue
            name = (*head, Span(": ", "bold")) if plain(head).strip() else ()
            rows += wrap((*name, *cell), room, first=(), rest=(Span("  "),))
    return rows
