"""Where quotes and brackets of a shell word end, what braces expand to, and the escapes of `$'…'`."""

import re
from collections.abc import Iterator

MOST_WORDS, MOST_NUMBERS = 256, 8
ANSI_C = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
CODE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
RANGE = re.compile(r"(-?\d+(?=\.\.-?\d)|[A-Za-z](?=\.\.[A-Za-z]))\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?")
PAIRS = {"(": ")", "{": "}", "[": "]"}


def expand_braces(raw: str) -> list[str]:
    if "{" not in raw:
        return [raw]
    done: list[str] = []
    todo = [raw]
    while todo and len(done) + len(todo) <= MOST_WORDS:
        text = todo.pop()
        options = _first_brace(text)
        if options is None:
            done.append(text)
        else:
            todo += reversed(options)
    return done + todo


def _first_brace(raw: str) -> list[str] | None:
    """The texts that the first brace expansion makes, or None without one."""
    for start, char in _bare(raw):
        if char != "{" or raw[start - 1 : start] == "$":
            continue
        depth, cuts = 0, [start]
        for place, other in _bare(raw[start:]):
            depth += (other == "{") - (other == "}")
            if other == "," and depth == 1:
                cuts.append(start + place)
            if depth == 0:
                end = start + place
                head, tail = raw[:start], raw[end + 1 :]
                if len(cuts) > 1:
                    bounds = zip(cuts, [*cuts[1:], end], strict=True)
                    return [head + raw[first + 1 : last] + tail for first, last in bounds]
                if ends := RANGE.fullmatch(raw[start + 1 : end]):
                    return [head + value + tail for value in _range(*ends.group(1, 2))]
                break
    return None


def _range(first: str, last: str) -> list[str]:
    """What `{1..9}` or `{a..z}` becomes, whatever its step; a pattern stands for what a long row of numbers holds."""
    low, high = sorted(ord(end) if end.isalpha() else int(end) for end in (first, last))
    if first.isalpha():
        return [chr(letter) for letter in range(low, high + 1)]
    if high - low >= MOST_NUMBERS:
        return [first, last, "*"]
    width = max(len(first), len(last)) if re.search(r"\b0\d", f"{first} {last}") else 0
    return [str(number).zfill(width) for number in range(low, high + 1)]


def _bare(raw: str) -> Iterator[tuple[int, str]]:
    """Characters outside quotes and expansions, with their places."""
    at = 0
    while at < len(raw):
        char = raw[at]
        if char == "\\":
            at += 2
        elif char in "'\"`":
            at = after_quote(raw, at)
        elif char == "$" and raw[at + 1 : at + 2] in ("{", "("):
            at = after_bracket(raw, at + 1)
        else:
            yield at, char
            at += 1


def after_quote(raw: str, at: int) -> int:
    """The place after a quoted stretch that begins at `at`; the length when it never ends."""
    quote = raw[at]
    place = at + 1
    while place < len(raw):
        char = raw[place]
        if char == quote:
            return place + 1
        if char == "\\" and quote != "'":
            place += 1
        elif quote == '"' and char == "$" and raw[place + 1 : place + 2] in ("{", "("):
            place = after_bracket(raw, place + 1) - 1
        elif quote == '"' and char == "`":
            place = after_quote(raw, place) - 1
        place += 1
    return len(raw) + 1


def after_bracket(raw: str, at: int) -> int:
    """The place after the bracket that closes the one at `at`; beyond the end when none does."""
    stack = [PAIRS[raw[at]]]
    place = at + 1
    while place < len(raw):
        char = raw[place]
        if char == "\\":
            place += 2
            continue
        if char == "'" and raw[place - 1] == "$":
            match = ANSI_C.match(raw, place + 1)
            place = match.end() if match else len(raw) + 1
            continue
        if char in "'\"`":
            place = after_quote(raw, place)
            continue
        if char == stack[-1]:
            stack.pop()
            if not stack:
                return place + 1
        elif char == "(" or (char == "{" and raw[place - 1] == "$"):
            stack.append(PAIRS[char])
        place += 1
    return len(raw) + 1


def ansi_c(text: str) -> str:
    """The inside of `$'…'`; nothing follows a NUL."""
    pieces = re.split(CODE, text)
    for place in range(1, len(pieces), 2):
        pieces[place] = _decoded(pieces[place])
    return "".join(pieces).partition("\0")[0]


def _decoded(code: str) -> str:
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else ""
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    if code[0] == "c" and len(code) > 1:
        return chr(ord(code[1]) & 0x1F)
    return ESCAPES.get(code, code)
