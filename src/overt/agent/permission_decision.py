"""What the permission gate is asked and what it answers: the interface that running calls and replaying them share."""

from typing import Literal, Protocol

from msgspec import Struct

from overt.agent.permission_settings import PermissionState
from overt.core.capabilities import Blocked
from overt.core.errors import ToolError
from overt.core.events import Emit, PermissionDecided
from overt.core.protocols import BOXED, Answer, Profile
from overt.core.text_fragments import LABEL
from overt.core.tool import Outcome, Tool
from overt.repair.repair_call import MendedCall
from overt.safety.policy import PathFacts, Verdict, harmless, subject_of
from overt.safety.rules import Subject


class CallRequest(Struct, frozen=True, kw_only=True):
    """A repaired call that has to be decided about, and what it is about."""

    mended: MendedCall
    subject: Subject

    @property
    def id(self) -> str:
        return self.mended.call.id

    @property
    def tool(self) -> Tool:
        assert self.mended.tool is not None  # a call that names no tool was answered before
        return self.mended.tool

    @property
    def changes(self) -> bool:
        """True if the call may change something outside the conversation."""
        return not harmless(self.subject, self.tool.effects)

    @property
    def parallel(self) -> bool:
        """True if the call may run beside others. Those about the todo list keep their order, as each sees the last."""
        return not self.changes and "notes" not in self.tool.effects


class Decision(Struct, frozen=True, kw_only=True):
    """Whether a call may run, who decided it and why.

    `refusal` is what the model reads of a denial, after `label`, which is empty if the text begins with it already.
    `denial_reason` is what the user said when they denied the call. `failure` is the error of a call whose preview
    failed, so that nobody was asked about it. `box` is the sandbox profile of its programs, `note` what the model reads
    after the result. `remembered` are the rules that an answer has stored, `allowed_by` the flags or settings that
    would have allowed a call which was denied because nobody could be asked. `request` is the call to run: a hook may
    have changed its arguments.
    """

    action: Literal["allow", "deny"]
    rule: str = ""
    origin: str = ""
    by: Literal["rule", "mode", "person", "guard"] = "guard"
    reason: str = ""
    remembered: str = ""
    allowed_by: tuple[str, ...] = ()
    refusal: str = ""
    label: str = LABEL
    denial_reason: str = ""
    failure: ToolError | None = None
    box: Profile = BOXED
    note: str = ""
    request: CallRequest | None = None

    @property
    def allowed(self) -> bool:
        return self.action == "allow"

    def event(self, agent: str, call_id: str) -> PermissionDecided:
        """Return the fact that is recorded of the decision."""
        return PermissionDecided(
            agent=agent,
            call_id=call_id,
            verdict=self.action,
            rule=self.rule,
            origin=self.origin,
            by=self.by,
            reason=self.reason,
            remembered=self.remembered,
            allowed_by=self.allowed_by,
        )


class PermissionGate(Protocol):
    """Decides about every call before it runs: by judging it, or, in a replay, as was decided then."""

    permissions: PermissionState

    def receive(self, mended: MendedCall) -> CallRequest: ...

    def may_read(self, path: str) -> bool:
        """True if a file may be shown to the model without asking anyone."""
        ...

    async def decide(self, request: CallRequest, agent: str, emit: Emit, *, typed: bool = False) -> Decision:
        """Decide about one call and emit the decision. `typed`: the user has typed the command, not the model."""
        ...

    def blocked(self, request: CallRequest, box: Profile, outcome: Outcome) -> Blocked | None:
        """Return what the sandbox refused to a call that has run, or None."""
        ...

    async def widen(
        self, request: CallRequest, box: Profile, blocked: Blocked, agent: str, emit: Emit
    ) -> Decision | None:
        """Offer to run a blocked call again with wider access. Return None if nobody can be asked about it."""
        ...


def read_request(mended: MendedCall, sight: PathFacts) -> CallRequest:
    """Find out what a repaired call is about."""
    assert mended.tool is not None  # a call that names no tool was answered before
    return CallRequest(mended=mended, subject=subject_of(mended.tool, mended.args.subjects(), sight))


def describe_refusal(verdict: Verdict, answer: Answer, by: str) -> str:
    """Return what the model reads of a denial."""
    if by == "person":
        return f"The user denied this call{f': {answer.reason}' if answer.reason else '.'}"
    reasons = dict.fromkeys(part for part in (verdict.why, answer.reason) if part)
    return f"Denied ({verdict.rule}, {verdict.origin}): {'. '.join(reasons)}"
