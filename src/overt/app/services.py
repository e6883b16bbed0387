"""What a conversation uses beside its session, as small interfaces; `app/start.py` names who implements them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from overt.agent.agent import Agent
from overt.app.limits.session_limits import SessionLimits
from overt.app.permission_answers import Mailbox
from overt.app.session_workspace import SessionWorkspace
from overt.core.errors import ProviderError
from overt.core.events import Emit, PrefixSet
from overt.core.history import History
from overt.core.messages import Message

if TYPE_CHECKING:
    from overt.app.hooks.session_hooks import SessionHooks
    from overt.app.skills.library import SkillLibrary
    from overt.app.slash_command import Command
    from overt.app.subagents.delegation import Delegation


class Fallback(Struct, frozen=True, kw_only=True):
    """The same model with another way to call tools, and the notice that says so."""

    agent: Agent
    opening: PrefixSet
    notice: str


class ModelSwitch(Struct, frozen=True, kw_only=True):
    """An agent with another model. `restore` makes the agent before it again, with the same prefix."""

    agent: Agent
    opening: PrefixSet
    restore: Callable[[], tuple[Agent, PrefixSet]]


class AgentSource(Protocol):
    async def choose(self, reference: str, effort: str | None = None) -> tuple[Agent, PrefixSet]:
        """Make an agent with another model, or with another effort. An `effort` of "" is the model's own."""
        ...

    async def switch(self, reference: str, agent: Agent, opening: PrefixSet) -> ModelSwitch:
        """Make an agent with another model for one turn. Raise an OvertError if the server does not list the model."""
        ...

    def fall_back(self, error: ProviderError) -> Fallback | None:
        """Make an agent that calls tools another way, if the server refused the one in use."""
        ...


class ModelSource(Protocol):
    @property
    def offline(self) -> str:
        """Why nothing leaves this machine; empty if something may."""
        ...

    async def title(self, prompt: str, emit: Emit) -> None:
        """Ask for a title of the session and emit it, if one is wanted."""
        ...

    def close_unused(self) -> None:
        """Close connections to models that are no longer used."""
        ...

    async def close(self) -> None: ...


class PromptContext(Protocol):
    async def refer(self, prompt: str, agent: Agent, history: History) -> tuple[Message, ...]:
        """Return the messages that go before a prompt: files that it names, and rules that hold for them."""
        ...

    def tool_called(self, name: str) -> None:
        """A call of this tool streams in."""
        ...

    def close(self) -> None: ...


class Services(Struct, frozen=True, kw_only=True):
    agents: AgentSource
    models: ModelSource
    context: PromptContext
    workspace: SessionWorkspace
    mailbox: Mailbox
    limits: SessionLimits
    skills: "SkillLibrary | None" = None
    commands: tuple["Command", ...] = ()
    """Commands of the chat beside the built-in ones."""
    hooks: "SessionHooks | None" = None
    delegation: "Delegation | None" = None
