"""Columns of a list: as wide as what stands in them, the least needed left out where the screen is narrow."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from overt.frontends.tui.terminal.rows import Row, Span, cut, pad
from overt.lib.display_width import width

GAP = 2


class Column(NamedTuple):
    """`most`: no wider than this; `least`: columns of a screen below which it is left out. One is `rest`: it is cut
    to what the others leave."""

    most: int = 400
    least: int = 0
    right: bool = False
    rest: bool = False


def widths(cells: Iterable[Sequence[str]], spec: Sequence[Column]) -> list[int]:
    """How wide each column would like to be."""
    found = [0] * len(spec)
    for each in cells:
        for number, text in enumerate(each):
            found[number] = max(found[number], min(width(text), spec[number].most))
    return found


def lay_out_cells(cells: Sequence[Span], wanted: Sequence[int], spec: Sequence[Column], room: int) -> Row:
    shown = [n for n, column in enumerate(spec) if column.rest or (wanted[n] and room >= column.least)]
    others = sum(wanted[n] + GAP for n in shown if not spec[n].rest)
    made: list[Span] = []
    for at, number in enumerate(shown):
        column = spec[number]
        size = max(min(room - others, wanted[number]), 6) if column.rest else wanted[number]
        cell = cut((cells[number],), size)
        last = at == len(shown) - 1
        if column.right:
            missing = size - sum(width(span.text) for span in cell)
            cell = (Span(" " * missing), *cell) if missing > 0 else cell
        elif not last:
            cell = pad(cell, size)
        made += cell if last else (*cell, Span(" " * GAP))
    while made and not made[-1].text.strip():
        made.pop()
    return cut(tuple(made), room)
