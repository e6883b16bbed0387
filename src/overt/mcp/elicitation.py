"""Make a form of a question that an MCP server asks, and the content of its answer.

Servers describe a form by the JSON schema of a flat object. What is not flat, or unknown, becomes a line of text.
"""

from typing import get_args

from msgspec import DecodeError, Raw, json

from overt.core.questions import FieldKind, FieldOption, FieldValue, FormField, QuestionForm, TextFormat
from overt.lib.text import shorten
from overt.lib.translations import say
from overt.mcp.messages import ServerQuestion

MAX_FIELDS, MAX_OPTIONS = 30, 100
LONGEST_MESSAGE, LONGEST_TEXT, LONGEST_VALUE = 4000, 300, 2000
"""Characters of a message, of a title or description, and of a value. A longer value leaves its option out."""
KINDS: dict[str, FieldKind] = {"number": "number", "integer": "integer", "boolean": "boolean"}
FORMATS = {name: name for name in get_args(TextFormat)}


def make_form(asks: ServerQuestion) -> QuestionForm:
    """Make the form that a server asks for. At most 30 fields of it are shown."""
    who, message = say("form.mcp_server", server=asks.server), shorten(asks.message.strip(), LONGEST_MESSAGE)
    if asks.url:
        return QuestionForm(who=who, message=message, url=asks.url)
    return QuestionForm(who=who, message=message, fields=read_fields(asks.schema))


def read_fields(schema: Raw) -> tuple[FormField, ...]:
    """Return the fields of a form with this JSON schema; none if it is no schema of an object."""
    try:
        root = _dict(json.decode(schema))
    except DecodeError:
        return ()
    required = _list(root.get("required"))
    properties = list(_dict(root.get("properties")).items())[:MAX_FIELDS]
    return tuple(_field(name, _dict(part), required=name in required) for name, part in properties)


def _field(name: str, schema: dict[str, object], *, required: bool) -> FormField:
    kind = schema.get("type")
    items = _dict(schema.get("items")) if kind == "array" else {}
    options = _options(items) if items else _options(schema)
    field_kind: FieldKind = "choices" if items and options else "choice" if options else "text"
    if not options and isinstance(kind, str):
        field_kind = KINDS.get(kind, "text")
    counts = field_kind == "choices"
    return FormField(
        name=name,
        kind=field_kind,
        title=_text(schema.get("title")),
        description=_text(schema.get("description")),
        options=options,
        required=required,
        default=_default(field_kind, schema.get("default"), options),
        format=FORMATS.get(str(schema.get("format")), ""),
        minimum=_number(schema.get("minItems" if counts else "minimum")),
        maximum=_number(schema.get("maxItems" if counts else "maximum")),
        min_length=_count(schema.get("minLength")),
        max_length=_count(schema.get("maxLength")),
    )


def _options(schema: dict[str, object]) -> tuple[FieldOption, ...]:
    """Return the options of `enum`, with the titles of `enumNames`, or of `oneOf` or `anyOf` constants."""
    values, names = _list(schema.get("enum")), _list(schema.get("enumNames"))
    pairs: list[tuple[object, object, object]] = [
        (value, names[at] if at < len(names) else "", "") for at, value in enumerate(values)
    ]
    if not pairs:
        parts = [_dict(part) for part in _list(schema.get("oneOf")) or _list(schema.get("anyOf"))]
        pairs = [(part.get("const"), part.get("title"), part.get("description")) for part in parts]
    options = {
        value: FieldOption(value=value, label=_text(label), description=_text(description))
        for value, label, description in pairs[:MAX_OPTIONS]
        if isinstance(value, str) and value and len(value) <= LONGEST_VALUE
    }
    return tuple(options.values())


def _default(kind: FieldKind, value: object, options: tuple[FieldOption, ...]) -> FieldValue | None:
    """Return the default of a field, or None if it has none that fits its kind."""
    known = {option.value for option in options}
    match kind, value:
        case ("text", str()) if len(value) <= LONGEST_VALUE:
            return value
        case ("boolean", bool()):
            return value
        case ("number" | "integer", int() | float()) if not isinstance(value, bool):
            return int(value) if kind == "integer" and value == int(value) else value
        case ("choice", str()) if value in known:
            return value
        case ("choices", list()):
            return tuple(each for each in value if isinstance(each, str) and each in known) or None
        case _:
            return None


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return shorten(value.strip(), LONGEST_TEXT) if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
