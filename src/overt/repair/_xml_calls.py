"""Calls written as elements: `<function=…>`, `<invoke name=…>`, `<tool_call>` around anything, tags named like tools.

Every reader here takes the text and a place, and gives where the markup ends and the calls it holds, or None when
what stands there is no call. An element that was not closed gives arguments that are not closed either.
"""

import re
from typing import NamedTuple

from overt.repair._call_objects import (
    CallText,
    from_broken,
    from_python,
    from_value,
    is_argument,
    make_call,
    required,
    value_at,
)
from overt.repair._loose_json import BrokenJson, CutObject
from overt.repair._scan_limit import ScannedTools
from overt.repair.argument_names import OUR_ARGUMENTS
from overt.repair.foreign_names import tool_name

SPACE = r"(?:\]<\]minimax\[>\[\s*)?<{slash}(?:[\w-]+:|[｜|]\s*DSML\s*[｜|]\s*)?"
OPEN, CLOSE, EITHER = (SPACE.format(slash=slash) for slash in ("", "/", "/?"))
AROUND = (
    r"tool_calls?|toolcalls?|TOOL_?CALLS?|function_calls?|functioncalls?|longcat_tool_call|tools?|functions?|tool_use"
    r"|use_tool|calls?|tool_code|tool_request|execute_tool|invoke_tool|toolCall|xml"
)
CONTAINER = re.compile(rf"{OPEN}(?:{AROUND})\s*>")
ELEMENT = re.compile(
    rf"""{OPEN}(?:function|invoke|tool_call|tool|call|tool_use|function_call|use_tool)"""
    rf"""(?:=\s*+["']?([\w.:/-]++)["']?\s*+|\s++(?:name|tool|function|tool_name)\s*+=\s*+["']?([\w.:/-]++)["']?[^<>]*+)>"""
)
ENDS = re.compile(rf"{CLOSE}(?:{AROUND}|invoke)\s*>")
LAST_END = re.compile(rf"(?<!\s)\s*+{CLOSE}(?:{AROUND}|invoke)\s*+>\s*+\Z")
TURN = re.compile(r"<\|(?:im_end|eot_id|eom_id|end|call|endoftext|eos)\|>|</s>")
PARAMETER = re.compile(
    rf"""{OPEN}(?:parameter|param|arg|argument)(?:=\s*+["']?([\w.$-]++)["']?|\s++name\s*+=\s*+["']([^"'<>]++)["'])[^<>]*+>"""
)
PARAMETER_TAG = re.compile(rf"{EITHER}(?:parameter|param|arg|argument)\b[^<>]*+>")
PARAMETER_END = re.compile(rf"{CLOSE}(?:parameter|param|arg|argument)\s*>")
HOLDER = re.compile(rf"{OPEN}/?(?:arguments|parameters|args|params|input)\s*>")
HOLDER_END = re.compile(rf"{CLOSE}(?:arguments|parameters|args|params|input)\s*>")
AROUND_ARGUMENTS = re.compile(rf"{EITHER}(?:args|arguments|parameters|file)\s*>(?=\s*<)")
CHILD = re.compile(rf"{OPEN}([A-Za-z_]\w*)\s*>")
NAMED = re.compile(r"\s*+<(name|tool_name|function_name|tool)>\s*([\w.:/-]+)\s*</\1>\s*")
GLM = re.compile(r"([A-Za-z_][\w.:-]*+)\s*+(?=<arg_key>|</|\{|$)")
RUN_ON = re.compile(
    r"([A-Za-z_]\w{1,60}+)(?:\s{1,4}(?:<tool_call>\s?)?|<tool_call>\s?)?([A-Za-z_]\w{1,60}+)?(?=</arg_key>)"
)
KEY = re.compile(r"\s*+(?:<arg_key>)?([^<>]{0,100}+)</arg_key>\s*+(?:<arg_value>)?")
VALUE_END = re.compile(r"</arg_value>")
VALUE_TAG = re.compile(r"</?arg_value>")
FENCE = re.compile(r"```[\w-]*\s*")
LEFT = re.compile(r"(?:[\s,;}]|\](?!<\]))*+(?:```\s*+)?")
BLANK = re.compile(r"\s*+")
BETWEEN = re.compile(r"[\s,;]*")
VERBATIM = {"content", "old_string", "new_string", "patch", "command", "pattern"}
MOST, STRANGE = 200, 5
"""Calls one container may hold, and arguments one call may have; tags in it that are none."""
SHORT = {"path", "offset", "limit", "timeout", "replace_all", "run_in_background", "mode", "depth", "ignore_case"}


class MarkupSpan(NamedTuple):
    end: int
    calls: list[CallText]


def container(text: str, at: int, tools: ScannedTools, depth: int = 0) -> MarkupSpan | None:
    """What stands in an opened `<tool_call>`, `<function_calls>` or the like, up to its end."""
    calls: list[CallText] = []
    while len(calls) < MOST:
        at = _skip(text, at)
        if at >= len(text):
            break
        if end := ENDS.match(text, at):
            at = end.end()
            break
        inner = _item(text, at, tools, depth)
        if inner is None:
            break
        at = inner.end
        calls += inner.calls
    return MarkupSpan(skip_closing_tags(text, at), calls) if calls else None


