"""What a call asks for, read from the values models write: JSON objects of many shapes, and Python calls.

How freely a shape is believed depends on where it stands: inside a model's own markup (`marked`) the shortest
forms count, as the whole of a reply (`whole`) those that name their tool clearly, and as the last block under
prose (`block`) only those that cannot be anything else.
"""

import ast
import re
import warnings
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import json

from overt.core.codec import compact
from overt.core.tool import Tool
from overt.repair._loose_json import BrokenJson, CutObject, read
from overt.repair._scan_limit import ScannedTools
from overt.repair.argument_names import OUR_ARGUMENTS
from overt.repair.foreign_names import resolve_implied, tool_name

Trust = Literal["marked", "whole", "block"]

LISTS = ("tool_calls", "tool_uses", "function_calls", "calls", "actions", "toolCalls")
NAMES = ("name", "tool_name", "function_name", "tool", "function", "recipient_name", "toolName", "func")
REACT = ("action", "action_input")
"""`command` and `action` name all sorts of things in data; only together these two name a tool."""
CLEAR = ("tool", "tool_name", "function_name", "toolName", "recipient_name")
INPUTS = (
    "arguments", "parameters", "args", "params", "input", "tool_input", "action_input", "kwargs", "tool_args",
    "toolInput", "function_args", "inputs", "argument", "tool_parameters", "function_arguments",
)  # fmt: skip
BESIDE = {
    "id", "type", "index", "call_id", "tool_call_id", "thought", "thoughts", "reasoning", "explanation", "status",
    "role", "content", "refusal", "finish_reason", "rationale", "object",
}  # fmt: skip
BROKEN = re.compile(
    r"""["'](?:name|tool|tool_name|function_name)["']\s*:\s*["']([\w.:-]+)["']\s*,\s*"""
    r"""["'](?:arguments|parameters|args|params|input)["']\s*:\s*(?=["'{])"""
)
LONGEST, CALLS, PARSING = 50_000, 200, 5
"""Characters of Python that are parsed; calls one value may hold; how much more parsing costs than reading."""


class CallText(NamedTuple):
    """`name` is a tool that exists; `arguments` is JSON text, unclosed when it was cut."""

    name: str
    arguments: str


def make_call(name: str, given: dict[str, object], tools: ScannedTools) -> CallText | None:
    ours, given_as_ours = resolve_implied(name, given, tools)
    ours = tool_name(ours, tools)
    if ours not in tools:
        return None
    return CallText(ours, encode_arguments(CutObject(given_as_ours) if isinstance(given, CutObject) else given_as_ours))


def encode_arguments(given: dict[str, object]) -> str:
    text = compact(given)
    return text[:-1] if isinstance(given, CutObject) else text


def from_value(value: object, tools: ScannedTools, trust: Trust) -> list[CallText] | None:
    """The calls a JSON value stands for, all of them for tools that exist; None when it is something else."""
    if isinstance(value, list):
        if len(value) > CALLS:
            return None
        found = [from_value(item, tools, trust) for item in value]
        kept = [call for calls in found if calls for call in calls]
        return kept if value and (all(found) or (trust == "marked" and kept)) else None
    if not isinstance(value, dict):
        return None
    for key in LISTS:
        if isinstance(value.get(key), list) and value.keys() - {key} <= BESIDE:
            return from_value(value[key], tools, trust)
    for key in ("function", "function_call", "tool_call", "tool_use", "tool", "action", "call"):
        if isinstance(value.get(key), dict) and value.keys() - {key} <= BESIDE:
            return from_value(value[key], tools, trust)
    return _named(value, tools, trust) or _keyed(value, tools, trust)


def _named(value: dict[str, object], tools: ScannedTools, trust: Trust) -> list[CallText] | None:
    for key in (*NAMES, REACT[0]) if REACT[1] in value else NAMES:
        name = value.get(key)
        if not isinstance(name, str) or tool_name(name, tools) not in tools:
            continue
        rest = {other: item for other, item in value.items() if other != key}
        rest = CutObject(rest) if isinstance(value, CutObject) else rest
        found = _inputs(name, rest, tools, trust) or _flat(name, key, rest, tools, trust)
        if found:
            return [found]
    return None


def _inputs(name: str, rest: dict[str, object], tools: ScannedTools, trust: Trust) -> CallText | None:
    held = [key for key in INPUTS if key in rest]
    if len(held) != 1 or rest.keys() - {held[0]} - BESIDE:
        return None
    given = rest[held[0]]
    if given is None:
        return make_call(name, {}, tools)
    if isinstance(given, str):
        ours = tool_name(name, tools)
        text = given.strip()
        if text[:1] in ("", "{") or text[:2] in ('"{', '"\\"'):  # encoded once more: `mend` reads that
            return CallText(ours, text or "{}")
        first = required(tools[ours])
        word: dict[str, object] = {first[0]: given} if len(first) == 1 else {}
        return make_call(name, CutObject(word) if isinstance(rest, CutObject) else word, tools) if word else None
    if not isinstance(given, dict) or _is_schema(given) or (trust != "marked" and _is_placeholder(given)):
        return None
    return make_call(name, given, tools)


