"""The services of an agent whose turn is replayed: they touch nothing and answer as the record does."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from msgspec import Raw, Struct
from msgspec.structs import replace

from overt.agent.agent import LimitReached, SpendNotice
from overt.agent.permission_decision import CallRequest, Decision, read_request
from overt.agent.permission_settings import PermissionState, Terms
from overt.agent.queued_messages import Inbox
from overt.app.records.recorded_steps import RecordedStep, recorded_tool
from overt.context.text_calls import as_written
from overt.core.capabilities import Blocked, Effect, EndedJob
from overt.core.errors import ProviderError, ToolError
from overt.core.events import Emit, PrefixSet, ToolFinished
from overt.core.history import INTERRUPTED, History
from overt.core.messages import Document, Image, Message, Reasoning, Text
from overt.core.protocols import BOXED, CommandChange, Journal, Loan, Profile, ResolvedPath, SandboxState, Survey, Wire
from overt.core.requests import Delta, ReasoningDelta, Reply, Request, TextDelta, ToolSpec
from overt.core.spending.worst_case import WorstCase
from overt.core.tool import Outcome, Tool
from overt.repair.repair_call import MendedCall
from overt.safety.policy import PathFacts

STOPPED = "replay"
"""The kind of the error with which a replay leaves the loop where the record ends."""

CurrentStep = Callable[[], RecordedStep]
"""Returns the step that the loop is in."""


class RecordedModel:
    """A provider that gives the recorded replies. `check` sees each request before."""

    def __init__(self, opening: PrefixSet, wire: Wire, step: CurrentStep, check: Callable[[Request], None]) -> None:
        self.name = opening.provider
        self.wire = wire
        self._calls = opening.calls
        self._step = step
        self._check = check

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        self._check(request)
        reply = self._step().reply
        if reply is None:
            raise ProviderError("The record has no reply to this request.", kind=STOPPED)
        message = reply.message
        if self._calls == "schema" and not message.calls() and message.parts:
            message = as_written(message, self._calls)  # a final answer is a JSON object there
        for part in message.parts:
            if isinstance(part, Text):
                yield TextDelta(text=part.text)
            elif isinstance(part, Reasoning):
                yield ReasoningDelta(text=part.text)
        yield Reply(
            parts=message.parts, finish=reply.finish, usage=reply.usage, model=reply.model, skipped=reply.skipped
        )

    async def models(self) -> tuple[str, ...]:
        return ()

    async def balance(self) -> str:
        return ""

    def warm(self, head: bytes = b"") -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""


class RecordedInbox(Inbox):
    """Without notices about the step limit, which is not recorded: they are among the recorded messages."""

    def messages(self, step: int, limit: int) -> list[Message]:
        return super().messages(step, 0)


class RecordedHands:
    """Lends the recorded outcome of a call to its tool in place of capabilities."""

    def __init__(self, step: CurrentStep) -> None:
        self._step = step

    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
        box: Profile = BOXED,
    ) -> Loan:
        outcome, journal = self._step().outcomes.get(call_id), Journal()
        journal.seen = dict(outcome.seen) if outcome else {}
        return Loan(capabilities={"recorded": outcome}, journal=journal)

    def look(self, paths: Sequence[str]) -> tuple[ResolvedPath, ...]:
        return ()

    def weigh(self, paths: Sequence[str], verb: str) -> tuple[str, ...]:
        return ()

    def ended_jobs(self) -> tuple[EndedJob, ...]:
        """Return none: what was announced is among the recorded messages."""
        return ()

    async def survey(self, changes: Sequence[CommandChange]) -> tuple[Survey, ...]:
        return tuple(Survey() for _ in changes)

    def require_undo(self, call_id: str) -> None:
        """Do nothing: nothing runs."""

    def guess(self) -> SandboxState:
        return SandboxState()

    async def standing(self) -> SandboxState:
        return SandboxState()


def with_recorded_outcomes(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the same tools, whose runs return what was recorded."""
    return {name: replace(tool, run=_recorded_outcome) for name, tool in tools.items()}