def _item(text: str, at: int, tools: ScannedTools, depth: int) -> MarkupSpan | None:
    if found := ELEMENT.match(text, at):
        return element(text, found.end(), found[1] or found[2], tools)
    if (found := CONTAINER.match(text, at)) and depth < 3:
        return container(text, found.end(), tools, depth + 1)
    if text[at] in "{[":
        return values(text, at, tools) or _python(text, at, tools)
    if found := NAMED.match(text, at):
        return element(text, found.end(), found[2], tools)
    if (found := GLM.match(text, at)) and tool_name(found[1], tools) in tools:
        if text.startswith("{", found.end()):
            return element(text, found.end(), found[1], tools)
        return _glm(text, found.end(), found[1], tools)
    if (found := RUN_ON.match(text, at)) and (split := _run_on(found, tools)):
        return _glm(text, split[1], split[0], tools)
    return tag(text, at, tools) or _python(text, at, tools)


def values(text: str, at: int, tools: ScannedTools, ending: re.Pattern[str] = ENDS) -> MarkupSpan | None:
    """One JSON value that is a call or a list of calls, whatever state it is in."""
    if text[at : at + 1] not in ("{", "["):
        return None
    try:
        value, end = value_at(text, at, tools)
    except BrokenJson:
        end = before_end(text, at, tools, ending)
        found = from_broken(text[at:end], tools)
    else:
        found = from_value(value, tools, "marked")
    return MarkupSpan(end, found) if found else None


def element(text: str, at: int, name: str, tools: ScannedTools) -> MarkupSpan | None:
    """The body of `<function=name>`, `<invoke name=…>` or the like."""
    if tool_name(name, tools) not in tools:
        return None
    given: dict[str, object] = {}
    whole = False
    for _ in range(MOST):
        at = _skip(text, at)
        if found := PARAMETER.match(text, at):
            key = found[1] or found[2]
            tags = (PARAMETER_TAG, PARAMETER_END)
            at, value, whole = _value(text, found.end(), key, tags, always=bool(found[1]))
            tools.spend(at - found.end())
            given[key] = value
            if not whole:
                break
        elif found := HOLDER.match(text, at):
            at = found.end()
        elif text.startswith("{", at) and not given:
            inner = arguments(text, at, name, tools, ENDS)
            return inner and MarkupSpan(skip_closing_tags(text, inner.end), inner.calls)
        elif whole := bool(at < len(text) and (ENDS.match(text, at) or ELEMENT.match(text, at))):
            at = at if ELEMENT.match(text, at) else skip_closing_tags(text, at)
            break
        elif (found := CHILD.match(text, at)) and is_argument(found[1], tools[tool_name(name, tools)]):
            at, value, whole = _value(text, found.end(), found[1], _tags(found[1]), always=False)
            tools.spend(at - found.end())
            given[found[1]] = value
            if not whole:
                break
        else:
            whole = False
            if at < len(text):
                return None
            break
    else:
        return None
    whole = whole and not _early(text, at, tools)
    call = make_call(name, given if whole else CutObject(given), tools)
    return MarkupSpan(at, [call]) if call else None


def _early(text: str, at: int, tools: ScannedTools) -> bool:
    """An end of an argument with no beginning behind the call: one of its arguments did not end where it seemed to."""
    found = PARAMETER_TAG.search(text, at)
    tools.spend((found.start() if found else len(text)) - at)
    return found is not None and PARAMETER_END.match(found[0]) is not None


def arguments(text: str, at: int, name: str, tools: ScannedTools, ending: re.Pattern[str]) -> MarkupSpan | None:
    """The JSON object of arguments that begins here, whatever state it is in."""
    if tool_name(name, tools) not in tools or not text.startswith("{", at):
        return None
    try:
        value, end = value_at(text, at, tools)
    except BrokenJson:
        end = before_end(text, at, tools, ending)
        return MarkupSpan(end, [CallText(tool_name(name, tools), text[at:end].strip())])
    if ending is ENDS and (inner := from_value(value, tools, "block")):
        return MarkupSpan(end, inner)
    call = make_call(name, value, tools) if isinstance(value, dict) else None
    return MarkupSpan(end, [call]) if call else None


