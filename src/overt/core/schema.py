"""JSON Schema of an argument struct, as short as it can be said.

msgspec can make one too, with titles and definitions that cost the model tokens and start-up time; a test
holds the two to the same meaning.
"""

import types
from typing import Annotated, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields

from overt.core.codec import encode

SIMPLE: dict[object, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}


def schema(struct: type[Struct]) -> bytes:
    return encode(_object(struct))


def _object(struct: type[Struct]) -> dict[str, object]:
    properties: dict[str, dict[str, object]] = {}
    required: list[str] = []
    for field in fields(struct):
        properties[field.encode_name] = _of(field.type)
        if field.required:
            required.append(field.encode_name)
        elif field.default is not NODEFAULT and field.default not in (None, "", False, ()):
            properties[field.encode_name]["default"] = field.default
    found: dict[str, object] = {"type": "object", "properties": properties}
    return found | {"required": required} if required else found


def _of(hint: object) -> dict[str, object]:
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if origin is Annotated:
        inside, meta, *_ = inner
        assert isinstance(meta, Meta)
        found = _of(inside)
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
    if origin is dict:
        return {"type": "object"}
    if origin in (tuple, list):
        return {"type": "array", "items": _of(inner[0])}
    assert isinstance(hint, type) and issubclass(hint, Struct)
    return _object(hint)
