"""A reply that is one JSON object by agreement: a call, or the final words."""

from overt.core.messages import Call, Part, Text
from overt.repair._call_objects import CallText, from_broken, from_value, make_call, value_at
from overt.repair._loose_json import BrokenJson, CutObject
from overt.repair._scan_limit import ScannedTools

FINAL = "final"
SPOKEN = ("text", "answer", "message", "content", "response", "final")

SchemaReply = tuple[tuple[Part, ...], str]


def read_schema_reply(parts: tuple[Part, ...], tools: ScannedTools) -> SchemaReply | None:
    """The parts with the object read, and the call that stood there; None when there is no such object."""
    text = "".join(part.text for part in parts if isinstance(part, Text))
    others = tuple(part for part in parts if not isinstance(part, Text))
    start = text.find("{")
    if start < 0 or (text[:start].strip() and not text[:start].strip().startswith("```")):
        return None
    try:
        value, _ = value_at(text, start, tools)
    except BrokenJson:
        found = from_broken(text[start:], tools)
        return _called(others, found, text) if found else None
    if not isinstance(value, dict):
        return None
    if (said := final(value)) is not None:
        return (*others, Text(text=said)), ""
    found = from_value(value, tools, "marked") or _flat(value, tools)
    return _called(others, found, text) if found else None


def final(value: dict[str, object]) -> str | None:
    """The words of a final object, whole or cut; None for anything else."""
    if value.get("tool", value.get("name")) != FINAL:
        return None
    inside = value.get("arguments", value.get("parameters"))
    for place in (value, inside if isinstance(inside, dict) else {}):
        for key in SPOKEN:
            if isinstance(place.get(key), str):
                return str(place[key])
    return "" if isinstance(value, CutObject) else None


def _flat(value: dict[str, object], tools: ScannedTools) -> list[CallText] | None:
    """Arguments beside the name, whatever they are called: what is wrong with them is said when they are checked."""
    name = value.get("tool", value.get("name"))
    if not isinstance(name, str):
        return None
    rest = {key: item for key, item in value.items() if key not in ("tool", "name")}
    inner = rest.get("arguments")
    given = inner if isinstance(inner, dict) else rest
    call = make_call(name, CutObject(given) if isinstance(value, CutObject) and given is rest else given, tools)
    return [call] if call else None


def _called(others: tuple[Part, ...], found: list[CallText], text: str) -> SchemaReply:
    made = tuple(Call(id=f"leaked_{n}", name=call.name, arguments=call.arguments) for n, call in enumerate(found, 1))
    return (*others, *made), text
