"""A terminal made of paper: what a `Terminal` writes lands on a screen that can be read, with its scrollback.

pyte keeps the cells. Put right here: characters without a width no longer end the drawing, wide characters wrap as
terminals do, rows that scroll off are kept, the alternate screen exists, and a resize reflows as tmux does.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pyte
from pyte import modes
from wcwidth import wcwidth

from overt.frontends.tui.terminal.device import Device
from overt.frontends.tui.terminal.screen import Frame, Terminal
from overt.frontends.tui.terminal.theme import theme

STRANGE = re.compile(r"(\x1b\[[<>=][0-9;:]*[a-zA-Z])|\x1b\[\?1049([hl])|\x1b\[\?(2004|2026|25|7|1000|1006)([hl])")


def cell_width(char: str) -> int:
    """As the C library counts, and so tmux: marks that take room of their own, and half a flag."""
    if unicodedata.category(char) == "Mc" or "\U0001f1e6" <= char <= "\U0001f1ff":
        return 1
    return int(wcwidth(char))


class Screen(pyte.Screen):
    buffer: Any  # rows carry `wrapped` besides their cells

    def __init__(self, columns: int, lines: int) -> None:
        self.past: list[Any] = []
        super().__init__(columns, lines)

    def index(self) -> None:
        if self.cursor.y == self.lines - 1:
            self.past.append(self.buffer[0])
        super().index()

    def draw(self, data: str) -> None:
        for char in data:
            taken = cell_width(char)
            if taken == 0:
                self._join(char)
                continue
            if self.cursor.x + taken > self.columns:
                if modes.DECAWM in self.mode:
                    self.buffer[self.cursor.y].wrapped = True
                    self.carriage_return()
                    self.linefeed()
                else:
                    self.cursor.x = self.columns - taken
            line = self.buffer[self.cursor.y]
            line[self.cursor.x] = self.cursor.attrs._replace(data=char)
            if taken == 2:
                line[self.cursor.x + 1] = self.cursor.attrs._replace(data="")
            self.cursor.x += taken

    def _join(self, char: str) -> None:
        line, at = self.buffer[self.cursor.y], self.cursor.x - 1
        while at > 0 and line[at].data == "":
            at -= 1
        if at >= 0:
            line[at] = line[at]._replace(data=line[at].data + char)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        super().erase_in_line(how, private)
        self.buffer[self.cursor.y].wrapped = False

    def erase_in_display(self, how: int = 0, *args: Any, **named: Any) -> None:
        super().erase_in_display(how, *args, **named)
        for y in range(self.cursor.y if how == 0 else 0, self.lines):
            self.buffer[y].wrapped = False

    # ── resizing ─────────────────────────────────────────────────────────────────────────────────────────

    def reflow(self, columns: int, lines: int) -> None:
        """As tmux: lower drops rows below the cursor first, higher brings rows back from the scrollback, then every
        line is broken anew and the last ones are on the screen."""
        rows = [self.buffer[y] for y in range(self.lines)]
        dropped = min(max(self.lines - lines, 0), self.lines - 1 - self.cursor.y)
        rows = [*self.past, *rows[: len(rows) - dropped]]
        here = len(self.past) + self.cursor.y
        rows += [self._blank() for _ in range(lines - len(rows))]
        joined: list[list[Any]] = []
        at = (0, 0)
        going_on = False
        for number, row in enumerate(rows):
            going_from, going_on = going_on, getattr(row, "wrapped", False)
            if not going_from:
                joined.append([])
            if number == here:
                at = (len(joined) - 1, len(joined[-1]) + self.cursor.x)
            joined[-1] += [row[x] for x in range(_used(row))]
        made, cursor = _broken(joined, at, columns, self._blank)
        made += [self._blank() for _ in range(lines - len(made))]
        first = len(made) - lines
        self.past = made[:first]
        self.columns, self.lines = columns, lines
        self.set_margins()
        self.buffer.clear()
        self.buffer.update(enumerate(made[first:]))
        y, x = (cursor[0] - first, cursor[1]) if cursor[0] >= first else (0, 0)
        self.cursor.y, self.cursor.x = y, min(x, columns - 1)

    def _blank(self) -> Any:
        return pyte.screens.StaticDefaultDict(self.default_char)

    def clip(self, columns: int, lines: int) -> None:
        """As xterm: rows stay rows, cut at the right; the top goes into the scrollback when lines are missing."""
        over = max(self.cursor.y - lines + 1, 0)
        rows = [self.buffer[y] for y in range(self.lines)]
        self.past += rows[:over]
        self.buffer.clear()
        for y, row in enumerate(rows[over : over + lines]):
            for x in [x for x in row if x >= columns]:
                del row[x]
            self.buffer[y] = row
        self.columns, self.lines = columns, lines
        self.set_margins()
        self.cursor.y, self.cursor.x = self.cursor.y - over, min(self.cursor.x, columns - 1)


def _used(row: Any) -> int:
    filled = [x for x, cell in row.items() if cell.data != " "]
    return max(filled) + 1 if filled else 0


def _broken(
    joined: list[list[Any]], at: tuple[int, int], columns: int, blank: Callable[[], Any]
) -> tuple[list[Any], tuple[int, int]]:
    made: list[Any] = []
    cursor = (0, 0)
    for number, cells in enumerate(joined):
        made.append(blank())
        x = 0
        place = None
        for offset, cell in enumerate(cells):
            wide = offset + 1 < len(cells) and cells[offset + 1].data == ""
            if x + (2 if wide else 1) > columns and cell.data != "":
                made[-1].wrapped = True
                made.append(blank())
                x = 0
            if number == at[0] and offset == at[1]:
                place = (len(made) - 1, x)
            made[-1][x] = cell
            x += 1
        if number == at[0]:
            cursor = place or (len(made) - 1, min(x + at[1] - len(cells), columns))
    return made, cursor


def line_text(row: Any, columns: int) -> str:
    return "".join(row[x].data for x in range(columns)).rstrip()


class Paper(Device):
    """`sent` is everything that was written, one item a write. `on` holds the private modes that are set."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        super().__init__()
        self.screen = Screen(columns, lines)
        self.sent: list[str] = []
        self.on: set[int] = {7, 25}
        self.mode = "usual"
        self.stopped = 0
        self._stream = pyte.Stream(self.screen)
        self._below: Any = None

    # ── what a terminal does ─────────────────────────────────────────────────────────────────────────────

    def size(self) -> tuple[int, int]:
        return self.screen.columns, self.screen.lines

    def raw(self) -> None:
        self.mode = "raw"

    def is_raw(self) -> bool:
        return self.mode == "raw"

    def usual(self, *, forget: bool = False) -> None:
        self.mode = "usual"

    def stop(self) -> None:
        self.stopped += 1

    def write(self, text: str) -> None:
        self.sent.append(text)
        place = 0
        for found in STRANGE.finditer(text):
            self._stream.feed(text[place : found.start()])
            place = found.end()
            if found[2]:
                self._alternate(on=found[2] == "h")
            elif found[3]:
                (self.on.add if found[4] == "h" else self.on.discard)(int(found[3]))
                if found[3] in ("25", "7"):
                    self._stream.feed(found[0])
        self._stream.feed(text[place:])

    def _alternate(self, *, on: bool) -> None:
        screen = self.screen
        if on and self._below is None:
            self._below = (dict(screen.buffer), screen.past, screen.cursor.x, screen.cursor.y, self.size())
            screen.buffer.clear()
            screen.past = []
            self.on.add(1049)
        elif not on and self._below is not None:
            buffer, screen.past, screen.cursor.x, screen.cursor.y, was = self._below
            self._below, now = None, self.size()
            screen.buffer.clear()
            screen.buffer.update(buffer)
            self.on.discard(1049)
            if was != now:
                screen.columns, screen.lines = was
                screen.reflow(*now)

    def resize(self, columns: int, lines: int, *, reflows: bool = True) -> None:
        (self.screen.reflow if reflows and self._below is None else self.screen.clip)(columns, lines)

    # ── what a person sees ───────────────────────────────────────────────────────────────────────────────

    @property
    def cursor(self) -> tuple[int, int]:
        """Line of the screen and column, from 0."""
        return self.screen.cursor.y, min(self.screen.cursor.x, self.screen.columns - 1)

    def display(self) -> list[str]:
        """The lines of the screen without the blanks at their ends and without the empty lines at its end."""
        return _trimmed([line_text(self.screen.buffer[y], self.screen.columns) for y in range(self.screen.lines)])

    def scrollback(self) -> list[str]:
        return [line_text(row, self.screen.columns) for row in self.screen.past]

    def everything(self) -> list[str]:
        rows = [*self.screen.past, *(self.screen.buffer[y] for y in range(self.screen.lines))]
        return _trimmed([line_text(row, self.screen.columns) for row in rows])

    def logical(self) -> list[str]:
        """Everything, lines that were broken by the terminal put together again."""
        made: list[str] = []
        going_on = False
        for row in [*self.screen.past, *(self.screen.buffer[y] for y in range(self.screen.lines))]:
            text = "".join(row[x].data for x in range(self.screen.columns))
            wrapped = getattr(row, "wrapped", False)
            if not wrapped:
                text = text.rstrip()
            if going_on:
                made[-1] += text
            else:
                made.append(text)
            going_on = wrapped
        return _trimmed([line.rstrip() for line in made])

    def cell(self, line: int, column: int) -> Any:
        """pyte's cell: data, fg, bg, bold, underscore, reverse, strikethrough."""
        return self.screen.buffer[line][column]

    def taken(self) -> str:
        """All that was written since the last time."""
        sent, self.sent = "".join(self.sent), []
        return sent


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines.pop()
    return lines


def on_paper(
    columns: int = 80, lines: int = 24, *, links: bool = False, reflows: bool = True
) -> tuple[Terminal, Paper]:
    """A terminal that has been entered, and the paper it writes on. Nothing waits for a resize to end."""
    paper = Paper(columns, lines)
    made = Terminal(paper, theme("dark", depth=256), links=links, reflows=reflows, settle=0)
    made.enter()
    paper.taken()
    return made, paper


def drawn(rows: Any, columns: int = 80, lines: int = 24, cursor: tuple[int, int] | None = None) -> list[str]:
    """Rows as they look in the live region."""
    made, paper = on_paper(columns, lines)
    made.show(Frame(tuple(rows), cursor))
    return paper.display()
