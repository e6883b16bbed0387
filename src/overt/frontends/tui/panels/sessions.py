"""The sessions picker: newest first, filtered by what is typed, searched through as a whole, gone on with by Enter."""

from collections.abc import Callable
from time import localtime, strftime, time

from overt.app.inspect.inspector_values import Preview, SessionPage, SessionRow
from overt.frontends.tui.panels.cells import Column
from overt.frontends.tui.panels.pager import (
    CLOSE,
    InputLine,
    PanelInputs,
    PanelRequest,
    Screenful,
    Scroll,
    text_rows,
)
from overt.frontends.tui.panels.picker import Picker
from overt.frontends.tui.terminal.formats import size
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import BLANK, Row, Span
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.display_width import width
from overt.lib.translations import say

PREVIEWS = 200
"""Previews that are row."""
COLUMNS = (
    Column(most=16),
    Column(rest=True),
    Column(most=10, least=44, right=True),
    Column(most=20, least=90),
    Column(most=8, least=70, right=True),
)


def make(_inputs: PanelInputs) -> "SessionsPanel":
    return SessionsPanel()


class SessionsPanel:
    every = 0.0

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._rows: list[SessionRow] = []
        self._hits: list[SessionRow] | None = None
        self._words = ""
        self._typing: InputLine | None = None
        self._total = 0
        self._previews: dict[str, Preview] = {}
        self._picker: Picker[SessionRow] = Picker(
            "sessions", COLUMNS, self._cells, lambda row: f"{row.session.title} {row.session.id}", typed=True
        )
        self._preview = self._picker.preview = Scroll()

    def load(self) -> list[PanelRequest]:
        return [PanelRequest("sessions")]

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        match value:
            case Preview():
                if len(self._previews) >= PREVIEWS:
                    self._previews.clear()
                self._previews[request.text] = value
                self._show_preview()
            case SessionPage() if request.kind == "sessions":
                return self._more(request, value, self._rows)
            case SessionPage() if request.text == self._words and self._hits is not None:
                return self._more(request, value, self._hits)
            case _:
                pass
        return []

    def _more(self, request: PanelRequest, page: SessionPage, rows: list[SessionRow]) -> list[PanelRequest]:
        """One piece of a list, and a request for the next one."""
        if not request.number:
            rows.clear()
        rows += page.rows
        self._total = max(self._total, page.total)
        if (request.kind == "search") == (self._hits is not None):
            self._refill(loading=bool(page.following))
        following = [request._replace(number=page.following)] if page.following else []
        return [*following, *self._look()]

    def _refill(self, *, loading: bool) -> None:
        self._picker.set(self._rows if self._hits is None else self._hits)
        self._picker.loading = loading

    def failed(self, request: PanelRequest, words: str) -> None:
        if request.kind == "preview":
            self._previews[request.text] = Preview("", words)
            self._show_preview()
        else:
            self._picker.fail(words)

    def press(self, key: Key) -> list[PanelRequest]:
        self._picker.message = ""
        if self._typing is not None:
            return self._type(key)
        empty = not self._picker.filter and not self._picker.reading
        if key.name == "ctrl-f" or (key == Key("text", "/") and empty):
            self._typing = InputLine()
            return []
        if self._hits is not None and empty and key.name == "esc":
            self._hits = None
            self._refill(loading=False)
            return self._look()
        did = self._picker.press(key)
        if did == "close":
            return [CLOSE]
        if did == "chose" and (row := self._picker.current):
            return [CLOSE] if row.here else [PanelRequest("slash", f"/resume {row.session.id}")]
        return self._look() if did == "moved" else []

    def _type(self, key: Key) -> list[PanelRequest]:
        assert self._typing is not None
        if key.name in ("esc", "ctrl-c"):
            self._typing = None
        elif key.name == "enter":
            self._words = " ".join(self._typing.text.split())
            self._typing = None
            self._hits = [] if self._words else None
            self._refill(loading=bool(self._words))
            return [PanelRequest("search", self._words)] if self._words else self._look()
        else:
            self._typing.press(key)
        return []

    def _look(self) -> list[PanelRequest]:
        """A preview of the one under the cursor, unless it was looked at before."""
        row = self._picker.current
        self._show_preview()
        return [PanelRequest("preview", row.session.path)] if row and row.session.path not in self._previews else []

    def _show_preview(self) -> None:
        preview, row = self._preview, self._picker.current
        preview.set(self._told(row) if row else (), end=False)

    def _told(self, row: SessionRow) -> list[Row]:
        facts = [row.session.id, self._turns(row), one_line(row.session.model), size(row.session.size)]
        if row.session.parent:
            facts.append(say("tui.sessions.fork_of", parent=one_line(row.session.parent)))
        rows: list[Row] = [(Span(" · ".join(filter(None, facts)), "muted"),), BLANK]
        for hit in row.hits:
            rows.append((Span("» ", "accent"), Span(one_line(hit)[:400])))
        if row.hits:
            rows.append(BLANK)
        found = self._previews.get(row.session.path)
        if found is None:
            return [*rows, (Span(say("tui.panel.loading"), "muted"),)]
        if not found.prompt and not found.answer:
            return [*rows, (Span(say("tui.sessions.empty"), "muted"),)]
        asked = [(Span("› ", "user"), *line) for line in text_rows(found.prompt, "user")] if found.prompt else []
        return [*rows, *asked[:12], BLANK, *text_rows(found.answer)]

    def draw(self, columns: int, lines: int) -> Screenful:
        empty, foot = "" if self._hits is None else say("tui.sessions.no_hits"), None
        if self._typing is not None:
            foot = (Span("/" + self._typing.text), Span("   " + say("tui.sessions.search_keys"), "dim"))
        made = self._picker.draw(columns, lines, note=self._note(), foot=foot, empty=empty)
        if self._typing is None:
            return made
        return Screenful(made.rows, (len(made.rows) - 1, min(1 + width(self._typing.text), columns - 1)))

    def _note(self) -> str:
        if self._hits is not None:
            key = "tui.sessions.searching" if self._picker.loading else "tui.sessions.found"
            return say(key, count=len(self._hits), words=self._words)
        if self._picker.loading:
            return say("tui.sessions.reading", count=len(self._rows), total=self._total) if self._total else ""
        return say("tui.sessions.note", count=len(self._rows)) if self._rows else ""

    def _cells(self, row: SessionRow) -> list[Span]:
        title = one_line(row.session.title) or say("tui.sessions.untitled")
        title = f"{title}  ({say('tui.sessions.here')})" if row.here else title
        return [
            Span(when(row.session.changed, self._clock()), "muted"),
            Span(title, "" if row.session.title else "muted"),
            Span(self._turns(row), "muted"),
            Span(one_line(row.session.model), "muted"),
            Span(size(row.session.size), "muted"),
        ]

    def _turns(self, row: SessionRow) -> str:
        turns = row.session.turns
        return say("tui.sessions.one_turn") if turns == 1 else say("tui.sessions.turns", count=turns)


def when(moment: float, now: float) -> str:
    """The time of today, the day of this year, or the date."""
    if not moment:
        return ""
    then, today = localtime(moment), localtime(now)
    if then[:3] == today[:3]:
        return strftime("%H:%M", then)
    return strftime("%m-%d %H:%M" if then[0] == today[0] else "%Y-%m-%d", then)
