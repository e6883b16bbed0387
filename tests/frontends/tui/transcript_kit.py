"""Paragraphs in place of Markdown, and a transcript whose printed rows can be read as lines."""

from collections.abc import Iterable

from overt.core.events import Event, ReasoningStreamed, Replied, RequestSent, TextStreamed, ToolFinished, ToolStarted
from overt.core.messages import Call, Message, Part, Result, Text
from overt.core.requests import Params
from overt.core.spending.usage import Usage
from overt.core.text_fragments import MODEL
from overt.core.views import Plain, View
from overt.frontends.tui.chat.transcript import Transcript
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, plain, wrap


class Paragraphs:
    """One block for each paragraph, a blank row before each but the first."""

    def __init__(self) -> None:
        self._text = ""
        self._given = 0

    def feed(self, text: str) -> None:
        self._text += text

    def take(self, columns: int) -> list[Row]:
        *whole, self._text = self._text.split("\n\n")
        return [each for paragraph in whole for each in self._drawn(paragraph, columns)]

    def tail(self, columns: int, most: int) -> list[Row]:
        shown = wrap((Span(self._text.strip()),), columns) if self._text.strip() else []
        return ([BLANK, *shown] if self._given and shown else shown)[-most:]

    def end(self, columns: int) -> list[Row]:
        return [*self.take(columns), *self._drawn(self._text, columns)]

    def _drawn(self, text: str, columns: int) -> list[Row]:
        if not text.strip():
            return []
        self._given += 1
        return [*([BLANK] if self._given > 1 else []), *wrap((Span(" ".join(text.split())),), columns)]


def made(columns: int = 60, *, mode: str = "") -> Transcript:
    return Transcript(lambda: columns, Paragraphs, mode=mode)


def lines(rows: Iterable[Row]) -> list[str]:
    return [plain(each) for each in rows]


def printed(transcript: Transcript, *events: Event, at: float = 100.0) -> list[str]:
    """What is printed for good, all events one second apart."""
    return [line for number, event in enumerate(events) for line in lines(transcript.feed(event, at + number))]


def sent(model: str = "fake-model") -> RequestSent:
    params = Params(model=model)
    return RequestSent(digest="", length=0, stable="", stable_length=0, params=params, messages=1, encoder=1)


def text(piece: str, agent: str = "main") -> TextStreamed:
    return TextStreamed(text=piece, agent=agent)


def thought(piece: str, agent: str = "main") -> ReasoningStreamed:
    return ReasoningStreamed(text=piece, agent=agent)


def replied(*parts: Part, agent: str = "main") -> Replied:
    message = Message(role="assistant", parts=parts, origin=MODEL)
    return Replied(message=message, finish="stop", usage=Usage(), agent=agent)


def call(name: str = "bash", call_id: str = "c1") -> Call:
    return Call(id=call_id, name=name, arguments="{}")


def started(name: str, headline: str, call_id: str = "c1", agent: str = "main") -> ToolStarted:
    return ToolStarted(call=call(name, call_id), headline=headline, agent=agent)


def finished(
    view: View, call_id: str = "c1", *, said: str = "told", error: bool = False, code: str = "", ms: int = 0
) -> ToolFinished:
    result = Result(call_id=call_id, parts=(Text(text=said),), error=error)
    return ToolFinished(result=result, view=view, code=code, ms=ms)


NOTHING = Plain(text="")
