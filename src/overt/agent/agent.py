"""An agent: what it is (`AgentSpec`), and the services its turns call (`Runtime`)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Raw, Struct, field

from overt.agent.hooks import AgentHooks
from overt.agent.permission_decision import PermissionGate
from overt.context.assemble import Assembler
from overt.context.budget import Budget
from overt.core.capabilities import Effect
from overt.core.errors import OvertError
from overt.core.events import Emit
from overt.core.history import History, Mark
from overt.core.messages import Message
from overt.core.protocols import Hands, Provider
from overt.core.requests import Params, Prefix
from overt.core.settings import Calls, Limits, Price
from overt.core.spending.worst_case import WorstCase
from overt.core.tool import Tool, ToolLookup
from overt.lib.result_limit import ResultLimit, result_limit

if TYPE_CHECKING:
    from overt.agent.request_cost import UncountedRequest


class Lead(Protocol):
    """Prepares requests for a small model, or for one whose server takes no tools."""

    async def accompany(self, text: str) -> tuple[Message, ...]:
        """Return the messages that go before a prompt so that the model has them at hand, each with its own origin.

        Origins of kind `file` or `environment`: the prompt itself stays the person's words and nothing else.
        """
        ...

    async def form(self, history: History, *, forced: bool) -> Raw | None:
        """Return the JSON schema of the next reply; if `forced`, it may only be an answer."""
        ...

    def forget(self) -> None:
        """Forget what went along with earlier prompts: it has left the history."""
        ...


class AnswerCheck(Protocol):
    """Looks at an answer before the turn ends: a validation, a hook, or the check of a small model's claims."""

    async def find_objection(self, history: History) -> str:
        """Return the objection to send back to the model, or an empty string if the answer is accepted."""
        ...


class UnlistedTools(Protocol):
    """Tools that an agent can run although the model was not sent them with the first request."""

    def find(self, name: str) -> Tool | None: ...

    async def load(self, name: str) -> str:
        """Find out whether there is such a tool, which may take a while. Return what is wrong, or an empty string."""
        ...


class LimitReached(OvertError):
    """The next request could exceed a limit in dollars or tokens, and the user has not raised it."""


class SpendNotice(NamedTuple):
    """A limit is nearly used up: the `text` for the user, and the `advice` for the model."""

    text: str
    advice: str


class SpendReservation(Protocol):
    @property
    def output(self) -> int | None:
        """The most tokens that the reply may have; None if no limit counts it."""
        ...

    def release(self) -> None:
        """Give back what was reserved, once the real cost is recorded."""
        ...


class SpendLimit(Protocol):
    """What an agent may spend, with all agents of its tree."""

    @property
    def is_set(self) -> bool: ...

    def check(self) -> tuple[SpendNotice, ...]:
        """Return the notices that are due; each is returned once."""
        ...

    async def reserve(self, worst: WorstCase, emit: Emit) -> SpendReservation:
        """Reserve the most that a request can cost, or raise LimitReached. The user may be asked to raise the limit."""
        ...

    def try_reserve(self, worst: WorstCase) -> SpendReservation | None:
        """Reserve at once; None if too little is left."""
        ...

    def warn_unpriced(self, worst: WorstCase, model: str) -> str:
        """Return a warning if the price of the model is unknown; empty after the first time."""
        ...


REGROWTH_SHARE = 0.1
"""Of the window: after an attempt to make room, so much must be added before the next."""


class Room:
    """When room must be made for the next request. An attempt that did not help is not made again at every step."""

    def __init__(self) -> None:
        self._not_below = 0

    def due(self, budget: Budget, counted: int) -> bool:
        return bool(budget.due_above) and counted > max(budget.due_above, self._not_below)

    def short(self, budget: Budget, counted: int) -> bool:
        """True if a request of this size must not be sent as it is."""
        return budget.window > 0 and (self.due(budget, counted) or counted > budget.cap)

    def tried(self, budget: Budget, counted: int) -> None:
        self._not_below = counted + round(budget.window * REGROWTH_SHARE)


def compacts_automatically(budget: Budget | None) -> bool:
    """True if room may be made without being asked: the user has not switched it off."""
    return budget is not None and budget.threshold > 0


class AgentSpec(Struct, frozen=True, kw_only=True):
    """What an agent is. None of it changes while the agent lives; another model makes another spec.

    `path` names the agent in every event: `main`, or `main/explore-1` for a sub-agent. `effects` is all it may hold: a
    tool that needs more does not exist for it. `calls` is how the model calls tools; if `flatten` is set, the model
    knows their arguments by dotted names. `efforts` are the levels of thought that the model knows; None: it takes
    none. `price` is what its tokens cost. `max_output` is the most tokens of a reply, 0 if it is not known, and
    `limits_output` is False if its server takes no limit for it.
    """

    path: str
    params: Params
    prefix: Prefix
    tools: dict[str, Tool]
    effects: frozenset[Effect]
    limits: Limits
    calls: Calls = "native"
    flatten: bool = False
    price: Price | None = None
    max_output: int = 0
    limits_output: bool = True
    efforts: tuple[str, ...] | None = ()
    is_small: bool = False


class Runtime(Struct, frozen=True, kw_only=True):
    """The services that an agent's turns call. Most of them have a state of their own.

    `hide` replaces the API keys in use in what a tool returns. `lead` prepares the requests of a model that needs
    help with calling tools, and `checks` may object to an answer. `budget` counts what fits into the context window,
    and `room` remembers when a request was made to fit. `updates` returns the messages that join before a request:
    rules of folders that the history has reached since the last call, and facts that have changed. `marks` says where
    turns began, and `printed` what interrupted calls had printed, by their ids. `spend_limit` limits what
    the agent spends. `find_tool` finds any tool, also one that the agent does not have, by the names that
    a history has for it. `uncounted` holds the requests that broke off until they are recorded. `unlisted` are tools
    that the model looks up, and `hooks` is None if the user has none.
    """

    provider: Provider
    gate: PermissionGate
    hands: Hands
    assembler: Assembler
    hide: Callable[[str], str]
    find_tool: ToolLookup
    lead: Lead | None = None
    checks: tuple[AnswerCheck, ...] = ()
    budget: Budget | None = None
    updates: "Callable[[Agent, History], tuple[Message, ...]] | None" = None
    room: Room = field(default_factory=Room)
    marks: Callable[[], Sequence[Mark]] = tuple
    printed: dict[str, str] = field(default_factory=dict)
    spend_limit: SpendLimit | None = None
    unlisted: UnlistedTools | None = None
    hooks: AgentHooks | None = None
    uncounted: "list[UncountedRequest]" = field(default_factory=list)


class Agent(Struct, frozen=True):
    spec: AgentSpec
    runtime: Runtime

    def result_limit(self) -> ResultLimit:
        """Return how long the result of a call may be. It follows the window, which may become known later."""
        budget, limits = self.runtime.budget, self.spec.limits
        if budget is None:
            return result_limit(0, limits)
        return result_limit(budget.window, limits, family=budget.family)
