"""TOML with the line of every key: tomllib judges the text and gives the values, the scanner here only the lines."""

import re

from overt.lib.jsonc import DEPTH, Located, Malformed, Path

GAP = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
BLANK = re.compile(r"[ \t]*")
PART = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+')
TEXT = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']++|'(?!''))*'{3,5}"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
SCALAR = re.compile(r"[^,\]}#\n]+")
PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")
LONG_KEY = re.compile(rf"^[ \t\[]*(?:(?:{PART.pattern})[ \t]*\.[ \t]*){{{DEPTH}}}", re.MULTILINE)


def parse(text: str) -> Located:
    text = text.removeprefix("\ufeff")
    if long := LONG_KEY.search(text):
        # tomllib needs quadratic time for a key of very many parts.
        raise Malformed(f"nested deeper than {DEPTH} levels", text.count("\n", 0, long.start()) + 1)
    try:
        import tomllib  # late: 2 ms

        value: dict[str, object] = tomllib.loads(text)
    except RecursionError:
        raise Malformed(f"nested deeper than {DEPTH} levels", _most_nested(text)) from None
    except ValueError as error:
        raise _malformed(str(error), text) from None
    scanner = _Scanner(text.replace("\r\n", "\n"))
    scanner.document()
    return Located(value=value, lines=scanner.lines)


def _malformed(message: str, text: str) -> Malformed:
    place = PLACE.search(message)
    line = int(place.group(1)) if place and place.group(1) else text.rstrip("\n").count("\n") + 1 if place else 1
    what = PLACE.sub("", message)[:160]
    return Malformed(f"not valid TOML: {what[:1].lower()}{what[1:]}", line)


def _most_nested(text: str) -> int:
    counts = [line.count("[") + line.count("{") for line in text.split("\n")]
    return counts.index(max(counts)) + 1


class _Scanner:
    """Walks a text that is known to be valid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._lists: dict[Path, int] = {}
        self._counted = 0
        self._line = 1

    def document(self) -> None:
        table: Path = ()
        self.skip(GAP)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip(GAP)

    def header(self) -> Path:
        double = self.text.startswith("[[", self.at)
        self.at += 2 if double else 1
        self.skip(BLANK)
        line = self.line()
        parts = self.key()
        self.at += 2 if double else 1
        table: Path = ()
        for index, part in enumerate(parts):
            table = (*table, part)
            self.lines.setdefault(table, line)
            if double and index == len(parts) - 1:
                self._lists[table] = self._lists.get(table, -1) + 1
                self.lines[(*table, self._lists[table])] = line
            if table in self._lists:
                table = (*table, self._lists[table])
        return table

    def pair(self, table: Path) -> None:
        line = self.line()
        path = table
        for part in self.key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self.at += 1
        self.skip(BLANK)
        self.value(path)

    def key(self) -> list[str]:
        parts: list[str] = []
        while match := PART.match(self.text, self.at):
            parts.append(self.unquoted(match.group()))
            self.at = match.end()
            self.skip(BLANK)
            if self.text[self.at : self.at + 1] != ".":
                break
            self.at += 1
            self.skip(BLANK)
        return parts

    def unquoted(self, part: str) -> str:
        if part[0] == "'" or (part[0] == '"' and "\\" not in part):
            return part[1:-1]
        if part[0] != '"':
            return part
        import tomllib  # late: 2 ms

        found: str = tomllib.loads(f"k={part}")["k"]
        return found

    def value(self, path: Path) -> None:
        if len(path) > DEPTH:
            raise Malformed(f"nested deeper than {DEPTH} levels", self.line())
        match self.text[self.at : self.at + 1]:
            case "[":
                self.list(path)
            case "{":
                self.inline(path)
            case '"' | "'":
                self.skip(TEXT)
            case _:
                self.skip(SCALAR)

    def list(self, path: Path) -> None:
        self.at += 1
        index = 0
        while not self.closed("]"):
            self.lines[(*path, index)] = self.line()
            self.value((*path, index))
            index += 1

    def inline(self, path: Path) -> None:
        self.at += 1
        while not self.closed("}"):
            self.pair(path)

    def closed(self, end: str) -> bool:
        """True at the end of a list or table; a comma before it is passed over."""
        self.skip(GAP)
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1
            self.skip(GAP)
        if self.at < len(self.text) and self.text[self.at] != end:
            return False
        self.at += 1
        return True

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at + 1

    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line
