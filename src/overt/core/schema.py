"""JSON Schema of an argument struct, as short as it can be said.

msgspec can make one too, with titles and definitions that cost the model tokens and start-up time; a test
holds the two to the same meaning.
"""

import types
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT, Meta
from msgspec.structs import fields

from overt.core.codec import encode

SIMPLE: dict[Any, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}


def schema(struct: type[Any]) -> bytes:
    return encode(_object(struct))


def _object(struct: type[Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in fields(struct):
        properties[field.encode_name] = _of(field.type)
        if field.required:
            required.append(field.encode_name)
        elif field.default is not NODEFAULT and field.default not in (None, "", False, ()):
            properties[field.encode_name]["default"] = field.default
    found: dict[str, Any] = {"type": "object", "properties": properties}
    return found | {"required": required} if required else found


def _of(hint: Any) -> dict[str, Any]:
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if hasattr(hint, "__metadata__"):
        meta: Meta = hint.__metadata__[0]
        found = _of(hint.__origin__)
        bounds = {
            "description": meta.description,
            "minimum": meta.ge,
            "maximum": meta.le,
            "minItems": meta.min_length,
        }
        return found | {key: value for key, value in bounds.items() if value is not None}
    if origin in (Union, types.UnionType):
        (only,) = (option for option in inner if option is not type(None))
        return _of(only)
    if origin in (tuple, list):
        return {"type": "array", "items": _of(inner[0])}
    return _object(hint)
