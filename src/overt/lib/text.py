"""Bounded and harmless text: what goes to a model is cut in the open, what goes to a terminal cannot drive it."""

import re

from overt.lib.tokens import estimate

# Patterns stay text: compiling these classes costs milliseconds, which start-up would pay.
UNSAFE = (
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def clip(text: str, max_bytes: int, max_tokens: int, hint: str = "") -> str:
    """The text, or its head and tail around a marker that says what is missing and how to get it."""
    if size(text) <= max_bytes and estimate(text) <= max_tokens:
        return text
    room = max(max_bytes - 200 - size(hint), 0), max(max_tokens - 50 - estimate(hint), 0)
    head = _fit(text, room[0] * 2 // 3, room[1] * 2 // 3)
    tail = _fit(text[::-1], room[0] // 3, room[1] // 3)[::-1]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    middle = text[len(head) : len(text) - len(tail)]
    lines = middle.count("\n")
    advice = f"; {hint}" if hint else ""
    marker = f"[... {size(middle)} bytes, {lines} lines left out{advice} ...]"
    return f"{head.rstrip(chr(10))}\n{marker}\n{tail}"


def _fit(text: str, max_bytes: int, max_tokens: int) -> str:
    """The longest head of a text within both limits."""
    low, high = 0, min(len(text), max_bytes, max_tokens * 4)
    while low < high:
        middle = (low + high + 1) // 2
        part = text[:middle]
        if size(part) <= max_bytes and estimate(part) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def cut_line(line: str, width: int) -> str:
    """A line, or its first `width` characters and how many more there are."""
    return line if len(line) <= width else f"{line[:width]} [... {len(line) - width} more characters]"


def visible(text: str) -> str:
    """The text with control, direction and invisible characters shown instead of obeyed."""
    return re.sub(UNSAFE, _show, text)


def _show(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"<U+{code:04X}>"
