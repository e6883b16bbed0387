"""A text on the alternate screen: scrolled, searched and left again, without any I/O of its own.

A place in the text is a line and a row in it, so that another width changes how lines are broken but not what is
read. Only what is on the screen is broken into rows: a text of megabytes costs what a page of it costs.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, cut, plain, wrap
from overt.frontends.tui.terminal.verbatim_text import chop, one_line
from overt.lib.display_width import before, width
from overt.lib.text import visible
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.slash_command import Command
    from overt.frontends.tui.chat.streamed_answer import Streamed

Lay = Callable[[int], Sequence[Row]]
"""Lines that are made for so many columns."""

ROOMY = 16
"""Lines of a screen from which on the head and the keys stand apart from the rest."""
WHEEL = 3
PROSE = 4000
"""Characters of a line up to which it is broken at words."""
LONGEST = 200
KEPT = 4096
STEPS = {
    "up": -1, "k": -1, "ctrl-p": -1, "ctrl-y": -1,
    "down": 1, "j": 1, "ctrl-n": 1, "ctrl-e": 1, "enter": 1,
}  # fmt: skip
PAGES = {
    "pageup": -1.0, "b": -1.0, "ctrl-b": -1.0, "ctrl-u": -0.5,
    "pagedown": 1.0, " ": 1.0, "ctrl-f": 1.0, "ctrl-d": 0.5,
}  # fmt: skip
JOINT = " · "
LEAVING: tuple[str, ...] = ("q", "esc", "ctrl-c")


class Screenful(NamedTuple):
    """`cursor` is the row and the column; None: hidden."""

    rows: list[Row]
    cursor: tuple[int, int] | None = None


def make_markdown() -> "Streamed":
    """Markdown without links and citations."""
    from overt.frontends.tui.markdown.markdown import Markdown  # late: 2 ms

    return Markdown(links=False)


class PanelInputs(NamedTuple):
    """Parts of the chat that panels use: the details of the transcript, the commands and the Markdown renderer."""

    details: Lay = lambda _columns: ()
    commands: Sequence["Command"] = ()
    markdown: "Callable[[], Streamed]" = make_markdown


class PanelRequest(NamedTuple):
    """What a panel cannot do itself: `close` it, run `text` as a `slash` command, or run the query of that `kind`."""

    kind: str
    text: str = ""
    number: int = 0


CLOSE = PanelRequest("close")


def strokes(key: Key) -> list[str]:
    """What was pressed, one by one: letters that came together were pressed one after the other."""
    return list(key.text) if key.name == "text" else [key.name]


def yes_or_no(question: str) -> Row:
    return Span(question, "warn"), Span(say("tui.panel.yes_no"), "dim")


def text_rows(text: str, style: str = "") -> list[Row]:
    """What others wrote, line by line."""
    lines = visible(text).replace("\t", "    ").removesuffix("\n").split("\n")
    return [(Span(line, style),) if line else BLANK for line in lines]


def room_for(lines: int) -> int:
    """How many rows lie between the head and the keys."""
    return max(lines - (4 if lines >= ROOMY else 2), 1)


def frame_panel(head: Row, body: Sequence[Row], foot: Row, columns: int, lines: int) -> list[Row]:
    """A screen of exactly so many lines: a head, a body, the keys."""
    room = room_for(lines)
    rows = [*body[:room], *[BLANK] * (room - len(body))]
    if lines >= ROOMY:
        rows = [BLANK, *rows, BLANK]
    return [cut(each, columns) for each in (head, *rows, foot)][:lines]


def heading(title: str, note: str = "") -> Row:
    return (Span(title, "bold head"), *((Span(f"  {note}", "muted"),) if note else ()))


def hints(text: str, room: int) -> Row:
    """Keys, the first of them and always the last, which leads back."""
    parts = text.split(JOINT)
    while len(parts) > 2 and width(JOINT.join(parts)) > room:
        del parts[-2]
    if width(JOINT.join(parts)) > room:
        parts = parts[-1:]
    return (Span(JOINT.join(parts), "dim"),)


class InputLine:
    """A line that a person types into a panel."""

    def __init__(self) -> None:
        self.text = ""

    def press(self, key: Key) -> bool:
        """Whether the key changed the line."""
        old = self.text
        match key.name:
            case "text" | "paste":
                self.text = (old + one_line(key.text))[:LONGEST]
            case "backspace" | "ctrl-h":
                self.text = old[: before(old, len(old))]
            case "ctrl-w" | "alt-backspace" | "ctrl-backspace":
                self.text = old[: old.rstrip().rfind(" ") + 1]
            case "ctrl-u":
                self.text = ""
            case _:
                pass
        return self.text != old


class Scroll:
    """A body of lines and where in it one reads. With `end` it begins at its end, and stays there as it grows."""

    def __init__(self, lines: Sequence[Row] | Lay = (), *, end: bool = False) -> None:
        self._source = lines
        self._lines: Sequence[Row] = () if callable(lines) else lines
        self._columns = 0 if callable(lines) else 80
        self._height = 20
        self._top = (0, 0)
        self._last = 0
        self._ending = end
        self._broken: dict[int, list[Row]] = {}
        self._wanted: re.Pattern[str] | None = None
        self._hit = -1

    def set(self, lines: Sequence[Row] | Lay, *, end: bool | None = None) -> None:
        """Other lines, read from the same place, or from the beginning or the end."""
        self._source, self._hit = lines, -1
        if end is not None:
            self._top, self._ending = (0, 0), end
        self._lay(self._columns or 80)

    def press(self, stroke: str) -> bool:
        """Whether it moved, or could have."""
        if stroke in STEPS:
            self._move(STEPS[stroke])
        elif stroke in PAGES:
            self._move(round(PAGES[stroke] * max(self._height - 1, 2)))
        elif stroke in ("home", "g", "alt-<", "ctrl-home"):
            self._top, self._ending = (0, 0), False
        elif stroke in ("end", "G", "alt->", "ctrl-end"):
            self._ending = True
        else:
            return False
        return True

    def wheel(self, text: str) -> None:
        if text in ("scroll-up", "scroll-down"):
            self._move(WHEEL if text == "scroll-down" else -WHEEL)

    def search(self, words: str) -> bool:
        """Capital letters count where somebody types one."""
        self._hit = -1
        self._wanted = re.compile(re.escape(words), re.NOFLAG if words != words.lower() else re.IGNORECASE)
        if not words:
            self._wanted = None
            return True
        return self.again(1)

    def again(self, way: int) -> bool:
        """The next line that holds what was searched for, or with -1 the one before; around the end."""
        if self._wanted is None or not self._lines:
            return False
        total = len(self._lines)
        start = self._hit if self._hit >= 0 else self._place()[0] - way
        for step in range(1, total + 1):
            at = (start + way * step) % total
            if self._wanted.search(plain(self._lines[at])):
                self._hit, self._ending = at, False
                rows = self._rows(at)
                inner = next((n for n, each in enumerate(rows) if self._wanted.search(plain(each))), 0)
                self._top = min((at, inner), self._lowest())
                return True
        return False

    def place(self) -> str:
        """How far one has read."""
        return f"{self._last}/{len(self._lines)}" if self._lines else ""

    def whole(self) -> bool:
        """Whether all of it is on the screen."""
        return self._lowest() == (0, 0)

    def draw(self, columns: int, height: int) -> list[Row]:
        self._height = max(height, 1)
        if columns != self._columns:
            self._lay(columns)
        line, inner = self._top = self._place()
        found: list[Row] = []
        while line < len(self._lines) and len(found) < height:
            found += self._rows(line)[inner:]
            line, inner = line + 1, 0
        self._last = line
        if self._wanted is None:
            return found[:height]
        return [_marked(each, self._wanted) for each in found[:height]]

    def _place(self) -> tuple[int, int]:
        lowest = self._lowest()
        return lowest if self._ending else min(self._top, lowest)

    def _lay(self, columns: int) -> None:
        old = len(self._lines)
        self._columns = columns
        self._broken = {}
        if not callable(self._source):
            self._lines = self._source
            return
        self._lines = self._source(columns)
        if old and old != len(self._lines):
            self._top = (self._top[0] * len(self._lines) // old, 0)

    def _rows(self, at: int) -> list[Row]:
        found = self._broken.get(at)
        if found is None:
            if len(self._broken) >= KEPT:
                self._broken = {}
            line = self._lines[at]
            room = max(self._columns, 4)
            size = sum(len(span.text) for span in line)
            if size * 2 <= room or (size <= room and all(span.text.isascii() for span in line)):
                found = [line]
            else:
                found = wrap(line, room) if size <= PROSE else chop(line, room)
            self._broken[at] = found
        return found

    def _lowest(self) -> tuple[int, int]:
        """Where the last page begins."""
        left = self._height
        for at in range(len(self._lines) - 1, -1, -1):
            size = len(self._rows(at))
            if size >= left:
                return at, size - left
            left -= size
        return 0, 0

    def _move(self, rows: int) -> None:
        lowest = self._lowest()
        line, inner = self._place()
        inner += rows
        while inner < 0 and line > 0:
            line -= 1
            inner += len(self._rows(line))
        while line + 1 < len(self._lines) and inner >= len(self._rows(line)):
            inner -= len(self._rows(line))
            line += 1
        self._top = min((line, max(inner, 0)), lowest)
        self._ending = rows > 0 and self._top == lowest


class Pager:
    """A panel that is one text. `query` brings it, again `every` so many seconds, and `fill` shows what it brings."""

    def __init__(
        self,
        title: str,
        lines: Sequence[Row] | Lay = (),
        *,
        note: str = "",
        end: bool = False,
        query: str = "",
        fill: "Callable[[Pager, object], None] | None" = None,
    ) -> None:
        self.title = title
        self.note = note
        self.every = 0.0
        self.keys = "tui.pager.keys"
        self.leaving = LEAVING
        self.body = Scroll(lines, end=end)
        self._query, self._fill = query, fill
        self._typing: InputLine | None = None
        self._searched = ""
        self._said = ""

    @property
    def typing(self) -> bool:
        """True while the user types a search text."""
        return self._typing is not None

    def load(self) -> list[PanelRequest]:
        return [PanelRequest(self._query)] if self._query else []

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        if self._fill:
            self._fill(self, value)
        return []

    def failed(self, request: PanelRequest, words: str) -> None:
        self._said = one_line(words)

    def press(self, key: Key) -> list[PanelRequest]:
        self._said = ""
        if self._typing is not None:
            self._type(key)
            return []
        if key.name == "mouse":
            self.body.wheel(key.text)
        for stroke in strokes(key):
            if stroke in self.leaving:
                return [CLOSE]
            if stroke == "/":
                self._typing = InputLine()
                return []
            if stroke in ("n", "N"):
                self._found(self.body.again(1 if stroke == "n" else -1))
            else:
                self.body.press(stroke)
        return []

    def _type(self, key: Key) -> None:
        assert self._typing is not None
        if key.name in ("esc", "ctrl-c"):
            self._typing = None
        elif key.name == "enter":
            self._searched = self._typing.text or self._searched
            self._typing = None
            self._found(self.body.search(self._searched))
        else:
            self._typing.press(key)

    def _found(self, found: bool) -> None:
        self._said = "" if found or not self._searched else say("tui.pager.nothing", words=self._searched)

    def draw(self, columns: int, lines: int) -> Screenful:
        body = self.body.draw(columns, room_for(lines))
        head = heading(self.title, self.note)
        if self._typing is not None:
            typed = f"/{self._typing.text}"
            rows = frame_panel(head, body, (Span(typed),), columns, lines)
            return Screenful(rows, (len(rows) - 1, min(width(typed), columns - 1)))
        place = "" if self.body.whole() else f"{self.body.place()}  "
        foot = (Span(self._said, "warn"),) if self._said else hints(say(self.keys), columns - len(place))
        foot = (Span(place, "muted"), *foot) if place else foot
        return Screenful(frame_panel(head, body, foot, columns, lines))


def _marked(made: Row, wanted: re.Pattern[str]) -> Row:
    """The row with every place marked that matches."""
    places = [found.span() for found in wanted.finditer(plain(made)) if found[0]]
    if not places:
        return made
    marked: list[Span] = []
    at = 0
    for span in made:
        end = at + len(span.text)
        cuts = sorted({at, end, *(min(max(edge, at), end) for place in places for edge in place)})
        for start, stop in pairwise(cuts):
            hit = any(first <= start and stop <= last for first, last in places)
            style = f"{span.style} reverse".strip() if hit else span.style
            marked.append(span._replace(text=span.text[start - at : stop - at], style=style))
        at = end
    return tuple(marked)
