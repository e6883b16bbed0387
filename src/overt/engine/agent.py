"""An agent: everything a turn needs, bundled and frozen."""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from overt.context.assemble import Assembler
from overt.context.budget import Budget
from overt.core.effects import Effect
from overt.core.history import History, Mark
from overt.core.messages import Message
from overt.core.ports import Hands, Provider
from overt.core.requests import Params, Prefix
from overt.core.settings import Calls, Limits, Price
from overt.core.tool import Tool
from overt.engine.decision import PermissionGate
from overt.engine.lead import AnswerCheck, Lead
from overt.engine.room import Room
from overt.engine.spend_limit import SpendLimit
from overt.lib.result_limit import ResultLimit, result_limit


class Agent(Struct, frozen=True, kw_only=True):
    """`effects` is all this agent may hold: a tool that needs more does not exist for it.

    `hide` takes the keys in use out of whatever a tool brings back. `calls` is how the model calls tools, and
    `lead` what leads it there; `flatten`: it was told of the tools with dotted names. `budget` counts what fits into
    the window. `updates` gives what joins before a request: rules of folders that the history has come to since it
    was last asked, and facts that have changed.
    `room` remembers when room was made for a request, `price` what its tokens cost, and `marks` where turns began.
    `printed` is what calls had printed when they were interrupted, by their ids.
    `efforts` are the levels of thought that the model knows; None: it takes none. `spend_limit`
    refuses a request once the session has cost too many dollars.
    """

    path: str
    provider: Provider
    params: Params
    prefix: Prefix
    tools: dict[str, Tool]
    effects: frozenset[Effect]
    limits: Limits
    gate: PermissionGate
    hands: Hands
    assembler: Assembler
    hide: Callable[[str], str]
    calls: Calls = "native"
    lead: Lead | None = None
    checks: tuple[AnswerCheck, ...] = ()
    flatten: bool = False
    budget: Budget | None = None
    updates: "Callable[[Agent, History], tuple[Message, ...]] | None" = None
    room: Room = field(default_factory=Room)
    price: Price | None = None
    marks: Callable[[], Sequence[Mark]] = tuple
    printed: dict[str, str] = field(default_factory=dict)
    efforts: tuple[str, ...] | None = ()
    is_small: bool = False
    spend_limit: SpendLimit | None = None

    def result_limit(self) -> ResultLimit:
        """What the result of a call may take; the window may have become known since the last one."""
        if self.budget is None:
            return result_limit(0, self.limits)
        return result_limit(self.budget.window, self.limits, family=self.budget.family)