async def _recorded_outcome(_: object, *, recorded: ToolFinished | None) -> Outcome:
    if recorded is None:
        raise ToolError(INTERRUPTED, code="interrupted")
    result = recorded.result
    if result.error:
        raise ToolError(result.text(), code=recorded.code)
    files = tuple(part for part in result.parts if isinstance(part, Image | Document))
    return Outcome(text=result.text(), view=recorded.view, parts=files, ended=result.ended, unchanged=result.unchanged)


class RecordedGate:
    """A gate that repeats the recorded decisions. It reads what a call is about without looking at any file."""

    def __init__(self, step: CurrentStep) -> None:
        self.permissions = PermissionState(Terms(rules=()), mode="review", remember=lambda rule: None)
        self._sight = PathFacts(root="/", exists=lambda path: False)
        self._step = step

    def receive(self, mended: MendedCall) -> CallRequest:
        return read_request(mended, self._sight)

    def may_read(self, path: str) -> bool:
        return False

    async def decide(self, request: CallRequest, agent: str, emit: Emit, *, typed: bool = False) -> Decision:
        step = self._step()
        verdict, outcome = step.verdicts.get(request.id), step.outcomes.get(request.id)
        if verdict:
            emit(verdict)
        result = outcome.result if outcome else None
        if outcome and result and (result.harness or outcome.code == "denied"):
            return Decision(action="deny", refusal=result.text(), label="", denial_reason=result.reason)
        if outcome and result and result.error and verdict is None:
            return Decision(action="deny", failure=ToolError(result.text(), code=outcome.code))
        return Decision(action="allow")

    def blocked(self, request: CallRequest, box: Profile, outcome: Outcome) -> Blocked | None:
        """Return None: the recorded outcome already says what the sandbox refused."""
        return None

    async def widen(
        self, request: CallRequest, box: Profile, blocked: Blocked, agent: str, emit: Emit
    ) -> Decision | None:
        return None


class RecordedUnlisted:
    """Knows the tools that calls of the record were forwarded to; nothing is known of them but the name."""

    def __init__(self, step: CurrentStep) -> None:
        self._step = step

    def find(self, name: str) -> Tool | None:
        if all(started.call.name != name for started in self._step().started.values()):
            return None
        spec = ToolSpec(name=name, description="", schema=Raw(b'{"type":"object"}'))
        return replace(recorded_tool(spec), run=_recorded_outcome)

    async def load(self, name: str) -> str:
        return ""


class RecordedReservation(Struct, frozen=True, kw_only=True):
    output: int | None = None

    def release(self) -> None:
        """Do nothing: nothing is spent."""


class RecordedLimit:
    """Replays the output limit of each request. With `stopped`, the turn ended because the next one did not fit."""

    is_set = True

    def __init__(self, next_step: Callable[[], RecordedStep | None], *, stopped: bool) -> None:
        self._next_step = next_step
        self._stopped = stopped

    def check(self) -> tuple[SpendNotice, ...]:
        return ()

    async def reserve(self, worst: WorstCase, emit: Emit) -> RecordedReservation:
        step = self._next_step()
        if step is None and self._stopped:
            raise LimitReached("the record ends at a limit")
        return RecordedReservation(output=step.sent.params.output_limit if step else None)

    def try_reserve(self, worst: WorstCase) -> RecordedReservation:
        return RecordedReservation()

    def warn_unpriced(self, worst: WorstCase, model: str) -> str:
        return ""


class RecordedLead:
    """`next_step` returns the step after the one that the loop is in, None if there was none."""

    def __init__(self, next_step: Callable[[], RecordedStep | None]) -> None:
        self._next_step = next_step

    async def accompany(self, text: str) -> tuple[Message, ...]:
        return ()

    async def form(self, history: History, *, forced: bool) -> Raw | None:
        step = self._next_step()
        return step.sent.params.form if step else None

    async def find_objection(self, history: History) -> str:
        step = self._next_step()
        return step.objection() if step else ""

    def forget(self) -> None:
        """Do nothing: what joined a prompt is in the record."""
