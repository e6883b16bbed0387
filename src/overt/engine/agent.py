"""An agent: everything a turn needs, bundled and frozen."""

from collections.abc import Callable

from msgspec import Struct

from overt.context.assemble import Assembler
from overt.core.effects import Effect
from overt.core.ports import Hands, Provider
from overt.core.requests import Params, Prefix
from overt.core.settings import Calls, Limits
from overt.core.tool import Tool
from overt.engine.gate import Gate
from overt.engine.lead import Lead


class Agent(Struct, frozen=True, kw_only=True):
    """`effects` is all this agent may hold: a tool that needs more does not exist for it.

    `hide` takes the keys in use out of whatever a tool brings back. `calls` is how the model calls tools, and
    `lead` what leads it there; `flatten`: it was told of the tools with dotted names.
    """

    path: str
    provider: Provider
    params: Params
    prefix: Prefix
    tools: dict[str, Tool]
    effects: frozenset[Effect]
    limits: Limits
    gate: Gate
    hands: Hands
    assembler: Assembler
    hide: Callable[[str], str]
    calls: Calls = "native"
    lead: Lead | None = None
    flatten: bool = False
