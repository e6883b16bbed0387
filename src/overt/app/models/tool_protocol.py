"""How a model calls tools: natively, by a schema, or in its text, and with help where it is small."""

from collections.abc import Callable, Mapping

from msgspec import Raw, Struct
from msgspec.structs import replace

from overt.agent.agent import AnswerCheck, Lead
from overt.core.errors import ProviderError
from overt.core.history import History
from overt.core.messages import Message
from overt.core.protocols import Hands, Wire
from overt.core.requests import Prefix, ToolSpec
from overt.core.settings import Calls, Limits, ModelFacts, Quirks
from overt.core.tool import Tool

NEXT: dict[tuple[str, Calls], Calls] = {
    ("tools", "native"): "schema",
    ("form", "native"): "text",
    ("form", "schema"): "text",
}
"""Kind of refusal and the way that was refused → the way to try next."""


class ToolProtocol(Struct, frozen=True, kw_only=True):
    calls: Calls = "native"
    compact: bool = False
    flatten: bool = False

    def after(self, error: ProviderError) -> "ToolProtocol | None":
        """Another way to call tools when a server refused this one."""
        calls = NEXT.get((error.kind, self.calls))
        return replace(self, calls=calls) if calls else None


class ScaffoldContext(Struct, frozen=True, kw_only=True):
    """What the guidance of a small model needs: file access, limits, which files may be shown without asking, and
    further tools that a task may need."""

    hands: Hands
    limits: Limits
    may_read: Callable[[str], bool]
    suggest_tools: Callable[[str, int], tuple[ToolSpec, ...]] = lambda task, limit: ()


class ProtocolParts(Struct, frozen=True, kw_only=True):
    """The parts of an agent that depend on how its model calls tools. `temperature` None leaves it to the server."""

    tools: dict[str, Tool]
    prefix: Prefix
    wire: Wire
    limits: Limits
    lead: Lead | None = None
    checks: tuple[AnswerCheck, ...] = ()
    temperature: float | None = None


class FormLead:
    """A model that calls tools by a JSON object in each reply needs the schema, and nothing else."""

    def __init__(self, specs: Mapping[str, ToolSpec]) -> None:
        from overt.context.reply_schema import form_of  # late: 0.2 ms

        self._form: Raw = form_of(specs)
        self._answer: Raw = form_of(specs, only_final=True)

    async def accompany(self, text: str) -> tuple[Message, ...]:
        return ()

    async def form(self, history: History, *, forced: bool) -> Raw | None:
        return self._answer if forced else self._form

    def forget(self) -> None:
        """Nothing goes along."""


def protocol_of(facts: ModelFacts) -> ToolProtocol:
    return ToolProtocol(
        calls=facts.calls or "native",
        compact=bool(facts.compact),
        flatten=bool(facts.quirks and facts.quirks.flatten),
    )


def efforts_of(about: ModelFacts, usual: Quirks) -> tuple[str, ...] | None:
    """The levels of thought that can be asked for; None where none is understood, () where nobody says which."""
    return about.efforts if (about.quirks or usual).effort and about.reasons is not False else None
