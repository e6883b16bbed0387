"""The argument text of a call becomes a checked struct, or a message that shows the expected shape."""

from typing import Any

from msgspec import DecodeError, ValidationError, convert, json
from msgspec.structs import fields

from overt.core.codec import compact
from overt.core.tool import Tool
from overt.repair.names import argument_names


def parse(text: str) -> tuple[dict[str, Any] | None, str]:
    """The object the text holds, with a note when it had to be unwrapped; None when there is none."""
    try:
        value = json.decode(text) if text.strip() else {}
        if isinstance(value, str):
            inner = json.decode(value)
            return (inner, "arguments were encoded twice") if isinstance(inner, dict) else (None, "")
    except (DecodeError, UnicodeError, RecursionError):
        return None, ""
    return (value, "") if isinstance(value, dict) else (None, "")


def check(tool: Tool, given: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
    """The typed arguments and what was put right. Raises ValueError with a message the model can act on."""
    known = {field.encode_name for field in fields(tool.args)}
    given, notes = argument_names(given, known)
    extra = [name for name in given if name not in known]
    nulls = [name for name, value in given.items() if value is None and name in known]
    kept = {name: value for name, value in given.items() if name in known and value is not None}
    if extra:
        notes += (f"ignored unknown {', '.join(f'`{name}`' for name in extra)}",)
    if nulls:
        notes += (f"dropped null {', '.join(nulls)}",)
    try:
        return convert(kept, tool.args), notes
    except ValidationError as strict:
        try:
            return convert(_unwrapped(kept), tool.args, strict=False), (*notes, "converted argument types")
        except ValidationError:
            raise ValueError(f"{_words(str(strict))}. Expected {shape(tool)}; got {_short(given)}") from None


def shape(tool: Tool) -> str:
    """The arguments of a tool in one line: `{path: string, offset?: integer}`."""
    schema = json.decode(tool.spec.schema)
    return _shape(schema)


def _shape(schema: dict[str, Any]) -> str:
    match schema.get("type"):
        case "object":
            required = schema.get("required", [])
            inner = (
                f"{name}{'' if name in required else '?'}: {_shape(part)}"
                for name, part in schema["properties"].items()
            )
            return "{" + ", ".join(inner) + "}"
        case "array":
            return f"[{_shape(schema['items'])}, …]"
        case _:
            return "|".join(schema["enum"]) if "enum" in schema else str(schema.get("type"))


def _unwrapped(given: dict[str, Any]) -> dict[str, Any]:
    """Lists and objects that came as JSON text."""
    found = dict(given)
    for name, value in given.items():
        if isinstance(value, str) and value[:1] in "[{":
            try:
                found[name] = json.decode(value)
            except (DecodeError, UnicodeError, RecursionError):
                continue
    return found


def _words(message: str) -> str:
    return message.replace("Object missing required field", "missing").replace("$.", "").replace("`$`", "arguments")


def _short(given: dict[str, Any]) -> str:
    text = compact(given)
    return text if len(text) <= 300 else text[:300] + "…"
