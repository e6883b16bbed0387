"""A terminal's screen as a small SVG: every cell where it stood, no font, picture or script from elsewhere.

pyte draws the screen. What it does not know is added here: faint text, the alternate screen, and sequences with a
`>` or `<`, which it would take for others.
"""

import codecs
import copy
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import escape

import pyte
from pyte.screens import Char

Background = Literal["dark", "light"]
CELL, LINE, BASE, SIZE, PAD = 8.4, 18, 13, 14, 12
FONTS = (
    "'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono','Noto Sans Mono CJK SC','Noto Sans CJK SC',"
    "'PingFang SC','Microsoft YaHei',monospace"
)
PRIVATE = re.compile(r"\x1b\[[<>=][0-9;:]*[A-Za-z]")
UNFINISHED = re.compile(r"\x1b(?:\[[<>=]?[0-9;:?]*)?\Z")
ALTERNATE = 1049
FAINT, NORMAL, COLOUR, BACK = 2, 22, 38, 48
NAMES = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
PALETTES: dict[Background, tuple[str, ...]] = {
    "dark": tuple(
        "#16181d #e06c75 #8fc27d #d9b26a #61afef #c678dd #56b6c2 #c8ccd4 "
        "#6b7280 #ef7e86 #a3d491 #e8c57f #7cc0f8 #d68fe8 #6fcbd6 #f0f2f5".split()
    ),
    "light": tuple(
        "#24292f #b3261e #1a7f37 #8a5a00 #0b57c2 #8b2fa8 #0b7285 #6b7280 "
        "#57606a #cf3a31 #22863a #a06b00 #1f6feb #a148c0 #12879c #1b1f24".split()
    ),
}
GROUND: dict[Background, tuple[str, str]] = {"dark": ("#16181d", "#d7dae0"), "light": ("#fdfdfc", "#24292f")}
"""Behind and before: the window and its usual text."""
EDGE = "#888"


class Look(NamedTuple):
    ink: str
    paper: str
    bold: bool
    italic: bool
    underline: bool
    strike: bool
    faint: bool


class Screen(pyte.Screen):
    """`reply` hears what a terminal answers to questions of the program."""

    def __init__(self, columns: int, lines: int, reply: Callable[[str], None] = lambda text: None) -> None:
        super().__init__(columns, lines)
        self._reply = reply
        self._kept: tuple[Any, Any] | None = None

    def write_process_input(self, data: str) -> None:
        self._reply(data)

    def select_graphic_rendition(self, *attrs: int, private: bool = False) -> None:
        """Nobody blinks here, so that pyte's mark for blinking stands for faint."""
        if private:
            return
        given, meant = list(attrs), []
        while given:
            code = given.pop(0)
            if code in (COLOUR, BACK):
                count = 2 if given[:1] == [5] else 4
                meant += [code, *given[:count]]
                given = given[count:]
            else:
                meant += [5] if code == FAINT else [NORMAL, 25] if code == NORMAL else [code]
        super().select_graphic_rendition(*meant)

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and ALTERNATE in modes and self._kept is None:
            self._kept = (copy.deepcopy(self.buffer), copy.copy(self.cursor))
            self.erase_in_display(2)
            self.cursor_position()
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        super().reset_mode(*modes, **kwargs)
        if kwargs.get("private") and ALTERNATE in modes and self._kept is not None:
            (self.buffer, self.cursor), self._kept = self._kept, None
            self.dirty.update(range(self.lines))


class Feed:
    """Bytes of a program onto a screen, however they are cut."""

    def __init__(self, screen: Screen) -> None:
        self._stream = pyte.Stream(screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes) -> None:
        text, self._held = self._held + self._decoder.decode(data), ""
        if unfinished := UNFINISHED.search(text):
            text, self._held = text[: unfinished.start()], text[unfinished.start() :]
        self._stream.feed(PRIVATE.sub("", text))


