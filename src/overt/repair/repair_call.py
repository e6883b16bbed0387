"""One call as the model wrote it becomes a call that can be judged and run, or an answer that says why not.

What was cut is closed, and what is broken guessed at, only for a tool that does nothing but read: half a file
written, or half a command run, is worse than a call that has to be made again.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from overt.core.capabilities import Effect
from overt.core.codec import compact
from overt.core.messages import Call
from overt.core.tool import Tool, ToolLookup
from overt.repair._scan_limit import ScannedTools
from overt.repair.arguments import ParsedArguments, check, guess_broken, parse, shape
from overt.repair.flatten_schema import unflatten
from overt.repair.foreign_names import resolve_implied, tool_name
from overt.repair.shell_patch import find_shell_patch

READING: frozenset[Effect] = frozenset({"read"})

NO_APPLY_PATCH = (
    "apply_patch is no program here, so nothing was run. Call the patch tool with the text from `*** Begin Patch` to "
    "`*** End Patch`, then run the rest of the command with bash."
)


class MendedCall(Struct, frozen=True, kw_only=True):
    """Either `tool` and `args` are set, or `error` is. `unknown` is the name of a tool that there is not."""

    call: Call
    tool: Tool | None = None
    args: Any = None
    notes: tuple[str, ...] = ()
    error: str = ""
    unknown: str = ""


def mend(
    call: Call,
    tools: Mapping[str, Tool],
    *,
    cut: bool = False,
    flatten: bool = False,
    find_unlisted: ToolLookup = lambda name: None,
) -> MendedCall:
    """With `cut` the reply ended at its token limit; with `flatten` the model was shown dotted names.

    `find_unlisted` finds tools that the model has looked up; it may call them by their names or through a tool that
    forwards calls.
    """
    if "<arg_key>" in call.name:
        call = _spelled(call, tools, cut=cut)
    call = _of_server(call, tools, find_unlisted)
    if call.name not in tools and (unlisted := find_unlisted(call.name)):
        tools = {**tools, unlisted.name: unlisted}
    parsed = parse(call.arguments)
    known = ScannedTools(tools)
    name, given = resolve_implied(call.name, parsed.value or {}, known)
    name = tool_name(name, known)
    notes = (f"{call.name} → {name}",) if name != call.name else ()
    call = replace(call, name=name)
    tool = tools.get(name)
    if tool is None:
        return MendedCall(call=call, error=_no_such_tool(call.name, tools), unknown=call.name)
    if _only_reads(tool) and parsed.broken:
        parsed = guess_broken(parsed)
        given = resolve_implied(call.name, parsed.value or {}, known)[1]
    if error := _unfit(tool, parsed, call.arguments, at_limit=cut):
        return MendedCall(call=call, error=error)
    if tool.forwards and (inner := _forwarded_call(call, given)):
        if inner.name not in tools and find_unlisted(inner.name) is None:
            return MendedCall(call=call, error=_no_unlisted(inner.name, tools), unknown=inner.name)
        return mend(inner, tools, cut=cut, flatten=flatten, find_unlisted=find_unlisted)
    try:
        args, more = check(tool, unflatten(given) if flatten else given)
    except ValueError as error:
        return MendedCall(call=call, error=f"Invalid arguments for {name}: {error}")
    mended = MendedCall(call=call, tool=tool, args=args, notes=(*notes, *parsed.notes, *more))
    return _out_of_shell(mended, tools) if name == "bash" and "patch" in tools else mended


def _of_server(call: Call, tools: Mapping[str, Tool], find_unlisted: ToolLookup) -> Call:
    """Read `mcp.docker.run` and `docker.run` as the tool of a server; its last part may be a name of ours."""
    if "." not in call.name or call.name in tools:
        return call
    parts = call.name.removeprefix("mcp.").split(".")
    name = "__".join(("mcp", *parts))
    known = name in tools or find_unlisted(name) is not None
    return replace(call, name=name) if known or call.name.startswith("mcp.") else call


def _forwarded_call(call: Call, given: dict[str, object]) -> Call | None:
    """Return the call inside a call that is to be forwarded. Arguments that stand beside the name count too."""
    name, arguments = given.get("name"), given.get("arguments", {})
    if not isinstance(name, str) or not name or name == call.name:
        return None
    beside = {key: value for key, value in given.items() if key not in ("name", "arguments")}
    if isinstance(arguments, dict):
        arguments = compact(beside | arguments)
    return replace(call, name=name, arguments=arguments if isinstance(arguments, str) else compact(arguments))


def _no_unlisted(name: str, tools: Mapping[str, Tool]) -> str:
    return f"There is no tool called {_near(name)}. Find its exact name with toolsearch, or use: {', '.join(tools)}."


def _out_of_shell(mended: MendedCall, tools: Mapping[str, Tool]) -> MendedCall:
    """Turn `apply_patch` inside a command into a call of the patch tool: rules, diffs and undo know only that."""
    text = find_shell_patch(mended.args.command, getattr(mended.args, "workdir", ""))
    if text is None:
        return mended
    if not text:
        return MendedCall(call=mended.call, notes=mended.notes, error=NO_APPLY_PATCH)
    call = replace(mended.call, name="patch", arguments=compact({"patch": text}))
    args, _ = check(tools["patch"], {"patch": text})
    return MendedCall(call=call, tool=tools["patch"], args=args, notes=(*mended.notes, "apply_patch in bash → patch"))


def _spelled(call: Call, tools: Mapping[str, Tool], *, cut: bool) -> Call:
    """A call whose name the server read too far, over the markup of its arguments."""
    from overt.repair._reply_tail import find_calls  # late: 24 ms

    found, _ = find_calls(f"<tool_call>{call.name}{'' if cut else '</tool_call>'}", ScannedTools(tools))
    if call.arguments.strip(" {}\n") or not found or len(found[0].calls) != 1:
        return call
    name, arguments = found[0].calls[0]
    return replace(call, name=name, arguments=arguments)


def _unfit(tool: Tool, parsed: ParsedArguments, text: str, *, at_limit: bool) -> str:
    """Why arguments in this state are not used at all, or nothing."""
    readable = parsed.value is not None
    if readable and not parsed.cut and not parsed.unsure:
        return ""
    if readable and _only_reads(tool):
        return ""
    if at_limit or (parsed.cut and not _only_reads(tool)):
        where = "The reply was cut at its token limit" if at_limit else f"The call to {tool.name} was cut"
        why = f"{where}, so the arguments are incomplete and nothing was run."
        return f"{why} Send it again whole; if it is long, {tool.advice}."
    if readable or parsed.broken:
        return (
            f"The arguments of {tool.name} are broken JSON that can be read in more than one way, so nothing was run: "
            f'{_near(text)}. Escape quotes and backslashes inside strings (\\" and \\\\) and send it again. '
            f"Expected {shape(tool)}"
        )
    return f"Arguments are not a JSON object, nothing was run: {_near(text)}. Expected {shape(tool)}"


def _only_reads(tool: Tool) -> bool:
    return tool.effects <= READING and not tool.forwards


def _near(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:150] + " … " + text[-40:])


def _no_such_tool(name: str, tools: Mapping[str, Tool]) -> str:
    import difflib  # late: 0.7 ms

    near = difflib.get_close_matches(name[:100], tools, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"There is no tool called {_near(name)}.{hint} Tools: {', '.join(tools)}."
