"""What a tool is: typed arguments, one function, the effects its signature asks for, and what else is true of it."""

from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from msgspec import Raw, Struct
from msgspec.structs import replace

from overt.core.capabilities import EFFECT_OF, Blocked, Effect
from overt.core.codec import compact
from overt.core.messages import Document, Image
from overt.core.requests import ServerTarget, ToolSpec
from overt.core.schema import schema
from overt.core.views import View

LONGEST_VALUE = 200
"""Characters of an argument that a person is shown in one line."""


class Outcome(Struct, frozen=True, kw_only=True):
    """The model's text and the person's view, together. `parts` are images or documents for the model.

    `blocked` is what the sandbox refused a program, so that running it with wider access can be offered.
    `repaired` says what the tool had to put right in what the model asked for. `ended`, `unchanged` and `outside` as in
    `Result`.
    """

    text: str
    view: View
    parts: tuple[Image | Document, ...] = ()
    blocked: Blocked | None = None
    repaired: str = ""
    ended: str = ""
    unchanged: bool = False
    outside: str = ""


class Arguments(Protocol):
    """Every tool's argument struct: `subjects` are the paths or the command that rules match."""

    def subjects(self) -> tuple[str, ...]: ...


class JsonArguments(Struct, frozen=True):
    """The arguments of a tool that comes with a JSON schema instead of a struct."""

    values: dict[str, object]

    def subjects(self) -> tuple[str, ...]:
        """Return a line for each argument, for a person."""
        return tuple(f"{name}: {_in_one_line(value)}" for name, value in self.values.items())


def _in_one_line(value: object) -> str:
    text = value if isinstance(value, str) else compact(value)
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_VALUE else line[: LONGEST_VALUE - 1] + "…"


A = TypeVar("A", bound=Arguments)
P = ParamSpec("P")


class Tool(Struct, frozen=True, kw_only=True):
    """A tool, with all that the rest of the program knows about it. Only the first five fields have no default.

    `needs` maps a parameter of `run` to the effect that fills it. `order` sorts the tools as the model is told of them.

    `aliases` are names that other agents have for the tool; the first is Claude Code's. Models call it by them, rules
    and recorded sessions name it by them. `implied` has the arguments that an alias stands for: `KillShell` is `jobs`
    with `{"action": "stop"}`. `meant_by` has arguments that show that this tool was meant, whatever the alias: the
    argument's name, and the values that it must have, or none for any.

    `permission` is the name by which rules know tools of this kind together: `bash` if the subject is a shell command,
    `edit` for every tool that writes files unless it says otherwise, else its own name. With a subject that is listed
    in `harmless`, a call changes nothing although the tool could; with `*` no call does.

    A `rare` tool is not in the list that the model is sent: it is looked up with `toolsearch`. A tool that `forwards`
    runs another one: its arguments are the `name` and the `arguments` of that. `server` is the origin of a tool of an
    MCP server.

    `advice` tells the model what to do if a call was too long to arrive whole. `past` says what was done with the
    files that a call names: "edited". A `rare` tool is not in the list that a model gets, unless `tools.enabled` names
    it.
    """

    name: str
    args: type[Any]
    needs: dict[str, Effect]
    run: Callable[..., Awaitable[Outcome]]
    spec: ToolSpec
    order: int = 1000
    aliases: tuple[str, ...] = ()
    implied: dict[str, dict[str, str]] = {}
    meant_by: dict[str, tuple[str, ...]] = {}
    permission: str = ""
    harmless: tuple[str, ...] = ()
    advice: str = "send it again in smaller pieces"
    past: str = ""
    rare: bool = False
    forwards: bool = False
    server: ServerTarget | None = None

    @property
    def effects(self) -> frozenset[Effect]:
        return frozenset(self.needs.values())

    @property
    def family(self) -> str:
        """The name of the rules that speak of this tool and of others like it."""
        return self.permission or ("edit" if "write" in self.effects else self.name)

    def variant(self, function: Callable[Concatenate[A, P], Awaitable[Outcome]]) -> "Tool":
        """Make this tool of another function: for models that need other arguments."""
        other = tool(function)
        return replace(self, args=other.args, needs=other.needs, run=other.run, spec=other.spec)


ToolLookup = Callable[[str], Tool | None]
"""Finds a tool by its name or by an alias."""


class Facets(TypedDict, total=False):
    """What `@tool(…)` takes: fields of `Tool`, with the aliases in one text."""

    order: int
    aliases: str
    implied: dict[str, dict[str, str]]
    meant_by: dict[str, tuple[str, ...]]
    permission: str
    harmless: tuple[str, ...]
    advice: str
    past: str
    rare: bool
    forwards: bool


@overload
def tool(function: Callable[Concatenate[A, P], Awaitable[Outcome]], /) -> Tool: ...
@overload
def tool(**facets: Unpack[Facets]) -> Callable[[Callable[Concatenate[A, P], Awaitable[Outcome]]], Tool]: ...
def tool(function: Callable[..., Awaitable[Outcome]] | None = None, /, **facets: Any) -> Any:
    """Make a tool of a function: `@tool`, or `@tool(aliases="Read view", past="read")` to say more about it.

    The name of the function is that of the tool, and its docstring is what the model is told.
    """
    if function is None:
        return lambda function: replace(
            tool(function), **facets | {"aliases": tuple(facets.get("aliases", "").split())}
        )
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
