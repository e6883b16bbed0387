"""JSON as models write it, read without guessing: quotes, literals, keys and commas of other languages are understood.

Only readings that leave one meaning are made. A text that ends too early gives the objects it was inside of as
`CutObject`; anything else that does not fit is `BrokenJson`, and left to whoever is allowed to guess.
"""

import re
from typing import Any

SPACE = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
KEY = re.compile(r"[A-Za-z_$][\w$.\-]*+")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "undefined": None}
PYTHON = {"True", "False", "None"}
ESCAPES = {
    '"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\n": "",
}  # fmt: skip
RUNS = {
    '"': re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL),
    "'": re.compile(r"[^'\\]*+(?:\\.[^'\\]*+)*+", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\]|"(?!"")|\\.)*+', re.DOTALL),
    "'''": re.compile(r"(?:[^'\\]|'(?!'')|\\.)*+", re.DOTALL),
}
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
CONTROL = re.compile(r"[\x00-\x1f]")
DEPTH = 100

QUOTES = "read single quotes and Python words"
COMMA = "removed a trailing comma"
BREAKS = "escaped raw line breaks"
BACKSLASH = "kept stray backslashes"
BARE = "quoted bare keys"
COMMENT = "ignored comments"


class BrokenJson(ValueError):
    """The text is not JSON in any reading that needs no guess; `at` is how far it was read."""

    at = 0


class CutObject(dict[str, Any]):
    """An object whose text ended before it did."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.cut = False
        self.notes: dict[str, None] = {}

    def value(self, depth: int) -> Any:
        char = self.peek()
        if self.cut:
            return None
        if depth > DEPTH:
            raise BrokenJson
        if char in "{[":
            return self.container(depth, {} if char == "{" else [])
        return self.string() if char in "\"'" else self.scalar()

    def peek(self) -> str:
        """The next character behind blanks and comments; none when the text ends here."""
        found = SPACE.match(self.text, self.at)
        if found and "/" in found[0]:
            self.notes[COMMENT] = None
        self.at = found.end() if found else self.at
        self.cut = self.at >= len(self.text)
        return "" if self.cut else self.text[self.at]

    def container(self, depth: int, found: dict[str, Any] | list[Any]) -> dict[str, Any] | list[Any]:
        """An object or a list, into `found`; an object that does not end becomes `CutObject`."""
        close = "}" if isinstance(found, dict) else "]"
        self.at += 1
        comma = False
        while (char := self.peek()) not in (close, ""):
            key = self.key(char) if isinstance(found, dict) else ""
            value = self.value(depth + 1)
            if self.cut and value is None:
                break
            if isinstance(found, dict):
                found[key] = value
            else:
                found.append(value)
            if self.cut:
                break
            separator = self.peek()
            if separator not in (",", close, ""):
                raise BrokenJson
            comma = separator == ","
            self.at += comma
        if self.cut:
            return CutObject(found) if isinstance(found, dict) else found
        if comma:
            self.notes[COMMA] = None
        self.at += 1
        return found

    def key(self, char: str) -> str:
        """The key of a pair; what follows its colon is next."""
        if char in "\"'":
            name = self.string()
        elif found := KEY.match(self.text, self.at):
            self.at, name = found.end(), found[0]
            self.notes[BARE] = None
        else:
            raise BrokenJson
        if self.peek() != ":" and not self.cut:
            raise BrokenJson
        self.at += 1
        return name

    def string(self) -> str:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at) and not self.text.startswith(quote * 2 + ",", self.at):
            quote *= 3
        if quote != '"':
            self.notes[QUOTES] = None
        self.at += len(quote)
        found = RUNS[quote].match(self.text, self.at)
        text = found[0] if found else ""
        self.at += len(text)
        if CONTROL.search(text):
            self.notes[BREAKS] = None
        if self.text.startswith(quote, self.at):
            self.at += len(quote)
        else:
            self.cut, self.at = True, len(self.text)
        if "\\" in text:
            text = ESCAPE.sub(self.escaped, text)
        return text if text.isprintable() else _whole(text)

    def escaped(self, found: re.Match[str]) -> str:
        if digits := found[1] or found[2]:
            return chr(int(digits, 16))
        if found[3] in ESCAPES:
            return ESCAPES[found[3]]
        self.notes[BACKSLASH] = None
        return found[0]

    def scalar(self) -> Any:
        found = KEY.match(self.text, self.at)
        if found:
            self.at = found.end()
            if found[0] not in WORDS:
                if self.at == len(self.text) and any(word.startswith(found[0]) for word in WORDS):
                    self.cut = True
                    return None
                raise BrokenJson
            if found[0] in PYTHON:
                self.notes[QUOTES] = None
            return WORDS[found[0]]
        found = NUMBER.match(self.text, self.at)
        if not found or len(found[0]) > 300:
            raise BrokenJson
        self.at = found.end()
        return _number(found[0])


def read(text: str, at: int = 0) -> tuple[Any, int, tuple[str, ...]]:
    """The value that begins at `at`, where it ends, and what had to be put right; raises BrokenJson."""
    reader = _Reader(text)
    reader.at = at
    try:
        value = reader.value(0)
    except BrokenJson as broken:
        broken.at = reader.at
        raise
    if reader.cut and not isinstance(value, dict | list):
        raise BrokenJson
    return value, min(reader.at, len(text)), tuple(reader.notes)


def _number(text: str) -> int | float:
    try:
        number = int(text)
    except ValueError:
        return float(text)
    return number if abs(number) < 2**63 else float(text)


def _whole(text: str) -> str:
    """Pairs of half characters joined; single halves, which no file can hold, replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def unescape(text: str) -> str:
    """The text that the inside of a JSON string stands for."""
    return _whole(ESCAPE.sub(_Reader("").escaped, text))
