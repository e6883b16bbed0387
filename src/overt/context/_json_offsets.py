"""Where the values of a JSON text stand, byte for byte, without making anything of them."""

import re

from msgspec import Struct

TOKEN = rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]'
SPACE = b" \t\r\n"


class JsonPlace(Struct, frozen=True, kw_only=True):
    """One item of an array, or one field of an object with its `key` as it is spelled there."""

    start: int
    end: int
    key: bytes = b""


def json_items(data: bytes, start: int = 0) -> tuple[JsonPlace, ...]:
    """What stands in the array or object that begins at `start`, in order; how deep it goes does not matter."""
    places: list[JsonPlace] = []
    depth, key, begun = 0, b"", start + 1
    for token in re.compile(TOKEN, re.DOTALL).finditer(data, start):
        mark, at = token[0], token.start()
        if mark in b"[{":
            depth += 1
        elif mark in b",]}":
            if depth == 1:
                if data[begun:at].strip(SPACE):
                    places.append(_place(data, begun, at, key))
                key, begun = b"", at + 1
            depth -= mark != b","
            if depth == 0:
                break
        elif mark == b":" and depth == 1:
            key = data[begun:at].strip(SPACE)[1:-1]
            begun = at + 1
    return tuple(places)


def json_field(data: bytes, start: int, *keys: bytes) -> JsonPlace | None:
    """The first field of an object that has one of these names."""
    if data[start : start + 1] != b"{":
        return None
    return next((place for place in json_items(data, start) if place.key in keys), None)


def _place(data: bytes, start: int, end: int, key: bytes) -> JsonPlace:
    while data[start] in SPACE:
        start += 1
    while data[end - 1] in SPACE:
        end -= 1
    return JsonPlace(start=start, end=end, key=key)