def svg(screen: Screen, background: Background, *, title: str, hide: tuple[tuple[str, str], ...] = ()) -> str:
    """The screen as it stands. `hide` are texts and others, equally long, that are shown in their places."""
    paper, ink = GROUND[background]
    width, height = screen.columns * CELL + 2 * PAD, screen.lines * LINE + 2 * PAD
    names: dict[Look, str] = {}
    body: list[str] = []
    for number in range(screen.lines):
        body += _line(_cells(screen, number, hide), number, background, names)
    if not screen.cursor.hidden and screen.cursor.y < screen.lines:
        at, top = min(screen.cursor.x, screen.columns - 1) * CELL + PAD, screen.cursor.y * LINE + PAD
        body.append(f'<rect x="{_short(at)}" y="{top}" width="{CELL}" height="{LINE}" fill="{ink}" opacity=".35"/>')
    styles = "".join(f".{name}{{{_css(look)}}}" for look, name in names.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_short(width)} {height}" width="{_short(width)}" '
        f'height="{height}" role="img"><title>{escape(title)}</title>'
        f"<style>text{{font:{SIZE}px {FONTS};white-space:pre;fill:{ink}}}{styles}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{paper}" stroke="{EDGE}" stroke-opacity=".4"/>\n'
        + "\n".join((*body, "</svg>", ""))
    )


def _cells(screen: Screen, number: int, hide: tuple[tuple[str, str], ...]) -> list[Char]:
    row = screen.buffer[number]
    cells = [row[column] for column in range(screen.columns)]
    text = "".join(cell.data if len(cell.data) == 1 else "\0" for cell in cells)
    for wanted, instead in hide:
        for found in re.finditer(re.escape(wanted), text):
            for at, char in zip(range(*found.span()), instead, strict=True):
                cells[at] = cells[at]._replace(data=char)
    return cells


class _Run(NamedTuple):
    column: int
    cells: int
    text: str
    look: Look


def _line(cells: list[Char], number: int, background: Background, names: dict[Look, str]) -> Iterator[str]:
    y = number * LINE + PAD
    for run in _runs(cells, background):
        x, length = _short(run.column * CELL + PAD), _short(run.cells * CELL)
        if run.look.paper:
            yield f'<rect x="{x}" y="{y}" width="{length}" height="{LINE}" fill="{run.look.paper}"/>'
        drawn = run.text if run.look.underline or run.look.strike else run.text.strip()
        if not drawn.strip() and not run.look.underline:
            continue
        skipped = 0 if drawn == run.text else len(run.text) - len(run.text.lstrip())
        size = run.cells - (len(run.text) - len(drawn))
        x, length = _short((run.column + skipped) * CELL + PAD), _short(size * CELL)
        plain = run.look._replace(paper="")
        name = names.setdefault(plain, f"c{len(names)}") if _css(plain) else ""
        kind = f' class="{name}"' if name else ""
        yield f'<text x="{x}" y="{y + BASE}" textLength="{length}"{kind}>{escape(drawn)}</text>'


def _runs(cells: list[Char], background: Background) -> Iterator[_Run]:
    """Neighbours of one look; wide characters by themselves, so that each stands on its two cells."""
    found: list[_Run] = []
    for column, cell in enumerate(cells):
        if not cell.data:
            continue
        wide = 2 if column + 1 < len(cells) and not cells[column + 1].data else 1
        found.append(_Run(column, wide, cell.data, _look(cell, background)))
    for (look, wide), group in groupby(found, key=lambda run: (run.look, run.cells if run.cells > 1 else 1)):
        if wide > 1:
            yield from group
            continue
        runs = list(group)
        yield _Run(runs[0].column, len(runs), "".join(run.text for run in runs), look)


def _look(cell: Char, background: Background) -> Look:
    paper, ink = GROUND[background]
    front, back = _colour(cell.fg, background), _colour(cell.bg, background)
    if cell.reverse:
        front, back = back or paper, front or ink
    return Look(front, back, cell.bold, cell.italics, cell.underscore, cell.strikethrough, cell.blink)


def _colour(name: str, background: Background) -> str:
    if name == "default":
        return ""
    bright = name.startswith("bright")
    plain = name.removeprefix("bright")
    if plain in NAMES:
        return PALETTES[background][NAMES.index(plain) + 8 * bright]
    return f"#{name}"


def _css(look: Look) -> str:
    lines = " ".join(name for name, on in (("underline", look.underline), ("line-through", look.strike)) if on)
    parts = (
        look.ink and f"fill:{look.ink}",
        look.bold and "font-weight:700",
        look.italic and "font-style:italic",
        lines and f"text-decoration:{lines}",
        look.faint and "opacity:.6",
    )
    return ";".join(part for part in parts if part)


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
