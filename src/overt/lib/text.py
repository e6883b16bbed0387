"""Bounded and harmless text: what goes to a model is cut in the open, what goes to a terminal cannot drive it."""

import re

from overt.lib.tokens import estimate

# Patterns stay text: compiling these classes costs milliseconds, which start-up would pay.
CONTROL = "\0-\x08\x0b-\x1f\x7f-\x9f"
DIRECTION = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
INVISIBLE = (
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What Unicode lets a terminal draw as nothing; tags and variation selectors can carry whole messages."""
BROKEN = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
"""Half characters and code points that are none."""
UNSAFE = f"[{CONTROL}{DIRECTION}{INVISIBLE}{BROKEN}]"
ODD_SPACES = "\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
"""They look like a space and are none to a shell."""


CLOSE = 1.03
"""A cut is good enough if a text longer by this factor would be too long."""


def size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def wide(text: str) -> int:
    """Return the columns of a text: two for a Chinese character, none for one that joins the one before."""
    if text.isascii():
        return len(text)
    import unicodedata as data  # late: 0.2 ms

    return sum(
        0 if data.category(char) in ("Mn", "Me") else 2 if data.east_asian_width(char) in "WF" else 1 for char in text
    )


def clip(text: str, max_bytes: int, max_tokens: int, hint: str = "", *, family: str = "default") -> str:
    """The text, or its head and tail around a marker that says what is missing and how to get it."""
    if size(text) <= max_bytes and estimate(text, family) <= max_tokens:
        return text
    room = max(max_bytes - 200 - size(hint), 0), max(max_tokens - 50 - estimate(hint, family), 0)
    head = _fit(text, room[0] * 2 // 3, room[1] * 2 // 3, family)
    tail = _fit(text[::-1], room[0] // 3, room[1] // 3, family)[::-1]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    middle = text[len(head) : len(text) - len(tail)]
    lines = middle.count("\n")
    advice = f"; {hint}" if hint else ""
    marker = f"[... {size(middle)} bytes, {lines} lines left out{advice} ...]"
    return f"{head.rstrip(chr(10))}\n{marker}\n{tail}"


def _fit(text: str, max_bytes: int, max_tokens: int, family: str) -> str:
    """Return a head of a text within both limits: nearly the longest, because each try costs an estimate."""
    fits, most = 0, min(len(text), max_bytes)
    at = min(most, 4 * max_tokens)
    while at > fits:
        part = text[:at]
        share = min(max_tokens / max(estimate(part, family), 1), max_bytes / max(size(part), 1))
        if share >= 1:
            fits = at
        if 1 <= share < CLOSE or at == most == fits:
            break
        at = min(most, int(at * share / CLOSE**0.5))
    return text[:fits]


def cut_line(line: str, width: int) -> str:
    """Cut a line to `width` characters and say how many more there are."""
    return line if len(line) <= width else f"{line[:width]} [... {len(line) - width} more characters]"


def visible(text: str) -> str:
    """Return the text with control, direction and invisible characters shown instead of obeyed.

    Every character is judged by itself, or with its neighbours where an emoji asks for it: nothing that is cut
    in two, as a stream may be, becomes a control sequence again.
    """
    return re.sub(UNSAFE, _show, text)


def exact(text: str) -> str:
    """Do as `visible`, and show characters that only look like a space: for what a user is to approve."""
    return re.sub(f"{UNSAFE}|[{ODD_SPACES}]", _show, text)


def _show(found: re.Match[str]) -> str:
    char = found[0]
    if char in "\ufe0f\u200d" and _in_emoji(found.string, found.start()):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"<U+{code:04X}>"


def _in_emoji(text: str, at: int) -> bool:
    """Emoji need two invisible characters, which are left alone only where they do their work: one that asks for
    the picture, right behind its sign, and one that joins two pictures."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] == "\ufe0f":
        return _picture(before) or before in ("\xa9", "\xae") or (after == "\u20e3" and before in tuple("#*0123456789"))
    return _picture(after) and (_picture(before) or before == "\ufe0f")


def _picture(char: str) -> bool:
    return (
        "\u2190" <= char <= "\u2bff"
        or "\U0001f000" <= char <= "\U0001faff"
        or char in ("\u3030", "\u303d", "\u3297", "\u3299")
    )


def plain_name(name: str) -> str:
    """Return a name with the characters that every vendor takes in the name of a tool."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def first_line(text: str, longest: int = 60) -> str:
    """Return the first line that is not blank, cut to `longest` characters."""
    return shorten(next((line for line in text[:4000].splitlines() if line.strip()), "").strip(), longest)


def shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


HIGHEST_AMOUNT = 1_000_000.0


def dollar_amount(text: str) -> float | None:
    """Read a number of US dollars above 0, as people type it: `5`, `$0.10`. Return None if it is invalid."""
    digits = text.removeprefix("$")
    if not digits.isascii() or not digits.replace(".", "", 1).isdecimal():
        return None
    amount = float(digits)
    return amount if 0 < amount <= HIGHEST_AMOUNT else None


def whole_number(text: str) -> int | None:
    """Read a number of at most nine plain digits, as people type them."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
