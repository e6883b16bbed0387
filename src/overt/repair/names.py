"""Foreign names of tools and arguments become ours, where ours exist."""

from collections.abc import Collection
from functools import cache

from overt.core.foreign import COMMANDED, IMPLIED, OUR_ARGUMENTS, OUR_VALUES, OURS, TOOLS, our_tool

REGEXES = {"regex", "regexp", "regex_pattern"}
ENDS = ("end_line", "endLine", "end", "EndLine", "end_line_one_indexed", "to_line", "last_line")
RANGES = ("view_range", "line_range", "range", "lines")


def tool_name(name: str, tools: Collection[str]) -> str:
    """The tool that was meant, or the name as it came when no tool of ours fits."""
    if name in tools:
        return name
    bare = name.partition("<")[0].strip().strip("\"'`")
    head, colon, number = bare.rpartition(":")
    if colon and number.isdigit():
        bare = head
    bare = bare.removesuffix("()").removesuffix(".call")
    for candidate in (bare, *(bare.rpartition(mark)[2] for mark in ".:/")):
        for found in (candidate, our_tool(candidate), candidate.lower(), our_tool(candidate.lower())):
            if found in tools:
                return found
    return _squashed(bare, tools) or name


def _squashed(name: str, tools: Collection[str]) -> str:
    """The same name in another spelling: `ReadFile`, `read-file`, `readfile`."""
    wanted = _letters(name.rpartition(".")[2])
    known = next((ours for ours in _tools_spelled().get(wanted, ()) if ours in tools), "")
    return known or next((each for each in tools if _letters(each) == wanted), "")


@cache
def _tools_spelled() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for foreign, ours in (*((ours, ours) for ours in TOOLS), *OURS.items()):
        found.setdefault(_letters(foreign), []).append(ours)
    return found


@cache
def _arguments_spelled() -> dict[str, str]:
    return {_letters(foreign): ours for foreign, ours in reversed(OUR_ARGUMENTS.items())}


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def implied(name: str, given: dict[str, object], tools: Collection[str]) -> tuple[str, dict[str, object]]:
    """Of a foreign tool, the one of ours that its arguments name, and the arguments its name holds."""
    if name in tools:
        return name, given
    ours = COMMANDED.get(name, {}).get(str(given.get("command")), "")
    if ours in tools:
        return ours, {key: value for key, value in given.items() if key != "command"}
    if tool_name(name, tools) == "glob" and "grep" in tools and REGEXES & given.keys():
        return "grep", given
    more = IMPLIED.get(name, {})
    return name, given if not more else {**more, **given}


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
    wanted = _letters(name)
    for ours in known:
        if _letters(ours) == wanted:
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
