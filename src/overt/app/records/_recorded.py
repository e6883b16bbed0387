"""A recorded turn as the loop can be driven with it: a model, tools, a gate and a lead that do what they did then."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from msgspec import Raw, Struct
from msgspec.structs import replace

from overt.agent.decision import CallRequest, Decision, read_request
from overt.agent.inbox import Inbox
from overt.agent.permissions import PermissionState, Terms
from overt.context.spoken import as_written
from overt.core.capabilities import Blocked, Effect, EndedJob
from overt.core.errors import ProviderError, ToolError
from overt.core.events import (
    Compacted,
    Emit,
    Event,
    PermissionDecided,
    PrefixReset,
    PrefixSet,
    Repaired,
    Replied,
    RequestSent,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.fragments import STEERED, own_origin
from overt.core.history import INTERRUPTED, History
from overt.core.messages import Document, Image, Message, Part, Reasoning, Text
from overt.core.ports import BOXED, Change, Journal, Loan, Looked, Profile, SandboxState, Survey, Wire
from overt.core.requests import Delta, ReasoningDelta, Reply, Request, TextDelta
from overt.core.settings import Calls
from overt.core.spending.usage import Usage
from overt.core.tool import Outcome, Tool
from overt.repair.mend import Mended
from overt.safety.policy import Sight
from overt.sessions.entries import Entry

STOPPED = "replay"
"""The kind of the error with which a replay leaves the loop where the record ends."""


class Recorded(Struct, frozen=True, kw_only=True):
    """One step. `at` is where its request stands among the entries, `before` what changed the history ahead of it.

    `reply` is None when nothing came back, or only a part of it; `scavenged`: calls were found in its text.
    """

    at: int
    entry: Entry[Event]
    sent: RequestSent
    before: tuple[Event, ...] = ()
    reply: Replied | None = None
    scavenged: bool = False
    started: dict[str, ToolStarted] = {}
    verdicts: dict[str, PermissionDecided] = {}
    outcomes: dict[str, ToolFinished] = {}

    def steering(self) -> tuple[str, ...]:
        spoken = (event for event in self.before if isinstance(event, UserSpoke) and event.steered)
        return tuple(event.message.text() for event in spoken if event.message.origin == STEERED)

    def nested(self) -> tuple[Message, ...]:
        spoken = (event for event in self.before if isinstance(event, UserSpoke) and event.steered)
        return tuple(event.message for event in spoken if event.message.origin != STEERED)

    def objection(self) -> str:
        """Return the objection to the answer before this step, or an empty string if it was accepted."""
        first = next((event.message for event in self.before if isinstance(event, UserSpoke)), None)
        return first.shown() if first and first.origin == own_origin("objection") else ""


class Stretch(Struct, frozen=True, kw_only=True):
    """What one run of the loop can be driven with: `stop` is the first entry that does not belong to it."""

    steps: tuple[Recorded, ...]
    stop: int
    end: TurnEnded | None = None


def stretch(entries: Sequence[Entry[Event]], start: int) -> Stretch:
    """From the request at `start` to the end of its turn, or to where the loop was entered anew: after a request
    that failed, or with another model."""
    reading = _Reading(entries[start].turn)
    at = start
    while at < len(entries) and reading.take(at, entries[at]):
        at += 1
    return Stretch(steps=tuple(_answered_later(reading.steps, entries, at)), stop=at, end=reading.end)


class _Reading:
    def __init__(self, turn: int) -> None:
        self.steps: list[Recorded] = []
        self.end: TurnEnded | None = None
        self._turn = turn
        self._before: list[Event] = []
        self._aside = False
        """The last request asked for a summary, so what comes next answers no step."""

    def take(self, at: int, entry: Entry[Event]) -> bool:
        """Whether the entry still belongs to the stretch."""
        event, steps = entry.data, self.steps
        if self.end or entry.turn != self._turn or isinstance(event, PrefixSet):
            return False
        match event:
            case RequestSent(purpose="summary"):
                self._aside = True
            case RequestSent():
                if steps and steps[-1].reply is None:
                    return False
                steps.append(Recorded(at=at, entry=entry, sent=event, before=tuple(self._before)))
                self._before, self._aside = [], False
            case Replied() if not self._aside and steps[-1].reply is None and not cut_off(event):
                steps[-1] = replace(steps[-1], reply=event)
            case Repaired(before=before) if before:
                steps[-1] = replace(steps[-1], scavenged=True)
            case ToolStarted(call=call):
                steps[-1] = replace(steps[-1], started={call.id: event} | steps[-1].started)
            case PermissionDecided(call_id=call_id):
                steps[-1] = replace(steps[-1], verdicts=steps[-1].verdicts | {call_id: event})
            case ToolFinished(result=result):
                steps[-1] = replace(steps[-1], outcomes={result.call_id: event} | steps[-1].outcomes)
            case UserSpoke() | Compacted() | PrefixReset(keep=int()):
                self._before.append(event)
            case TurnEnded():
                self.end = event
            case _:
                pass
        return True


def cut_off(reply: Replied) -> bool:
    """Whether the reply is what was kept of a stream that broke off: the model never ended it."""
    return reply.finish == "interrupted" and reply.usage == Usage()


def _answered_later(steps: list[Recorded], entries: Sequence[Entry[Event]], stop: int) -> list[Recorded]:
    """After a crash, open calls are answered when the session goes on: in the next turn."""
    if not steps or steps[-1].reply is None:
        return steps
    for entry in entries[stop:]:
        match entry.data:
            case ToolFinished(result=result):
                steps[-1] = replace(steps[-1], outcomes={result.call_id: entry.data} | steps[-1].outcomes)
            case UserSpoke() | Replied() | RequestSent():
                break
            case _:
                pass
    return steps


# ── what takes the place of the world ────────────────────────────────────────────────────────────────────

Now = Callable[[], Recorded]
"""The step that the loop is in."""


class RecordedModel:
    """A provider that answers as it was answered then. `check` sees each request before."""

    def __init__(self, opening: PrefixSet, wire: Wire, now: Now, check: Callable[[Request], None]) -> None:
        self.name = opening.provider
        self.wire = wire
        self._calls: Calls = opening.calls
        self._now = now
        self._check = check

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        self._check(request)
        reply = self._now().reply
        if reply is None:
            raise ProviderError("Nothing came back then.", kind=STOPPED)
        parts = self._written(reply.message)
        for part in parts:
            if isinstance(part, Text):
                yield TextDelta(text=part.text)
            elif isinstance(part, Reasoning):
                yield ReasoningDelta(text=part.text)
        yield Reply(parts=parts, finish=reply.finish, usage=reply.usage, model=reply.model, skipped=reply.skipped)

    def _written(self, message: Message) -> tuple[Part, ...]:
        """A final answer in its JSON object, as the model had to give it; calls have their ids already."""
        spoken = self._calls == "schema" and not message.calls() and message.parts
        return as_written(message, self._calls).parts if spoken else message.parts

    async def models(self) -> tuple[str, ...]:
        return ()

    async def balance(self) -> str:
        return ""

    def warm(self, head: bytes = b"") -> None:
        """Nothing is to be got ready."""

    def close(self) -> None:
        """Nothing is held."""


class RecordedInbox(Inbox):
    """Without notices about the step limit, which is not recorded: they are among the recorded messages."""

    def messages(self, step: int, limit: int) -> list[Message]:
        return super().messages(step, 0)


class RecordedHands:
    """Hands that touch nothing: what a call brought then is handed to the tool in place of capabilities."""

    def __init__(self, now: Now) -> None:
        self._now = now

    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
        box: Profile = BOXED,
    ) -> Loan:
        done, journal = self._now().outcomes.get(call_id), Journal()
        journal.seen = dict(done.seen) if done else {}
        return Loan(capabilities={"recorded": done}, journal=journal)

    def look(self, paths: Sequence[str]) -> tuple[Looked, ...]:
        return ()

    def weigh(self, paths: Sequence[str], verb: str) -> tuple[str, ...]:
        return ()

    def ended_jobs(self) -> tuple[EndedJob, ...]:
        """What was announced then stands in the record among the messages."""
        return ()

    async def survey(self, changes: Sequence[Change]) -> tuple[Survey, ...]:
        return tuple(Survey() for _ in changes)

    def require_undo(self, call_id: str) -> None:
        """Nothing runs."""

    def guess(self) -> SandboxState:
        return SandboxState()

    async def standing(self) -> SandboxState:
        return SandboxState()


def replayed(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """The same tools, read and judged as ever, whose runs give back what was recorded."""
    return {name: replace(tool, run=_again) for name, tool in tools.items()}


async def _again(_: object, *, recorded: ToolFinished | None) -> Outcome:
    if recorded is None:
        raise ToolError(INTERRUPTED, code="interrupted")
    result = recorded.result
    if result.error:
        raise ToolError(result.text(), code=recorded.code)
    more = tuple(part for part in result.parts if isinstance(part, Image | Document))
    return Outcome(text=result.text(), view=recorded.view, parts=more, ended=result.ended, unchanged=result.unchanged)


class RecordedGate:
    """A gate that decides as was decided then. It reads what a call is about without looking at any file."""

    def __init__(self, now: Now) -> None:
        self.permissions = PermissionState(Terms(rules=()), mode="review", remember=lambda rule: None)
        self._sight = Sight(root="/", exists=lambda path: False)
        self._now = now

    def receive(self, mended: Mended) -> CallRequest:
        return read_request(mended, self._sight)

    def may_read(self, path: str) -> bool:
        return False

    async def decide(self, request: CallRequest, agent: str, emit: Emit, *, typed: bool = False) -> Decision:
        step = self._now()
        decided, done = step.verdicts.get(request.id), step.outcomes.get(request.id)
        if decided:
            emit(decided)
        if done and (done.result.harness or done.code == "denied"):
            return Decision(action="deny", refusal=done.result.text(), label="", denial_reason=done.result.reason)
        if done and decided is None and done.result.error:
            return Decision(action="deny", failure=ToolError(done.result.text(), code=done.code))
        return Decision(action="allow")

    def blocked(self, request: CallRequest, box: Profile, outcome: Outcome) -> Blocked | None:
        """Return None: the recorded outcome already says what the sandbox refused."""
        return None

    async def widen(
        self, request: CallRequest, box: Profile, blocked: Blocked, agent: str, emit: Emit
    ) -> Decision | None:
        return None


class RecordedLead:
    """`coming` is the step after the one the loop is in, None when there was none."""

    def __init__(self, coming: Callable[[], Recorded | None]) -> None:
        self._coming = coming

    async def accompany(self, text: str) -> tuple[Message, ...]:
        return ()

    async def form(self, history: History, *, forced: bool) -> Raw | None:
        coming = self._coming()
        form: Raw | None = coming.sent.params.form if coming else None
        return form

    async def find_objection(self, history: History) -> str:
        coming = self._coming()
        return coming.objection() if coming else ""

    def forget(self) -> None:
        """What went along with a prompt is in the record."""
