"""One JSON codec for disk and wire."""

from typing import Any

from msgspec import json, to_builtins

encode = json.Encoder(order=None).encode
decode = json.decode


def printable(value: Any) -> str:
    """JSON for people and programs that read our output; half characters, which JSON cannot hold, are replaced."""
    try:
        return encode(value).decode()
    except UnicodeEncodeError:
        return encode(_whole(to_builtins(value))).decode()


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list | tuple) else value


def compact(value: Any) -> str:
    """Compact JSON text with keys in the order they were written."""
    return encode(value).decode()
