"""The conversation as it is printed: a fold over events that gives the rows to print for good, each once.

What was given is forgotten here; it lives in the scrollback of the terminal. Only what still moves is kept: the
unfinished block of an answer, the reasoning so far, and what runs (`live`). Text of sub-agents is no answer to the
person: their calls are shown with their name, their words are kept for the details.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from overt.core.events import (
    Event,
    ModeSet,
    PartialSaved,
    PermissionAsked,
    PermissionDecided,
    ReasoningStreamed,
    Replied,
    RequestSent,
    Retried,
    TextStreamed,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.messages import Call, Reasoning, Text
from overt.core.views import Diffs, Failure, Output, Plain
from overt.frontends.describe_events import ALONG, attachment_words
from overt.frontends.tui.chat.details import DetailLog
from overt.frontends.tui.chat.live_region import Live
from overt.frontends.tui.chat.notices import end_rows, notice_rows, refusal_words
from overt.frontends.tui.chat.streamed_answer import Streamed, StreamedAnswer
from overt.frontends.tui.chat.view_rows import FinishedCall, prompt_rows, tool_rows, view_rows, words_rows
from overt.frontends.tui.terminal.formats import duration
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, cut, row
from overt.lib.translations import say

MAIN, TYPED = "main", "!"
"""The agent that speaks to the person, and where a command that the person typed comes from."""
THOUGHT = 400_000
"""Characters of one stretch of reasoning that are kept."""
TURNS, ROWS = 3, 200
"""How much of a resumed session is shown."""
COMMAND_LINES = (30, 10)
Kind = Literal["user", "thought", "answer", "tool", "note", "end"]


class RecordedEvent(Protocol):
    """An entry of a session file."""

    @property
    def turn(self) -> int: ...
    @property
    def ts(self) -> float: ...
    @property
    def data(self) -> Event: ...


class Transcript:
    def __init__(
        self,
        columns: Callable[[], int],
        markdown: Callable[[], Streamed],
        *,
        mode: str = "",
        cost: Callable[[TurnEnded], float | None] = lambda _end: None,
    ) -> None:
        self.mode = mode
        self.answer = ""
        """The last answer, as the model wrote it."""
        self._columns, self._markdown, self._cost = columns, markdown, cost
        self.live = Live()
        self._details = DetailLog()
        self._out: list[Row] = []
        self._above: tuple[Kind, bool] | None = None
        self._answering: StreamedAnswer | None = None
        self._held: list[tuple[Kind, Sequence[Row]]] = []
        self._streamed: set[str] = set()
        self._thoughts: dict[str, tuple[float, list[str]]] = {}
        self._calls: dict[str, Call] = {}
        self._headlines: dict[str, str] = {}
        self._asked: set[str] = set()
        self._refused: set[str] = set()
        self._retried: Retried | None = None
        self._printing: list[str] | None = None
        self._partial = ""
        self._along: list[Row] = []
        self._turn = 0

    @property
    def animated(self) -> bool:
        """Whether the tail changes as time goes by; while it is false nothing needs to be drawn without an event."""
        return self.live.animated

    def feed(self, event: Event, now: float) -> list[Row]:
        """The rows that are to be printed for good because of this event, often none."""
        self._fold(event, now)
        self.live.feed(event, now)
        out, self._out = self._out, []
        return out

    def tail(self, columns: int, most: int, now: float) -> list[Row]:
        """What moves, for the live region: at most so many rows, a blank one first where it does not just go on."""
        moving = self.live.rows(columns, max(most - 1, 1), now)
        answering, room = self._answering, most - 1 - len(moving) - bool(moving)
        answer = answering.tail(columns, room) if answering and room > 0 else []
        rows = [*answer, *([BLANK] if answer and moving else []), *moving]
        goes_on = answering is not None and answering.begun and bool(answer)
        return ([BLANK, *rows] if rows and self._above is not None and not goes_on else rows)[-most:]

    def details(self, columns: int) -> list[Row]:
        """All reasoning and the whole output of tools, the newest 2 MB of it."""
        return self._details.rows(columns)

    def insert_block(self, rows: Sequence[Row]) -> list[Row]:
        """Rows of somebody else, printed at once as a block of their own: a command's answer, an approval."""
        out = [BLANK, *rows] if self._above is not None else list(rows)
        self._above = ("note", False)
        if self._answering is not None:
            self._answering.broken()
        return out

    def replay(self, entries: Sequence[RecordedEvent], session: str) -> list[Row]:
        """The last turns of a session that goes on, as they were shown when they happened."""
        turns = sorted({entry.turn for entry in entries if entry.turn and isinstance(entry.data, UserSpoke)})
        since = turns[-TURNS] if len(turns) > TURNS else 0
        rows: list[Row] = []
        left_out = bool(since)
        for entry in entries:
            if entry.turn >= since:
                self._turn = entry.turn
                rows += self.feed(entry.data, entry.ts)
                left_out = left_out or len(rows) > ROWS
                del rows[: -2 * ROWS]
            elif isinstance(entry.data, ModeSet):
                self.mode = entry.data.mode
        self._close(None)
        rows += self._out
        self._out = []
        self.live.forget()
        if not left_out:
            return rows
        rows = rows[-ROWS:]
        earlier = words_rows(say("tui.talk.earlier", id=session), self._columns(), "dim")
        return [*earlier, *([] if rows[:1] == [BLANK] else [BLANK]), *rows]

    # ── the fold ─────────────────────────────────────────────────────────────────────────────────────────

    def _fold(self, event: Event, now: float) -> None:
        match event:
            case TextStreamed(text=text):
                self._streamed.add(event.agent)
                self._text(event.agent, text, now)
            case ReasoningStreamed(text=text):
                self._think(event.agent, text, now)
            case UserSpoke():
                self._spoke(event)
            case Replied():
                self._reply(event, now)
            case ToolStarted(call=call, headline=headline):
                self._calls[call.id] = call
                self._headlines[call.id] = headline
            case ToolFinished():
                self._finished(event)
            case PermissionAsked(call=call, view=Diffs()):
                self._asked.add(call.id)
            case PermissionDecided(call_id=call_id, verdict="deny", by="person"):
                self._refused.add(call_id)
            case TurnStarted(turn=turn):
                self._turn = turn
            case ModeSet(mode=mode):
                self.mode = mode
            case PartialSaved(text=text):
                self._partial = text
            case RequestSent():
                self._partial = ""
                self._streamed.discard(event.agent)
                self._close_along()
            case Retried():
                self._retried = event
            case TurnEnded():
                self._ended(event, now)
            case _:
                self._block("note", notice_rows(event, self._columns()))

    def _spoke(self, spoke: UserSpoke) -> None:
        message, room = spoke.message, self._columns()
        along, self._along = self._along, []
        self._close(None)
        self._along = along
        if spoke.agent != MAIN:
            return
        text = message.text()
        match message.origin.kind:
            case kind if kind in ALONG:
                self._along.append(cut(row("  ", Span(f"+ {attachment_words(spoke)}".replace("\t", " "), "dim")), room))
                if spoke.steered:
                    self._close_along()
            case "harness":
                self._block("note", words_rows(message.shown(), room, "dim", mark="· "))
            case _ if message.origin.where == TYPED:
                self._printing = []
                self._block("user", prompt_rows(text.removeprefix(TYPED), room, mark="! "))
            case _:
                note = say("tui.talk.steering") if spoke.steered else ""
                self._block("user", [*prompt_rows(text, room, note=note), *along])
                self._along = []
                title = text.strip().partition("\n")[0][:200]
                self._details.add(say("tui.talk.turn", turn=self._turn, text=title), head_style="head")

    def _close_along(self) -> None:
        """What goes along with a prompt is recorded before it and shown below it; what joins a step, at once."""
        along, self._along = self._along, []
        self._block("note", along)

    # ── what the model says ──────────────────────────────────────────────────────────────────────────────

    def _think(self, agent: str, text: str, now: float) -> None:
        self._streamed.add(agent)
        if agent == MAIN:
            self._close_answer()
        _, pieces = self._thoughts.setdefault(agent, (now, []))
        pieces.append(text)
        if len(pieces) > 1000:
            pieces[:] = ["".join(pieces)[-THOUGHT:]]

    def _text(self, agent: str, text: str, now: float) -> None:
        if self._printing is not None:
            self._printing.append(text)
            return
        self._close_thought(agent, now)
        if agent != MAIN:
            return
        if self._answering is None:
            text = text.lstrip("\n")
            if not text.strip():
                return
            self._answering = StreamedAnswer(self._markdown(), self._headed())
        begun = self._answering.begun
        self._answer(self._answering.feed(text, self._columns()), begun=begun)

    def _answer(self, rows: list[Row], *, begun: bool) -> None:
        if not rows:
            return
        if begun:
            self._out += rows
            self._above = ("answer", False)
        else:
            self._block("answer", rows)

    def _headed(self) -> list[Row]:
        """A plan says that it is one: nothing of it has been done."""
        return [row(Span(f"◆ {say('tui.talk.plan')}", "bold plan"))] if self.mode == "plan" else []

    def _close_answer(self) -> None:
        if self._answering is not None:
            begun = self._answering.begun
            self._answer(self._answering.end(self._columns()), begun=begun)
            self.answer, self._answering = self._answering.text, None
        held, self._held = self._held, []
        for kind, rows in held:
            self._block(kind, rows)

    def _close_thought(self, agent: str, now: float | None) -> None:
        held = self._thoughts.pop(agent, None)
        if held is None:
            return
        since, pieces = held
        self._thought(agent, "".join(pieces), None if now is None else now - since)

    def _thought(self, agent: str, text: str, seconds: float | None) -> None:
        if not text.strip():
            return
        words = say("tui.talk.thought_once") if seconds is None else say("tui.talk.thought", time=duration(seconds))
        shown = f"∴ {words} · {say('tui.talk.opens')}"
        if agent == MAIN:
            self._block("thought", [cut(row(Span(shown, "dim")), self._columns())])
        self._details.add(f"∴ {words}", text[-THOUGHT:], style="muted", head_style="dim")

    def _close(self, now: float | None) -> None:
        """Whatever was open is at its end."""
        self._printing = None
        for agent in tuple(self._thoughts):
            self._close_thought(agent, now)
        if self._partial:
            self._text(MAIN, self._partial, 0.0)
            self._partial = ""
        self._close_answer()
        self._close_along()

    def _reply(self, reply: Replied, now: float) -> None:
        """Of a reply that was not seen as it came, as in a session that is resumed, the parts are shown now."""
        message, agent = reply.message, reply.agent
        self._partial = ""
        self._calls.update((call.id, call) for call in message.calls())
        if self._printing is not None:
            printed = "".join(self._printing) or message.shown()
            self._printing = None
            self._block(
                "tool", view_rows(Plain(text=printed), self._columns(), head=COMMAND_LINES[0], tail=COMMAND_LINES[1])
            )
            self._details.add(message.text()[: message.origin.label].rstrip("\n"), printed)
            return
        for part in message.parts if agent not in self._streamed else ():
            match part:
                case Reasoning(text=text):
                    self._close_answer()
                    self._thought(agent, text, None)
                case Text(text=text):
                    self._text(agent, text, now)
                case _:
                    pass
        self._streamed.discard(agent)
        self._close_thought(agent, now)
        if agent == MAIN:
            self._close_answer()
            self._retried = None
        elif text := message.text():
            self._details.add(agent, text)

    # ── what was done ────────────────────────────────────────────────────────────────────────────────────

    def _finished(self, event: ToolFinished) -> None:
        call_id, view = event.result.call_id, event.view
        call = self._calls.pop(call_id, None)
        headline = self._headlines.pop(call_id, "")
        denied, stopped = event.code == "denied", event.code == "interrupted"
        if isinstance(view, Failure) and (stopped or (denied and call_id in self._refused)):
            view = Failure(text=say("tui.talk.stopped") if stopped else refusal_words(event.result.reason))
        ended = FinishedCall(
            agent=event.agent,
            name=call.name if call else say("tui.talk.call"),
            headline=headline,
            view=view,
            ms=event.ms,
            failed=event.result.error,
            denied=denied or stopped,
            approved=call_id in self._asked,
        )
        self._asked.discard(call_id)
        self._refused.discard(call_id)
        self._block("tool", tool_rows(ended, self._columns()))
        whole = (
            view.text
            if isinstance(view, Output)
            else "".join(part.text for part in event.result.parts if isinstance(part, Text))
        )
        if isinstance(view, Diffs):
            whole = "\n".join(f"{file.path}\n{file.diff}" for file in view.files)
        self._details.add(f"{ended.name}  {headline}", whole)

    def _ended(self, end: TurnEnded, now: float) -> None:
        room = self._columns()
        if end.agent != MAIN:
            self._close_thought(end.agent, now)
            return
        self._close(now)
        retried, self._retried = self._retried, None
        rows = end_rows(end, room, cost=self._cost(end), attempts=retried.attempt if retried else 0)
        self._block("end", rows)
        self._calls.clear()
        self._headlines.clear()
        self._asked.clear()
        self._refused.clear()

    def _block(self, kind: Kind, rows: Sequence[Row]) -> None:
        """A block of its own, with a blank row before it where one line does not just follow the other.

        What happens beside an answer that streams waits for its end.
        """
        if self._answering is not None and kind != "answer":
            self._held.append((kind, rows))
            return
        if not rows:
            return
        small = len(rows) <= 2 and kind in ("tool", "note")
        follows = small and self._above in (("tool", True), ("note", True))
        if self._above is not None and not follows:
            self._out.append(BLANK)
        self._above = (kind, small)
        self._out += rows
