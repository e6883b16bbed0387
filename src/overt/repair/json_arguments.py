"""Check the arguments of a tool that comes with a JSON schema, and put right what models often get wrong.

Only the first level is checked here. The server checks the rest, and its answer goes back to the model.
"""

from typing import Any

from msgspec import DecodeError, json

from overt.core.codec import compact
from overt.core.tool import JsonArguments

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def check_json(schema: dict[str, Any], given: dict[str, Any]) -> tuple[JsonArguments, tuple[str, ...]]:
    """Return the arguments and what was put right. Raise ValueError with what is wrong."""
    properties: dict[str, Any] = schema.get("properties", {})
    required = schema.get("required", [])
    notes: dict[str, None] = {}
    values: dict[str, Any] = {}
    for name, value in given.items():
        part = properties.get(name)
        if part is None and properties and schema.get("additionalProperties") is False:
            notes[f"ignored unknown `{name[:60]}`"] = None
        elif value is None and name not in required and not _fits(value, part):
            notes[f"dropped null {name[:60]}"] = None
        else:
            values[name] = _converted(value, part)
            if values[name] is not value:
                notes["converted argument types"] = None
    problems = [f"missing `{name}`" for name in required if name not in values]
    problems += [
        f"`{name}`: expected {_describe(properties[name])}, got {compact(value)[:100]}"
        for name, value in values.items()
        if name in properties and not _fits(value, properties[name])
    ]
    if problems:
        raise ValueError("; ".join(problems))
    return JsonArguments(values), tuple(notes)


def _kinds(part: Any) -> tuple[str, ...]:
    """Return the types that a part of a schema names; none if it leaves them open."""
    kind = part.get("type") if isinstance(part, dict) else None
    named = kind if isinstance(kind, list) else [kind]
    return tuple(each for each in named if each in KINDS)


def _fits(value: Any, part: Any) -> bool:
    kinds = _kinds(part)
    if kinds and not any(_is_kind(value, kind) for kind in kinds):
        return False
    choices = part.get("enum") if isinstance(part, dict) else None
    return not isinstance(choices, list) or value in choices


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    return isinstance(value, KINDS[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())


def _converted(value: Any, part: Any) -> Any:
    """Return the value as the schema wants it where only its form is wrong: `"3"` for 3, one item for a list."""
    if _fits(value, part):
        return value
    forms: list[Any] = [[value]]
    if isinstance(value, str):
        try:
            forms.insert(0, json.decode(value))
        except DecodeError:
            forms.insert(0, value.strip().lower())
    elif isinstance(value, int | float):
        forms.insert(0, compact(value))
    return next((form for form in forms if _fits(form, part)), value)


def _describe(part: dict[str, Any]) -> str:
    choices = part.get("enum")
    if isinstance(choices, list):
        return "one of " + ", ".join(compact(each) for each in choices[:20])
    return " or ".join(_kinds(part)) or "another value"
