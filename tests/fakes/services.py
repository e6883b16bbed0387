"""Services for a conversation that needs none: one model, no title, nothing that goes along with a prompt."""

from overt.app.mailbox import Mailbox
from overt.app.services import Fallback, Services
from overt.core.errors import ProviderError
from overt.core.events import Emit, PrefixSet
from overt.core.history import History
from overt.core.messages import Message
from overt.engine.agent import Agent


class NoAgents:
    async def choose(self, reference: str, effort: str | None = None) -> tuple[Agent, PrefixSet]:
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


class NoWorkspace:
    def warm(self, tool: str) -> None: ...

    async def settled(self) -> None: ...

    def rest(self) -> None: ...

    async def close(self) -> None: ...


def no_services() -> Services:
    return Services(
        agents=NoAgents(), models=NoModels(), context=NoContext(), workspace=NoWorkspace(), mailbox=Mailbox()
    )
