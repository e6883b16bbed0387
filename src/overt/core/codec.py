"""One JSON codec for disk and wire."""

from msgspec import json, to_builtins

encode = json.Encoder(order=None).encode
decode = json.decode


def printable(value: object) -> str:
    """Return JSON for people and programs that read our output; half characters, which JSON cannot hold, are replaced.

    What could drive a terminal is escaped, all of it, so that the same JSON is harmless on a screen.
    """
    try:
        text = encode(value).decode()
    except UnicodeEncodeError:
        text = encode(_whole(to_builtins(value))).decode()
    if text.isprintable():
        return text
    return text.translate({ord(char): _escape(char) for char in set(text) if not char.isprintable()})


def _escape(char: str) -> str:
    """Unprintable characters stand inside strings only, where JSON lets every character be written so."""
    raw = char.encode("utf-16-be")
    return "".join(f"\\u{raw[at] << 8 | raw[at + 1]:04x}" for at in range(0, len(raw), 2))


def _whole(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list | tuple) else value


def compact(value: object) -> str:
    """Return compact JSON text with keys in the order they were written."""
    return encode(value).decode()
