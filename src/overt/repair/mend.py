"""One call as the model wrote it becomes a call that can be judged and run, or an answer that says why not."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from overt.core.late import late
from overt.core.messages import Call
from overt.core.tool import Tool
from overt.repair.arguments import check, parse, shape
from overt.repair.names import tool_name


class Mended(Struct, frozen=True, kw_only=True):
    """Either `tool` and `args` are set, or `error` is."""

    call: Call
    tool: Tool | None = None
    args: Any = None
    notes: tuple[str, ...] = ()
    error: str = ""


def mend(call: Call, tools: Mapping[str, Tool], *, cut: bool = False) -> Mended:
    """With `cut` the reply ended at the token limit, so unreadable arguments are a truncation."""
    name = tool_name(call.name, tools)
    notes = (f"{call.name} → {name}",) if name != call.name else ()
    call = replace(call, name=name)
    tool = tools.get(name)
    if tool is None:
        return Mended(call=call, error=_no_such_tool(call.name, tools))
    given, note = parse(call.arguments)
    if given is None:
        why = "The reply was cut at its token limit, so the arguments are incomplete and nothing was run. "
        plain = f"Arguments are not a JSON object, nothing was run: {call.arguments[:200]!r}. "
        again = "Send it again in smaller pieces." if cut else f"Expected {shape(tool)}"
        return Mended(call=call, error=(why if cut else plain) + again)
    try:
        args, more = check(tool, given)
    except ValueError as error:
        return Mended(call=call, error=f"Invalid arguments for {name}: {error}")
    return Mended(call=call, tool=tool, args=args, notes=(*notes, *((note,) if note else ()), *more))


def _no_such_tool(name: str, tools: Mapping[str, Tool]) -> str:
    near = late("difflib").get_close_matches(name, tools, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"There is no tool called {name!r}.{hint} Tools: {', '.join(tools)}."
