"""Deep or wide schemas as dotted names, for models that lose their way in nested objects, and back again.

Lists stay as they are: their length is the model's to choose. A schema whose names hold dots is left alone.
"""

from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from overt.core.codec import decode, encode
from overt.core.requests import ToolSpec

DEPTH, LEAVES = 2, 10
NAMES, STEPS = 500, 20
"""More names, or steps in a name, than any schema has: not dotted names of ours."""


def flatten_schema(spec: ToolSpec) -> ToolSpec:
    """The same tool, told of with dotted names when its schema is deeper than 2 or wider than 10 leaves."""
    schema: dict[str, Any] = decode(spec.schema)
    if _depth(schema) <= DEPTH and _leaves(schema) <= LEAVES:
        return spec
    properties: dict[str, Any] = {}
    required: list[str] = []
    if not _gather(schema, "", True, (properties, required)):
        return spec
    found = schema | {"properties": properties}
    found.pop("required", None)
    return replace(spec, schema=Raw(encode(found | {"required": required} if required else found)))


def unflatten(given: dict[str, Any]) -> dict[str, Any]:
    """Dotted names back as objects; a name that would overwrite a value stays as it came."""
    found: dict[str, Any] = {}
    if len(given) > NAMES:
        return given
    for name, value in sorted(given.items(), key=lambda item: "." in item[0]):
        if not _place(found, name.split("."), value):
            found[name] = value
    return found


def _place(found: dict[str, Any], steps: list[str], value: Any) -> bool:
    if len(steps) > STEPS or not all(steps):
        return False
    *path, last = steps
    for at, step in enumerate(path):
        inner = found.get(step)
        if inner is not None and not isinstance(inner, dict):
            return False
        if inner is None:
            for each in reversed(path[at + 1 :]):
                last, value = each, {last: value}
            found[step] = {last: value}
            return True
        found[step] = found = dict(inner)
    if last in found:
        return False
    found[last] = value
    return True


def _gather(schema: dict[str, Any], before: str, needed: bool, into: tuple[dict[str, Any], list[str]]) -> bool:
    """Collect the leaves below; False when a name holds a dot."""
    properties, required = into
    for name, part in schema.get("properties", {}).items():
        if "." in name:
            return False
        must = needed and name in schema.get("required", ())
        if part.get("type") == "object" and part.get("properties"):
            if not _gather(part, f"{before}{name}.", must, into):
                return False
            continue
        properties[before + name] = part
        if must:
            required.append(before + name)
    return True


def _inner(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = list(schema.get("properties", {}).values())
    return found + ([schema["items"]] if isinstance(schema.get("items"), dict) else [])


def _depth(schema: dict[str, Any]) -> int:
    return max((_depth(part) for part in _inner(schema)), default=0) + (1 if schema.get("properties") else 0)


def _leaves(schema: dict[str, Any]) -> int:
    inner = _inner(schema)
    return sum(_leaves(part) for part in inner) if inner else 1
