"""The context inspector: what a request holds, piece by piece, where each comes from, and exactly what it says."""

from typing import TYPE_CHECKING

from overt.app.inspect.inspector_values import Contents, ContextPiece, RequestBody
from overt.frontends.tui.panels.cells import Column
from overt.frontends.tui.panels.pager import CLOSE, Pager, PanelInputs, PanelRequest, Screenful, text_rows
from overt.frontends.tui.panels.picker import Picker
from overt.frontends.tui.terminal.formats import count, size
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import BLANK, Span
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.records.context_view import RequestView

BAR = 10
EIGHTHS = " ▏▎▍▌▋▊▉█"
WIDE = 102
"""Columns from which on the origin of a piece has a column of its own."""
STYLES = {"yes": "good", "part": "warn", "no": "muted", "": ""}
COLUMNS = (
    Column(most=28),
    Column(most=8, right=True),
    Column(most=BAR, least=58),
    Column(most=8, least=70),
    Column(most=40, least=WIDE - 2),
    Column(rest=True),
)


def make(_inputs: PanelInputs) -> "ContextPanel":
    return ContextPanel()


class ContextPanel:
    every = 0.0

    def __init__(self) -> None:
        self._contents: Contents | None = None
        self._text: Pager | None = None
        self._by_size = False
        self._largest = 0.0
        self._wide = False
        self._picker: Picker[ContextPiece] = Picker(
            "context", COLUMNS, self._cells, lambda piece: f"{piece.key} {piece.origin} {piece.label}", headed=True
        )

    def load(self) -> list[PanelRequest]:
        return [PanelRequest("context")]

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        self._picker.loading, self._picker.message = False, ""
        match value:
            case RequestBody(text=text):
                key = "tui.context.raw" if request.number else "tui.context.raw_next"
                self._text = Pager(say(key, length=size(len(text))), text_rows(text))
            case Contents():
                self._contents = value
                self._largest = max((piece.share for piece in value.pieces), default=0.0)
                self._picker.set(self._sorted())
            case _:
                pass
        return []

    def _sorted(self) -> tuple[ContextPiece, ...]:
        """As they are sent, or the largest first."""
        pieces = self._contents.pieces if self._contents else ()
        return tuple(sorted(pieces, key=lambda piece: -piece.tokens)) if self._by_size else pieces

    def failed(self, request: PanelRequest, words: str) -> None:
        self._picker.fail(words)

    def press(self, key: Key) -> list[PanelRequest]:
        self._picker.message = ""
        if self._text is not None:
            if self._text.press(key) == [CLOSE]:
                self._text = None
            return []
        if key.name in ("left", "right"):
            return self._turn_over(-1 if key.name == "left" else 1)
        did = self._picker.press(key)
        if did == "close":
            return [CLOSE]
        if did == "chose" and (piece := self._picker.current):
            note = f"{count(piece.tokens)} · {one_line(piece.origin)}"
            self._text = Pager(one_line(f"{piece.key}  {piece.label}".strip()), text_rows(piece.text), note=note)
        if not did and key == Key("text", "s"):
            self._by_size = not self._by_size
            self._picker.set(self._sorted())
        if not did and key == Key("text", "r"):
            return [PanelRequest("request", number=self._contents.request.number if self._contents else 0)]
        return []

    def _turn_over(self, way: int) -> list[PanelRequest]:
        """The next request stands behind the last one that was sent."""
        number, sent = (self._contents.request.number, self._contents.sent) if self._contents else (0, 0)
        at = (number or sent + 1) + way
        if not 1 <= at <= sent + 1:
            return []
        self._picker.loading = True
        return [PanelRequest("context", number=at if at <= sent else 0)]

    def draw(self, columns: int, lines: int) -> Screenful:
        if self._text is not None:
            return self._text.draw(columns, lines)
        contents, self._wide = self._contents, columns >= WIDE
        note = f"{_room(contents.request)} · {_which(contents)}" if contents else ""
        made = self._picker.draw(columns, lines, note=note)
        if contents and contents.request.resets and not self._picker.message:
            told = say("tui.context.reset", cause=one_line("; ".join(contents.request.resets)))
            if lines >= 16 and made.rows[-2] == BLANK:
                made.rows[-2] = (Span(told[: max(columns - 1, 1)], "warn"),)
        return made

    def _cells(self, piece: ContextPiece) -> list[Span]:
        """The bar is beside the largest piece, so that it tells them apart; the figures are of the whole."""
        share = piece.share / self._largest if self._largest else 0.0
        return [
            Span(one_line(piece.key), "tool" if piece.key.startswith("tool") else ""),
            Span(count(piece.tokens)),
            Span(bar(share), "accent"),
            Span(say(f"tui.context.cached.{piece.cached}") if piece.cached else "", STYLES.get(piece.cached, "")),
            Span(one_line(piece.origin), "muted"),
            Span(one_line(piece.label) or ("" if self._wide else one_line(piece.origin))),
        ]


def _which(contents: Contents) -> str:
    """Return which request it is, and the model it goes to."""
    request = contents.request
    model = one_line(f"{request.provider}/{request.model}")
    if not request.number:
        return say("tui.context.next", model=model)
    number, sent, turn = request.number, contents.sent, request.turn
    if request.purpose == "summary":
        return say("tui.context.summary", number=number, sent=sent, turn=turn, model=model)
    return say("tui.context.sent", number=number, sent=sent, turn=turn, step=request.step, model=model)


def _room(found: "RequestView") -> str:
    """What is used of what there is; about, where nobody has counted."""
    about = "" if found.reported else "~"
    share = f" / {count(found.limit)} ({100 * found.used / found.limit:.1f} %)" if found.limit else ""
    return f"{about}{count(found.used)}{share}"


def bar(share: float) -> str:
    """A share, in eighths of a column; what is there at all is seen."""
    eighths = max(round(share * BAR * 8), 1 if share > 0 else 0)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).strip().ljust(BAR)
