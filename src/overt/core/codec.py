"""One JSON codec for disk and wire."""

from typing import Any

from msgspec import json

encode = json.Encoder(order=None).encode
decode = json.decode


def compact(value: Any) -> str:
    """Compact JSON text with keys in the order they were written."""
    return encode(value).decode()
