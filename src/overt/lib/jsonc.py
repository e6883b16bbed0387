"""JSON with comments and trailing commas, read strictly, with the line of every value."""

import re

from msgspec import Struct, json

Path = tuple[str | int, ...]

DEPTH = 64
DIGITS = 64

GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
STRING = re.compile(r'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"')
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?(?![\w.+-])", re.ASCII)
WORD = re.compile(r"[\w.+-]+")
CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


class Malformed(ValueError):
    """The text breaks the rules of its format at `line` (counted from 1)."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


class RepeatedKey(Malformed):
    """An object has a key twice."""


class Located(Struct, frozen=True, kw_only=True):
    """A parsed tree and the line on which each key or list item begins."""

    value: object
    lines: dict[Path, int]


def parse(text: str) -> Located:
    """Read a whole text; comments, trailing commas and a byte order mark are allowed, repeated keys are not."""
    reader = _Reader(text.removeprefix("\ufeff"))
    reader.skip()
    value = reader.value(())
    reader.skip()
    if reader.at < len(reader.text):
        raise reader.wrong(f"expected the end of the file, found {reader.found()}")
    return Located(value=value, lines=reader.lines)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._counted = 0
        self._line = 1

    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def wrong(self, what: str) -> Malformed:
        return Malformed(what, self.line())

    def found(self) -> str:
        if self.at >= len(self.text):
            return "the end of the file"
        word = WORD.match(self.text, self.at)
        return repr((word.group() if word else self.text[self.at])[:20])

    def skip(self) -> None:
        gap = GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        if self.text.startswith("/*", self.at):
            raise self.wrong("a comment that begins with /* does not end")

    def value(self, path: Path) -> object:
        self.lines[path] = self.line()
        if len(path) > DEPTH:
            raise self.wrong(f"nested deeper than {DEPTH} levels")
        match self.text[self.at : self.at + 1]:
            case "{":
                return self.table(path)
            case "[":
                return self.list(path)
            case '"':
                return self.string()
            case _:
                return self.scalar()

    def scalar(self) -> int | float | bool | None:
        if number := NUMBER.match(self.text, self.at):
            return self.number(number)
        word = WORD.match(self.text, self.at)
        if word and word.group() in CONSTANTS:
            self.at = word.end()
            return CONSTANTS[word.group()]
        raise self.wrong(f"expected a value, found {self.found()}")

    def number(self, match: re.Match[str]) -> int | float:
        text = match.group()
        if len(text) > DIGITS:
            raise self.wrong(f"a number of more than {DIGITS} digits")
        self.at = match.end()
        if match.group(1) is None and match.group(2) is None:
            return int(text)
        found = float(text)
        if found in (float("inf"), float("-inf")):
            raise self.wrong("a number too large to hold")
        return found

    def string(self) -> str:
        match = STRING.match(self.text, self.at)
        if match is None:
            raise self.wrong("a text that does not end on its line")
        try:
            found: str = json.decode(match.group().encode(), type=str)
        except ValueError as error:
            raise self.wrong("a text with an invalid escape or control character") from error
        self.at = match.end()
        return found

    def list(self, path: Path) -> list[object]:
        self.at += 1
        items: list[object] = []
        while not self.closed("]"):
            items.append(self.value((*path, len(items))))
            self.comma("]")
        return items

    def table(self, path: Path) -> dict[str, object]:
        self.at += 1
        items: dict[str, object] = {}
        while not self.closed("}"):
            if self.text[self.at : self.at + 1] != '"':
                raise self.wrong(f'expected a key in "quotes", found {self.found()}')
            line = self.line()
            key = self.string()
            if key in items:
                raise RepeatedKey(f"the key {key[:40]!r} stands twice, first on line {self.lines[(*path, key)]}", line)
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                raise self.wrong(f"expected `:` after the key {key[:40]!r}, found {self.found()}")
            self.at += 1
            self.skip()
            items[key] = self.value((*path, key))
            self.lines[(*path, key)] = line
            self.comma("}")
        return items

    def closed(self, end: str) -> bool:
        self.skip()
        if self.text[self.at : self.at + 1] != end:
            return False
        self.at += 1
        return True

    def comma(self, end: str) -> None:
        self.skip()
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1
        elif self.text[self.at : self.at + 1] != end:
            raise self.wrong(f"expected `,` or `{end}`, found {self.found()}")