def tag(text: str, at: int, tools: ScannedTools) -> MarkupSpan | None:
    """`<read><path>a.py</path></read>`: a tag named like a tool around tags named like its arguments."""
    found = CHILD.match(text, at)
    tool = tools.get(tool_name(found[1], tools)) if found else None
    if not found or not tool:
        return None
    ending = re.compile(rf"\s*{CLOSE}{re.escape(found[1])}\s*>")
    given: dict[str, object] = {}
    whole, at, strange = True, found.end(), 0
    while whole and not (end := ending.match(text, at)):
        at = _skip(text, at)
        if around := AROUND_ARGUMENTS.match(text, at):
            at = around.end()
            continue
        child = CHILD.match(text, at)
        strange += child is not None and not is_argument(child[1], tool)
        if strange > STRANGE or (child is None and at < len(text)):
            return None
        if child is None:
            whole = False
            break
        at, given[child[1]], whole = _value(text, child.end(), child[1], _tags(child[1]), always=False)
        tools.spend(at - child.end())
    known = {OUR_ARGUMENTS.get(key, key) for key in given if is_argument(key, tool)} | given.keys()
    lacking = whole and "_" not in found[1] and not known >= set(required(tool))
    if not any(is_argument(key, tool) for key in given) or lacking:
        return None
    call = make_call(found[1], given if whole else CutObject(given), tools)
    stop = end.end() if whole and end else len(text)
    return MarkupSpan(skip_closing_tags(text, stop), [call]) if call else None


def _glm(text: str, at: int, name: str, tools: ScannedTools) -> MarkupSpan | None:
    given: dict[str, object] = {}
    whole = True
    while whole and len(given) < MOST and (found := KEY.match(text, at)):
        key = found[1].strip()
        at, given[key], whole = _value(text, found.end(), key, (VALUE_TAG, VALUE_END), always=False)
        tools.spend(at - found.start())
    whole = whole and bool(ENDS.match(text, _skip(text, at)))
    call = make_call(name, given if whole else CutObject(given), tools)
    return MarkupSpan(at, [call]) if call else None


def _run_on(found: re.Match[str], tools: ScannedTools) -> tuple[str, int] | None:
    """`greppattern</arg_key>`: the mark between the tool's name and its first argument's is missing."""
    if found[2]:
        ours = tool_name(found[1], tools)
        return (found[1], found.start(2)) if ours in tools and is_argument(found[2], tools[ours]) else None
    word = found[1]
    for size in range(len(word) - 1, 1, -1):
        ours = tool_name(word[:size], tools)
        if ours in tools and is_argument(word[size:], tools[ours]):
            return word[:size], found.start() + size
    return None


def _tags(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Every tag of this name, and its closing one."""
    word = re.escape(name)
    return re.compile(rf"{EITHER}{word}(?:\s[^<>]*+)?>"), re.compile(rf"{CLOSE}{word}\s*>")


def _value(
    text: str, at: int, key: str, tags: tuple[re.Pattern[str], re.Pattern[str]], *, always: bool
) -> tuple[int, str, bool]:
    """The text of one argument, where it ends, and whether it was ended.

    A file may hold the same tags: those that open inside are closed inside, and an end counts only when another
    tag or nothing follows. A path or a number holds none, so there the next tag of the kind is the end. The line
    break after the opening tag and the one before the closing tag are layout where the form has them `always`,
    or where the first is there.
    """
    plain = OUR_ARGUMENTS.get(key, key) in SHORT
    end: re.Match[str] | None = None
    depth, place = 0, at
    while found := tags[0].search(text, place):
        place = found.end()
        closing = tags[1].match(text, found.start()) is not None
        if plain and not closing:
            return found.start(), text[at : found.start()].strip(), True
        if not closing:
            depth += not found[0].endswith("/>")
        elif depth:
            depth -= 1
        elif plain or text[place : place + 200].lstrip()[:1] in ("<", "", "]"):
            end = found
            break
    value = text[at : end.start() if end else len(text)]
    for _ in range(0 if end else 20):
        near = value[-200:]
        if not (tail := LAST_END.search(near)):
            break
        value = value[: len(value) - len(near) + tail.start()]
    if always or value.startswith("\n"):
        value = value.removeprefix("\n")
        value = value.removesuffix("\n") if end else value
    if OUR_ARGUMENTS.get(key, key) not in VERBATIM and "\n" not in value:
        value = value.strip()
    return (end.end() if end else len(text)), value, end is not None


def _python(text: str, at: int, tools: ScannedTools) -> MarkupSpan | None:
    stop = before_end(text, at, tools, ENDS)
    found = from_python(text[at:stop], tools, "marked")
    return MarkupSpan(stop, found) if found else None


def before_end(text: str, at: int, tools: ScannedTools, ending: re.Pattern[str]) -> int:
    """Where a call that cannot be read ends: before the tag that closes it or the end of the turn."""
    tools.spend(len(text) - at)
    ends = [found.start() for found in (ending.search(text, at + 1), TURN.search(text, at)) if found]
    return min(ends, default=len(text))


def _skip(text: str, at: int) -> int:
    at = _ended(BETWEEN, text, at)
    return _ended(BETWEEN, text, found.end()) if (found := FENCE.match(text, at)) else at


def skip_blank(text: str, at: int) -> int:
    return _ended(BLANK, text, at)


def _ended(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def skip_closing_tags(text: str, at: int) -> int:
    """Past every closing tag and end of turn that follows."""
    while True:
        place = _ended(LEFT, text, at)
        found = ENDS.match(text, place) or TURN.match(text, place) or HOLDER_END.match(text, place)
        if not found:
            return at
        at = found.end()
