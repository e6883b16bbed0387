"""What a tool is: typed arguments, one function, and the effects its signature asks for."""

from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from msgspec import Raw, Struct

from overt.core.capabilities import EFFECT_OF, Blocked, Effect
from overt.core.messages import Document, Image
from overt.core.requests import ToolSpec
from overt.core.schema import schema
from overt.core.views import View


class Outcome(Struct, frozen=True, kw_only=True):
    """The model's text and the person's view, together. `parts` are images or documents for the model.

    `blocked` is what the sandbox refused a program, so that running it with wider access can be offered.
    `repaired` says what the tool had to put right in what the model asked for. `ended` and `unchanged` as in `Result`.
    """

    text: str
    view: View
    parts: tuple[Image | Document, ...] = ()
    blocked: Blocked | None = None
    repaired: str = ""
    ended: str = ""
    unchanged: bool = False


class Arguments(Protocol):
    """Every tool's argument struct: `subjects` are the paths or the command that rules match."""

    def subjects(self) -> tuple[str, ...]: ...


class Tool(Struct, frozen=True, kw_only=True):
    """`needs` maps a parameter of `run` to the effect that fills it."""

    name: str
    args: type[Any]
    needs: dict[str, Effect]
    run: Callable[..., Awaitable[Outcome]]
    spec: ToolSpec

    @property
    def effects(self) -> frozenset[Effect]:
        return frozenset(self.needs.values())


A = TypeVar("A", bound=Arguments)
P = ParamSpec("P")


def tool(function: Callable[Concatenate[A, P], Awaitable[Outcome]]) -> Tool:
    """Make a tool of a function; its docstring is what the model is told."""
    hints = dict(function.__annotations__)
    hints.pop("return", None)
    (_, args), *capabilities = hints.items()
    name: str = getattr(function, "__name__").rstrip("_")  # noqa: B009 - Callable promises no __name__
    spec = ToolSpec(
        name=name,
        description=" ".join((function.__doc__ or "").split()),
        schema=Raw(schema(args)),
    )
    needs = {parameter: EFFECT_OF[hint] for parameter, hint in capabilities}
    return Tool(name=name, args=args, needs=needs, run=function, spec=spec)
