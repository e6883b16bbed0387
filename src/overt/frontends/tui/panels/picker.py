"""A list on the alternate screen: one of its items is chosen, and a preview of it stands beside, below or behind it."""

from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypeVar

from overt.frontends.tui.panels.cells import Column, lay_out_cells, widths
from overt.frontends.tui.panels.pager import (
    LEAVING,
    PAGES,
    ROOMY,
    STEPS,
    WHEEL,
    InputLine,
    PanelRequest,
    Screenful,
    Scroll,
    frame_panel,
    heading,
    hints,
    room_for,
    strokes,
)
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span, cut, pad
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.display_width import width
from overt.lib.translations import say, say_columns

T = TypeVar("T")
Did = Literal["", "used", "moved", "chose", "close"]
"""What a key did; "" when it means nothing to a list. A key that moves may ask for another preview."""

BESIDE = 100
"""Columns from which on a preview stands beside the list."""
BELOW = 20
"""Lines from which on it stands below."""
MARK, NO_MARK = "› ", "  "


class Picker(Generic[T]):
    """A list in columns. `name` says which texts of the catalogue are its title, its keys and what an empty list says.

    `cells` draws an item; `find` is the text that tells it from others and that typing filters by. With `typed`,
    letters filter at once; without, they are left to the panel and `/` begins the filter. `headed`: the catalogue has
    names for the columns. `message` replaces the keys until the next key.
    """

    def __init__(
        self,
        name: str,
        columns: Sequence[Column],
        cells: Callable[[T], Sequence[Span]],
        find: Callable[[T], str],
        *,
        typed: bool = False,
        headed: bool = False,
    ) -> None:
        self.items: Sequence[T] = ()
        self.preview: Scroll | None = None
        self.reading = False
        """The preview has the keys."""
        self.loading = True
        self.message = ""
        self._failed = False
        self._question: tuple[Row, dict[str, list[PanelRequest]]] | None = None
        self._name, self._columns, self._cells, self._find = name, columns, cells, find
        self._heads = say_columns(f"tui.{name}.heads") if headed else ()
        self._widths = [0] * len(columns)
        self._typed = typed
        self._filter = InputLine()
        self._filtering = False
        self._found: Sequence[T] = ()
        self._at = 0
        self._top = 0
        self._page = 10
        self._first, self._edge = 1, 0
        """Where the items stand on the screen: from this line on, up to this column."""

    @property
    def filter(self) -> str:
        return self._filter.text

    @property
    def current(self) -> T | None:
        return self._found[self._at] if self._found else None

    def set(self, items: Sequence[T]) -> None:
        """Show other items. The cursor stays on the item it was on."""
        self.items, self.loading, self._failed = items, False, False
        self._widths = widths(([cell.text for cell in self._cells(item)] for item in items), self._columns)
        for number, least in enumerate(widths([self._heads], self._columns)):
            self._widths[number] = max(self._widths[number], least) if self._widths[number] else 0
        self._sift()

    def fail(self, words: str) -> None:
        """Say why the items could not be loaded."""
        self.loading, self._failed, self.message = False, True, one_line(words)

    def ask(self, question: Row, answers: dict[str, list[PanelRequest]]) -> None:
        """Ask in place of the keys. The next key is the answer; any other than those means no."""
        self._question = question, answers

    def answer(self, key: Key) -> list[PanelRequest] | None:
        """Return what a key that answers a question leads to, or None if nothing was asked."""
        self.message = ""
        if self._question is None:
            return None
        answers, self._question = self._question[1], None
        return answers.get(key.text, []) if key.name == "text" else []

    def press(self, key: Key) -> Did:
        if key.name == "mouse":
            return self._mouse(key.text)
        if self.reading:
            return self._read(key)
        if key.name == "tab" and self.preview:
            self.reading = True
            return "used"
        if self._filtering or self._typed:
            return self._type(key)
        did: Did = ""
        for stroke in strokes(key):
            did = self._stroke(stroke) or did
            if did in ("chose", "close") or self._filtering:
                break
        return did

    def _stroke(self, stroke: str) -> Did:
        if stroke in LEAVING:
            return "close"
        if stroke == "enter":
            return "chose" if self._found else "used"
        if stroke == "/":
            self._filtering = True
            return "used"
        if stroke in STEPS:
            return self._go(self._at + STEPS[stroke])
        if stroke in PAGES:
            return self._go(self._at + round(PAGES[stroke] * max(self._page - 1, 2)))
        if stroke in ("home", "g"):
            return self._go(0)
        if stroke in ("end", "G"):
            return self._go(len(self._found) - 1)
        return ""

    def _type(self, key: Key) -> Did:
        """`q` leaves as long as nothing was typed; a filter that was asked for ends before the list does."""
        if key.name in ("esc", "ctrl-c"):
            if not self._filtering:
                return "close"
            self._filtering = False
            self._filter = InputLine()
            return self._sift()
        if key == Key("text", "q") and not self._filter.text and not self._filtering:
            return "close"
        if key.name == "enter" and self._filtering:
            self._filtering = False
            return "used"
        if self._filter.press(key):
            return self._sift()
        return self._stroke(key.name) if key.name not in ("text", "paste") else ""

    def _read(self, key: Key) -> Did:
        assert self.preview is not None
        for stroke in strokes(key):
            if stroke in ("tab", "esc", "q", "left", "ctrl-c"):
                self.reading = False
                return "used"
            if not self.preview.press(stroke):
                return ""
        return "used"

    def _mouse(self, text: str) -> Did:
        if self.reading and self.preview:
            self.preview.wheel(text)
            return "used"
        if text in ("scroll-up", "scroll-down"):
            return self._go(self._at + (WHEEL if text == "scroll-down" else -WHEEL))
        return self._click(*map(int, text.split()[1:])) if text.startswith("click ") else ""

    def _click(self, line: int, column: int) -> Did:
        """The item there; another click on it chooses it."""
        at = self._top + line - self._first
        if not (self._first <= line < self._first + self._page and column < self._edge and at < len(self._found)):
            return "used"
        return "chose" if at == self._at else self._go(at)

    def _go(self, at: int) -> Did:
        old, self._at = self._at, max(0, min(at, len(self._found) - 1))
        return "moved" if self._at != old else "used"

    def _sift(self) -> Did:
        """Filter the items; the cursor stays on the item it was on."""
        here = "" if self.current is None else self._find(self.current)
        words = self._filter.text.casefold().split()
        self._found = [each for each in self.items if not words or _holds(self._find(each).casefold(), words)]
        same = (number for number, each in enumerate(self._found) if self._find(each) == here)
        self._at = next(same, 0) if here else 0
        return "moved"

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────────────

    @property
    def foot(self) -> Row | None:
        """The question or the message that stands in place of the keys."""
        if self._question is not None:
            return self._question[0]
        return (Span(self.message, "warn"),) if self.message else None

    def draw(self, columns: int, lines: int, *, note: str, foot: Row | None = None, empty: str = "") -> Screenful:
        """`foot` takes the place of everything else there; `empty` is said where there is no item at all."""
        empty = "" if self._failed else say("tui.panel.loading") if self.loading else empty or self._say("none")
        room = room_for(lines)
        preview = self.preview
        self._first, self._edge = 2 if lines >= ROOMY else 1, columns
        if preview is not None and columns >= BESIDE:
            self._edge = left = columns * 45 // 100
            beside = preview.draw(columns - left - 3, room)
            style = "accent" if self.reading else "border"
            listed = [*self._list(left, room, empty), *[()] * room][:room]
            beside = [*beside, *[()] * (room - len(beside))]
            body = [
                (*pad(cut(one, left), left), Span(" │ " if other else " │", style), *other)
                for one, other in zip(listed, beside, strict=True)
            ]
        elif preview is not None and lines >= BELOW:
            above = max(room * 45 // 100, 4)
            body = self._list(columns, above, empty)
            edge = Span("─" * min(columns, 24), "accent" if self.reading else "border")
            body = [*body, *[()] * (above - len(body)), (edge,), *preview.draw(columns, room - above - 1)]
        elif preview is not None and self.reading:
            body = preview.draw(columns, room)
        else:
            body = self._list(columns, room, empty)
        head = (*heading(self._say("title"), note), *self._filtered())
        rows = frame_panel(head, body, foot or self.foot or hints(self._say("keys"), columns), columns, lines)
        typing = self._filtering or (self._typed and self._filter.text)
        column = sum(width(span.text) for span in head)
        return Screenful(rows, (0, column) if typing and column < columns else None)

    def _say(self, what: str) -> str:
        return say(f"tui.{self._name}.{what}")

    def _filtered(self) -> Row:
        if not self._filter.text and not self._filtering:
            return ()
        return Span("  /", "muted"), *((Span(self._filter.text, "accent"),) if self._filter.text else ())

    def _list(self, columns: int, height: int, empty: str) -> list[Row]:
        if not self._found:
            return [(Span(say("tui.picker.no_match") if self.items else empty, "muted"),)]
        room = max(columns - len(MARK), 4)
        heads = [Span(name, "muted") for name in self._heads] if height > 3 else []
        head = [(Span(NO_MARK), *lay_out_cells(heads, self._widths, self._columns, room))] if heads else []
        self._first += len(head)
        self._page = height = height - len(head)
        self._top = max(min(self._top, self._at, len(self._found) - height), self._at - height + 1, 0)
        made: list[Row] = []
        for number in range(self._top, min(self._top + height, len(self._found))):
            drawn = lay_out_cells(self._cells(self._found[number]), self._widths, self._columns, room)
            if number == self._at:
                drawn = tuple(span._replace(style="selected") for span in drawn)
            made.append((Span(MARK, "accent") if number == self._at else Span(NO_MARK), *drawn))
        return [*head, *made]


def _holds(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)
