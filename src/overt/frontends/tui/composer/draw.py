"""Draw the composer: its mark, the wrapped text, and a window over it that keeps the cursor in view."""

from typing import NamedTuple

from overt.frontends.tui.composer.editor import EditText, pieces
from overt.frontends.tui.composer.folded_pastes import Folds, is_fold
from overt.frontends.tui.composer.rows import DisplayRow, Layout
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, cut
from overt.lib.display_width import width
from overt.lib.text import visible
from overt.lib.translations import say

MARK, SHELL, INDENT = Span("› ", "accent"), Span("! ", "warn"), "  "
NARROWEST = 2
"""Columns: a Chinese character must fit."""


class SearchMatch(NamedTuple):
    """State of a history search: the query, the matching entry, and where. `failed`: there is no other match."""

    query: str
    entry: str
    at: tuple[int, int]
    failed: bool


class ComposerView(NamedTuple):
    now: EditText
    placeholder: str
    search: SearchMatch | None


class Drawing:
    def __init__(self, folds: Folds) -> None:
        self._folds = folds
        self._layout = Layout(folds)
        self._match_layout = Layout(folds)
        self._room = 77
        self._top = 0

    def draw(self, view: ComposerView, columns: int, most: int) -> tuple[list[Row], tuple[int, int]]:
        self._room = max(columns - len(INDENT) - 1, NARROWEST)
        most = max(most, 1)
        if view.search is not None:
            return self._searching(view.search, columns, most)
        text, at = view.now
        if not text:
            self._top = 0
            shown = cut((MARK, Span(visible(view.placeholder), "muted")), columns) if view.placeholder else (MARK,)
            return [shown], (0, min(2, columns - 1))
        skip = int(text.startswith("!"))
        rows = self._layout.rows(text, self._room, skip)
        here = self._layout.find(rows, at)
        column = 0 if at < skip else len(INDENT) + self._layout.column(text, rows[here], at)
        first, last = self._window(len(rows), here, most)
        made = [self._row(text, rows, number) for number in range(first, last)]
        if most >= 3:
            if first:
                made.insert(0, _more(first))
            if last < len(rows):
                made.append(_more(len(rows) - last))
        shift = first - (first > 0 and most >= 3)
        return [cut(each, columns) for each in made], (here - shift, min(column, columns - 1))

    def vertical(self, now: EditText, by: int, wanted: int | None) -> tuple[int | None, int]:
        """Return the place one row up or down, None at the edge, and the column to keep."""
        text, at = now
        skip = int(text.startswith("!"))
        rows = self._layout.rows(text, self._room, skip)
        here = self._layout.find(rows, at)
        column = self._layout.column(text, rows[here], max(at, skip)) if wanted is None else wanted
        if not 0 <= here + by < len(rows):
            return None, column
        return self._layout.place(text, rows[here + by], column), column

    def _window(self, rows: int, here: int, most: int) -> tuple[int, int]:
        """Return the first row to show and the one after the last. Each sign of more rows takes one."""
        if rows <= most:
            self._top = 0
            return 0, rows
        signs = 2 if most >= 3 else 0
        first, last = self._span(rows, most, signs)
        if here < first:
            self._top = here
        elif here >= last:
            self._top = here - (most - signs) + 1
        return self._span(rows, most, signs)

    def _span(self, rows: int, most: int, signs: int) -> tuple[int, int]:
        one = most - signs // 2
        if self._top <= 0:
            return 0, one
        if self._top >= rows - one:
            return rows - one, rows
        return self._top, self._top + most - signs

    def _row(self, text: str, rows: list[DisplayRow], number: int, match: tuple[int, int] = (0, 0)) -> Row:
        """Draw one row of the text; `match` is the stretch of the text that the search highlights."""
        start, end = rows[number]
        low, high = max(start, match[0]), min(end, match[1])
        if low < high:
            tail = self._styled(text[high:end].rstrip(" \t"), "")
            spans = [*self._styled(text[start:low], ""), *self._styled(text[low:high], "reverse"), *tail]
        else:
            spans = self._styled(text[start:end].rstrip(" \t"), "")
        if number == 0:
            return (SHELL if text.startswith("!") else MARK, *spans)
        return (Span(INDENT), *spans) if spans else BLANK

    def _styled(self, part: str, style: str) -> list[Span]:
        if not self._layout.folded(part):
            return [Span(self._layout.drawn(part), style)] if part else []
        made: list[Span] = []
        for piece in pieces(part):
            dim = is_fold(piece) and self._folds.get(piece).kind != "letter"
            here = f"{style} dim".strip() if dim else style
            shown = self._layout.shown(piece)
            if made and made[-1].style == here:
                shown = made.pop().text + shown
            made.append(Span(shown, here))
        return made

    def _searching(self, match: SearchMatch, columns: int, most: int) -> tuple[list[Row], tuple[int, int]]:
        query, entry, (start, end), failed = match
        label = say("tui.composer.no_match" if failed else "tui.composer.search")
        line: Row = (Span(f"{label} ", "muted"), *((Span(visible(query)),) if query else ()))
        column = min(width(f"{label} {visible(query)}"), columns - 1)
        room = most - 1
        rows = self._match_layout.rows(entry, self._room)
        here = self._match_layout.find(rows, start)
        first = min(max(here - room + 1, 0), max(len(rows) - room, 0)) if room else 0
        made = [self._row(entry, rows, number, (start, end)) for number in range(first, min(first + room, len(rows)))]
        return [*(cut(each, columns) for each in made), cut(line, columns)], (len(made), column)


def _more(lines: int) -> Row:
    return (Span(INDENT), Span(say("tui.composer.more", lines=lines), "muted"))
