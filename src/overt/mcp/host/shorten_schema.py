"""Makes a JSON schema small enough to be shown to a model: descriptions are cut first, then deep parts."""

from collections.abc import Mapping

from overt.core.codec import encode

SHORT_DESCRIPTION_CHARACTERS = 100
DEEPEST_KEPT = 8


def shorten_schema(schema: Mapping[str, object], max_bytes: int) -> object:
    for limit in (SHORT_DESCRIPTION_CHARACTERS, 0):
        shorter = _cut_descriptions(schema, limit)
        if len(encode(shorter)) <= max_bytes:
            return shorter
    for depth in range(DEEPEST_KEPT, 1, -1):
        shallower = _cut_depth(shorter, depth)
        if len(encode(shallower)) <= max_bytes:
            return shallower
    return {"type": "object"}


def _cut_descriptions(value: object, limit: int) -> object:
    if isinstance(value, Mapping):
        return {
            key: (
                item[:limit] + "…"
                if key == "description" and isinstance(item, str) and len(item) > limit
                else _cut_descriptions(item, limit)
            )
            for key, item in value.items()
            if limit or key != "description" or not isinstance(item, str)
        }
    return [_cut_descriptions(item, limit) for item in value] if isinstance(value, list) else value


def _cut_depth(value: object, depth: int) -> object:
    if isinstance(value, Mapping):
        return {key: _cut_depth(item, depth - 1) for key, item in value.items()} if depth else {}
    if isinstance(value, list):
        return [_cut_depth(item, depth - 1) for item in value] if depth else []
    return value
