"""A session: its log, its state and its subscribers.

`emit` does four things, in this order and before it returns: it takes secrets out of an event, appends it to the log,
folds it into the state, and publishes it. Whatever a subscriber has seen is therefore already on disk.

    loop, tools, commands ── emit ──▶ redact ─▶ log ─▶ fold ─▶ publish ──▶ frontends, title, cache meter, ledger …

Subscribers are called between turns too. Frontends that wait for events give `EventQueue.put` as their callback, so a
slow one delays nobody. A callback that raises is dropped, and the others are told its name.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from time import monotonic
from typing import NamedTuple

from overt.app.diagnostics.recent_events import RECENT
from overt.app.redaction.redact_events import Scrub, redact_event
from overt.app.session_record import SessionRecord
from overt.app.setting import Setting
from overt.core.agents.agent_events import AgentCharged, AgentEnded, AgentStarted
from overt.core.events import (
    Compacted,
    Event,
    GitMoved,
    ModeSet,
    Noticed,
    PartialSaved,
    PermissionAsked,
    PermissionDecided,
    Replied,
    RequestSent,
    SnapshotTaken,
    TextStreamed,
    TitleSet,
    ToolFinished,
    ToolStarted,
    TreeTaken,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.history import History, add_mark, fold
from overt.core.messages import Call
from overt.core.protocols import UnsavedEntry
from overt.core.questions import FormAsked, FormClosed
from overt.core.spending.spend import fold_spend
from overt.lib.logs.log import LOG
from overt.lib.redaction.redact import Redactor
from overt.lib.translations import say
from overt.sessions.entry_types import TYPE_OF
from overt.sessions.resume import ResumedSession

Receive = Callable[[Event], None]
MAIN = "main"
SAVE_EVERY_S = 1.0
HIDDEN_AGENTS = frozenset({"title", "web"})
"""Agents whose work is recorded and counted, but not shown."""
RECORDED_OF_AGENTS = (AgentStarted, AgentCharged, AgentEnded, SnapshotTaken, TreeTaken, GitMoved)
"""Events of a sub-agent that the sessions above it record too: start, end, cost, and changes for undo."""
SHOWN_OF_AGENTS = (AgentStarted, AgentCharged, AgentEnded, PermissionAsked, PermissionDecided, FormAsked, FormClosed)
"""Events of sub-agents that every subscriber gets: start, end, cost, and questions to the user."""


class Subscription:
    """One subscriber of a session. `name` is shown to the others if it fails."""

    def __init__(
        self, receive: Receive, name: str, subscribers: list["Subscription"], *, hidden: bool, agents: bool
    ) -> None:
        self.receive = receive
        self.name = name
        self.hidden = hidden
        self.agents = agents
        self._subscribers = subscribers

    def wants(self, event: Event) -> bool:
        if "/" in event.agent:
            return self.agents or isinstance(event, SHOWN_OF_AGENTS)
        return self.hidden or event.agent not in HIDDEN_AGENTS

    def close(self) -> None:
        if self in self._subscribers:
            self._subscribers.remove(self)


class Partial:
    """What has streamed of a reply that is not whole yet. `save` gets what came since the last time, every second."""

    def __init__(self, save: Callable[[str], None]) -> None:
        self._save = save
        self._pieces: list[str] = []
        self._saved = 0
        self._saved_at = 0.0

    def begin(self) -> None:
        self._pieces, self._saved, self._saved_at = [], 0, monotonic()

    def add(self, text: str) -> None:
        self._pieces.append(text)
        if monotonic() - self._saved_at >= SAVE_EVERY_S:
            self.save()

    def save(self) -> None:
        fresh = "".join(self._pieces[self._saved :])
        self._saved, self._saved_at = len(self._pieces), monotonic()
        if fresh:
            self._save(fresh)

    def text(self) -> str:
        return "".join(self._pieces)


class Denial(NamedTuple):
    """A call that was denied, and who decided so."""

    call: Call
    reason: str
    decided: PermissionDecided


class Session:
    """The state of one session, kept by folding its events; `history` is that of the main agent."""

    def __init__(
        self,
        record: SessionRecord,
        setting: Setting,
        *,
        redactor: Redactor,
        log_notices: deque[Noticed],
        name: str = "",
    ) -> None:
        """`setting` is the configuration that the session was opened with, flags included.

        `log_notices` is where the log puts its own troubles, such as a full disk. A `name` is recorded just before
        the first event, so that a session without one leaves nothing behind.
        """
        resumed = record.resumed or ResumedSession(history=History())
        named = TitleSet(title=name, model="")
        self.id, self.path, self.setting = record.id, record.path, setting
        self.workspace = setting.roots.workspace
        self.histories: dict[str, History] = {MAIN: fold(resumed.history, named)}
        self.turn, self.step = resumed.turn, 0
        self.marks = list(resumed.marks)
        self.mode = resumed.mode
        self.spend = resumed.spend
        self.calls: dict[str, Call] = {}
        self.denials: list[Denial] = []
        self.last_call_denied = False
        self.redaction = Scrub(redactor, resumed.history.messages)
        self._log = log = record.log
        self._unrecorded_name = named if name else None
        self._log_notices = log_notices
        self._subscribers: list[Subscription] = []
        self._unpublished: deque[Event] = deque()
        self._publishing = False
        self._turn_events: list[Event] = []
        self._partial = Partial(lambda text: log.append(PartialSaved(text=text), turn=self.turn, step=self.step))

    @property
    def history(self) -> History:
        return self.histories[MAIN]

    def subscribe(
        self, receive: Receive, *, name: str, catch_up: bool = False, hidden: bool = False, agents: bool = False
    ) -> Subscription:
        """Call `receive` with each event from now on; with `catch_up`, first with those of the running turn.

        With `hidden` it also gets the events of agents that are not shown, and with `agents` all those of sub-agents.
        """
        subscription = Subscription(receive, name, self._subscribers, hidden=hidden, agents=agents)
        if catch_up:
            streamed = self._partial.text()
            for event in (*self._turn_events, *((TextStreamed(text=streamed),) if streamed else ())):
                if subscription.wants(event):
                    receive(event)
        self._subscribers.append(subscription)
        return subscription

    def emit(self, event: Event) -> None:
        """Redact, record, fold and publish."""
        for redacted in self.redaction.events(event):
            self._take(redacted)

    def publish(self, event: Event) -> None:
        """Show an event that is not part of the record, without secrets all the same."""
        self._publish(redact_event(event, self.redaction.clean))

    def relay(self, event: Event) -> None:
        """Publish an event from the session of a sub-agent. Record it if it is in RECORDED_OF_AGENTS."""
        if isinstance(event, RECORDED_OF_AGENTS):
            self._take(event)
        else:
            self._publish(event)

    def _publish(self, event: Event) -> None:
        self._unpublished.append(event)
        if self._publishing:
            return  # emitted by a subscriber: all get it after the event that is being published
        self._publishing = True
        try:
            while self._unpublished:
                self._call_subscribers(self._unpublished.popleft())
        finally:
            self._publishing = False

    def end_turn(self) -> str:
        """Let go of what still waits at the end of a turn. Return the text of a reply that broke off."""
        for event in self.redaction.rest(broken=True):
            self._take(event)
        streamed = self._partial.text()
        if streamed:
            self._partial.save()
        return streamed

    def sync(self) -> None:
        self._log.sync()
        self._publish_log_notices()

    def close(self) -> tuple[UnsavedEntry, ...]:
        """Close the log. Return the entries that could not be saved."""
        return self._log.close()

    # ── one event ────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, event: Event) -> None:
        RECENT.add(event)
        if isinstance(event, TurnStarted) and event.agent == MAIN:
            self._turn_events = []
        if type(event) in TYPE_OF:
            self._record(event)
        self._fold(event)
        self._publish(event)

    def _record(self, event: Event) -> None:
        step = self.step + isinstance(event, RequestSent) if event.agent == MAIN else 0
        if self._unrecorded_name:
            name, self._unrecorded_name = self._unrecorded_name, None
            self._log.append(name, turn=self.turn, step=step)
        self._log.append(event, turn=self.turn, step=step)
        if event.agent == MAIN and isinstance(event, UserSpoke) and not event.steered:
            add_mark(self.marks, self.history, self.turn, event)
        self.histories[event.agent] = fold(self.histories.get(event.agent, History()), event)
        self._turn_events.append(event)
        self._publish_log_notices()

    def _fold(self, event: Event) -> None:
        """Keep the state beside the histories. What other agents spend counts for the session too."""
        self.spend = fold_spend(self.spend, event)
        if event.agent != MAIN:
            return
        match event:
            case RequestSent():
                self.step += 1
                self._partial.begin()
            case TextStreamed(text=text):
                self._partial.add(text)
            case Compacted() | Replied():
                self._partial.begin()
            case ModeSet(mode=mode):
                self.mode = mode
            case ToolStarted(call=call):
                self.calls[call.id] = call
            case PermissionDecided(verdict="deny", call_id=call_id, reason=reason) if event.rule != "sandbox":
                if denied := self.calls.get(call_id):  # a command that the user typed is no call of the model
                    self.denials.append(Denial(call=denied, reason=reason, decided=event))
            case ToolFinished(code=code):
                self.last_call_denied = code == "denied"
            case _:
                pass

    def _publish_log_notices(self) -> None:
        while self._log_notices:
            self.publish(self._log_notices.popleft())

    def _call_subscribers(self, event: Event) -> None:
        for subscription in tuple(self._subscribers):
            if not subscription.wants(event):
                continue
            try:
                subscription.receive(event)
            except Exception as error:  # noqa: BLE001 - one subscriber must not end the turn of all, see decision 0014
                subscription.close()
                LOG.error("session", f"{subscription.name} failed and gets no more events", error)
                text = say("session.subscriber_failed", name=subscription.name, error=type(error).__name__)
                self._unpublished.append(Noticed(text=text, level="error"))


class EventQueue:
    """Events for a consumer that takes its time: `put` is the callback of its subscription."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()

    def put(self, event: Event) -> None:
        self._queue.put_nowait(event)

    def end(self) -> None:
        self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self._queue.get()) is not None:
            yield event


def follow(session: Session, turn: "asyncio.Task[TurnEnded]", *, agents: bool = False) -> AsyncGenerator[Event, None]:
    """Yield the events of a turn that has just started, with `agents` also those of its sub-agents.

    Closing the generator early interrupts the turn.
    """
    events = EventQueue()
    subscription = session.subscribe(events.put, name="follower", agents=agents)
    turn.add_done_callback(lambda _: events.end())
    return _drain(events, subscription, turn)


async def _drain(
    events: EventQueue, subscription: Subscription, turn: "asyncio.Task[TurnEnded]"
) -> AsyncGenerator[Event, None]:
    try:
        async for event in events:
            yield event
    finally:
        turn.cancel()
        await asyncio.wait([turn])
        subscription.close()
    turn.result()