def _flat(name: str, key: str, rest: dict[str, object], tools: ScannedTools, trust: Trust) -> CallText | None:
    """Arguments beside the name: every other key must be an argument of that tool."""
    tool = tools[tool_name(name, tools)]
    given = {other: item for other, item in rest.items() if other not in BESIDE or is_argument(other, tool)}
    if (trust == "block" and key not in CLEAR) or (trust != "marked" and _is_placeholder(given)):
        return None
    if not all(is_argument(other, tool) for other in given) or (
        key == "name" and trust != "marked" and not required(tool)
    ):
        return None
    ours = {OUR_ARGUMENTS.get(other, other) for other in given} | given.keys()
    cut = isinstance(rest, CutObject)
    if not cut and not ours >= set(required(tool)):
        return None
    return make_call(name, CutObject(given) if cut else given, tools)


def _keyed(value: dict[str, object], tools: ScannedTools, trust: Trust) -> list[CallText] | None:
    """`{"read": {"path": …}}`: the name of the tool as the only key."""
    if len(value) != 1 or trust == "block":
        return None
    ((name, given),) = value.items()
    ours = tool_name(name, tools)
    if ours not in tools or not isinstance(given, dict) or not given or _is_schema(given):
        return None
    if not all(is_argument(key, tools[ours]) for key in given):
        return None
    found = make_call(name, given, tools)
    return [found] if found else None


def value_at(text: str, at: int, tools: ScannedTools) -> tuple[object, int]:
    """The JSON value that begins here and where it ends; raises BrokenJson."""
    tools.start()
    try:
        value, end, _ = read(text, at)
    except (BrokenJson, RecursionError) as broken:
        tools.spend((broken.at if isinstance(broken, BrokenJson) else len(text)) - at)
        raise BrokenJson from None
    tools.spend(end - at)
    return value, end


def from_broken(body: str, tools: ScannedTools) -> list[CallText] | None:
    """A call whose JSON cannot be read for certain: its name, and its arguments as they stand, for mending."""
    tools.spend(len(body))
    found = BROKEN.search(body)
    if not found or tool_name(found[1], tools) not in tools:
        return None
    rest = body[found.end() :].rstrip().removesuffix("```").rstrip()
    if rest.endswith("}") and rest.count("}") > rest.count("{"):
        rest = rest[:-1].rstrip()
    return [CallText(tool_name(found[1], tools), rest or "{")]


def from_python(source: str, tools: ScannedTools, trust: Trust) -> list[CallText] | None:
    """`read(path="a.py")`, several of them, or a list of them: literals only."""
    source = source.strip()
    if not source.endswith((")", "]")) or len(source) > LONGEST or "(" not in source:
        return None
    tools.spend(len(source) * PARSING)
    try:
        with warnings.catch_warnings(action="ignore"):
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes: list[ast.expr] = []
    for statement in body:
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign) or value is None:
            return None
        nodes += value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    found = [_called(node, tools, trust) for node in nodes] if len(nodes) <= CALLS else []
    return [call for call in found if call] if found and all(found) else None


def _called(node: ast.expr, tools: ScannedTools, trust: Trust) -> CallText | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call):
        return None
    name = _dotted(node.func)
    ours = tool_name(name, tools)
    if ours not in tools:
        return None
    try:
        given = {word.arg: _literal(word.value) for word in node.keywords if word.arg}
        places = [_literal(value) for value in node.args]
        json.encode(places)
        json.encode(given)
    except (ValueError, TypeError, RecursionError, MemoryError, UnicodeError, OverflowError):
        return None
    if len(given) != len(node.keywords):
        return None
    if len(places) == 1 and isinstance(places[0], dict) and not given:
        given, places = places[0], []
    if places and (trust == "block" or len(places) > len(_properties(tools[ours]))):
        return None
    given = dict(zip(_properties(tools[ours]), places, strict=False)) | given
    if trust != "marked" and (not all(is_argument(key, tools[ours]) for key in given) or _is_placeholder(given)):
        return None
    if trust != "marked" and not given and _properties(tools[ours]):
        return None
    return make_call(name.removesuffix(".call"), given, tools)


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as it is written; nothing when it is anything else."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return ".".join(reversed([*words, node.id])) if isinstance(node, ast.Name) else ""


def _literal(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[node.id]
    return ast.literal_eval(node)


def _is_schema(given: dict[str, object]) -> bool:
    """The definition of a tool, not a call to it."""
    return "properties" in given or (given.get("type") == "object" and len(given) <= 3) or "$schema" in given


def _is_placeholder(given: dict[str, object]) -> bool:
    """An example with blanks to be filled in."""
    return any(
        isinstance(item, str) and re.fullmatch(r"\.{3}|…|<[^<>\n]*>|\{[\w ]*\}|(?:/?path/to/.*)", item.strip())
        for item in given.values()
    )


def is_argument(name: str, tool: Tool) -> bool:
    known = _properties(tool)
    return name in known or OUR_ARGUMENTS.get(name) in known


def _properties(tool: Tool) -> list[str]:
    return _names(bytes(tool.spec.schema))[0]


def required(tool: Tool) -> list[str]:
    return _names(bytes(tool.spec.schema))[1]


@lru_cache(maxsize=128)
def _names(schema: bytes) -> tuple[list[str], list[str]]:
    told = json.decode(schema)
    return list(told.get("properties", {})), list(told.get("required", []))
