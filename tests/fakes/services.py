"""Services for a conversation that needs only its workspace: one model, no title, no context beside the prompt."""

from overt.agent.agent import Agent
from overt.app.limits.session_limits import SessionLimits
from overt.app.permission_answers import Mailbox
from overt.app.services import Fallback, ModelSwitch, Services
from overt.app.session import Session
from overt.app.session_workspace import SessionWorkspace
from overt.core.errors import ProviderError
from overt.core.events import Emit, PrefixSet
from overt.core.history import History
from overt.core.messages import Message


class NoAgents:
    async def choose(self, reference: str, effort: str | None = None) -> tuple[Agent, PrefixSet]:
        raise NotImplementedError

    async def switch(self, reference: str, agent: Agent, opening: PrefixSet) -> ModelSwitch:
        raise NotImplementedError

    def fall_back(self, error: ProviderError) -> Fallback | None:
        return None


class NoModels:
    offline = ""

    async def title(self, prompt: str, emit: Emit) -> None: ...

    def close_unused(self) -> None: ...

    async def close(self) -> None: ...


class NoContext:
    async def refer(self, prompt: str, agent: Agent, history: History) -> tuple[Message, ...]:
        return ()

    def tool_called(self, tool: str) -> None: ...

    def close(self) -> None: ...


def plain_services(workspace: SessionWorkspace, session: Session) -> Services:
    limits = SessionLimits(session.setting.config.limits, session)
    return Services(
        agents=NoAgents(),
        models=NoModels(),
        context=NoContext(),
        workspace=workspace,
        mailbox=Mailbox(),
        limits=limits,
    )
