"""What hooks may do to the calls and turns of an agent. `app/hooks` runs them."""

from typing import Literal, Protocol

from msgspec import Struct

from overt.agent.permission_decision import CallRequest
from overt.core.events import ToolFinished
from overt.core.messages import Message
from overt.repair.repair_call import MendedCall
from overt.safety.policy import Verdict

CompactionCause = Literal["limit", "asked", "overflow"]


class HookJudgement(Struct, frozen=True, kw_only=True):
    """What hooks say about a call before it runs. Without a `verdict` they leave it to rules and mode.

    `changed` is the call with the arguments of a hook. `context` is what the model reads after the result.
    """

    verdict: Verdict | None = None
    changed: MendedCall | None = None
    context: str = ""


class SubmittedPrompt(Struct, frozen=True, kw_only=True):
    """What hooks say about a prompt: why it is refused, if it is, and messages that go before it."""

    refusal: str = ""
    along: tuple[Message, ...] = ()


class AgentHooks(Protocol):
    async def judge_call(self, request: CallRequest, agent: str) -> HookJudgement:
        """Ask hooks before a call that no guard denies (PreToolUse)."""
        ...

    async def judge_question(self, request: CallRequest, verdict: Verdict, agent: str) -> Verdict:
        """Let hooks answer a question before it is put to the user (PermissionRequest). Return the verdict then."""
        ...

    async def after_call(self, request: CallRequest, finished: ToolFinished) -> str:
        """Tell hooks how a call ended (PostToolUse, PostToolUseFailure). Return what the model reads behind it."""
        ...

    async def submit_prompt(self, text: str) -> SubmittedPrompt:
        """Ask hooks about what the user says (UserPromptSubmit)."""
        ...

    def take_stop_reason(self) -> str:
        """Return why a hook wants the turn to end, once; empty if none does."""
        ...

    async def before_compaction(self, cause: CompactionCause, focus: str) -> str:
        """Tell hooks of a compaction (PreCompact). Return why one that the user asked for is refused."""
        ...

    async def after_compaction(self, cause: CompactionCause) -> tuple[Message, ...]:
        """Tell hooks that the history was compacted. Return the messages that they add to it."""
        ...
