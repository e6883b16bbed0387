"""Foreign names of tools and arguments become ours, where ours exist."""

from collections.abc import Collection
from functools import cache

from overt.repair._scan_limit import ScannedTools, letters
from overt.repair.argument_names import OUR_ARGUMENTS, OUR_VALUES

ENDS = ("end_line", "endLine", "end", "EndLine", "end_line_one_indexed", "to_line", "last_line")
RANGES = ("view_range", "line_range", "range", "lines")


def tool_name(name: str, tools: ScannedTools) -> str:
    """The tool that was meant, or the name as it came when no tool of ours fits."""
    if name in tools:
        return name
    bare = name.partition("<")[0].strip().strip("\"'`")
    head, colon, number = bare.rpartition(":")
    if colon and number.isdigit():
        bare = head
    bare = bare.removesuffix("()").removesuffix(".call")
    for candidate in (bare, *(bare.rpartition(mark)[2] for mark in ".:/")):
        for spelling in (candidate, candidate.lower()):
            if spelling in tools.names:
                return tools.names[spelling]
    return tools.spelled.get(letters(bare.rpartition(".")[2]), name)


@cache
def _arguments_spelled() -> dict[str, str]:
    return {letters(foreign): ours for foreign, ours in reversed(OUR_ARGUMENTS.items())}


def resolve_implied(name: str, given: dict[str, object], tools: ScannedTools) -> tuple[str, dict[str, object]]:
    """Of a foreign tool, the one of ours that its arguments name, and the arguments its name holds."""
    if name in tools:
        return name, given
    meant = tools.get(tool_name(name, tools))
    if meant is None:
        return name, given
    for tool in tools.values():
        for key, values in tool.meant_by.items():
            if key in given and key not in meant.args.__struct_fields__ and (not values or given[key] in values):
                return tool.name, {other: value for other, value in given.items() if other != key or not values}
    return name, {**meant.implied.get(name, {}), **given}


def argument_names(given: dict[str, object], known: Collection[str]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Arguments under our names, and what was renamed; a name of ours that is given is never overwritten."""
    given, notes = _lines(given, known)
    renamed: dict[str, object] = {}
    for name, value in given.items():
        ours = OUR_ARGUMENTS.get(name) or _near(name, known)
        if name not in known and ours in known and ours not in given and ours not in renamed:
            renamed[ours] = value
            notes.append(f"{name} → {ours}")
        else:
            renamed[name] = value
    return renamed, tuple(notes)


def our_value(argument: str, value: object) -> str:
    """Return our word for a foreign value of this argument, or an empty string."""
    return OUR_VALUES.get(argument, {}).get(value.strip().lower(), "") if isinstance(value, str) else ""


def _near(name: str, known: Collection[str]) -> str:
    """The same argument in another spelling, ours or a foreign one: `FilePath`, `old-string`."""
    wanted = letters(name)
    for ours in known:
        if letters(ours) == wanted:
            return ours
    return _arguments_spelled().get(wanted, name)


def _lines(given: dict[str, object], known: Collection[str]) -> tuple[dict[str, object], list[str]]:
    """First and last line, as other readers take them, as our first line and number of lines."""
    if "offset" not in known or "limit" not in known or "limit" in given:
        return given, []
    for name in RANGES:
        pair = given.get(name)
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, int) for each in pair):
            kept = {key: value for key, value in given.items() if key != name}
            length = {"limit": pair[1] - pair[0] + 1} if pair[1] >= pair[0] else {}
            return {**kept, "offset": max(pair[0], 1), **length}, [f"{name} → offset, limit"]
    for name in ENDS:
        last = _count(given.get(name))
        if last is None or name in known:
            continue
        starts = [_count(value) for key, value in given.items() if OUR_ARGUMENTS.get(key, key) == "offset"]
        first = max(starts[0] if starts and starts[0] is not None else 1, 1)
        kept = {key: value for key, value in given.items() if key != name}
        return ({**kept, "limit": last - first + 1} if last >= first else kept), [f"{name} → limit"]
    return given, []


def _count(value: object) -> int | None:
    if isinstance(value, str) and value.strip().isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
