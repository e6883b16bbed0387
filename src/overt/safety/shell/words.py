"""What one shell word becomes: quotes removed, braces expanded, and what only the shell can know marked as such.

The grammar finds where a word begins and ends; its inside is read here once more, from left to right as the
shell does. Where the two disagree the word has a problem, and whoever asked treats it as not understood.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from overt.safety.programs.listing_commands import references, substituted_names
from overt.safety.shell.quoting import ANSI_C, MOST_WORDS, after_bracket, after_quote, ansi_c, expand_braces

Values = Mapping[str, str | None]
"""Variables that the text sets: to a literal, to NAMES, or to None when it computes them. Others come from outside."""

NAMES = "\0names"
"""The value of a variable that holds names of files, commits and the like: not known, but never an option."""

DEFAULTS = "\0defaults"
"""Among values: the text is read as if every `${x:-text}` became its text."""

NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!_-]")
EXPANSION = re.compile(r"([#!]?)([A-Za-z_]\w*|[0-9@*#?$!-])(\[[^\]]*\])?(.*)", re.DOTALL)
TWO_WORDS = re.compile(r"[A-Za-z_]\w*\s+[-A-Za-z_./~\"'$]")


SHELL_SETS = frozenset("@ * _ REPLY MAPFILE BASH_REMATCH OPTARG BASH_ARGV BASH_EXECUTION_STRING COMP_WORDS".split())
"""Variables that the shell fills from what the text says elsewhere."""


class Word(Struct, frozen=True, kw_only=True):
    """`text` is what the program would get; pieces unknown until it runs stand in it as they are written.

    `plain` has the digit 1 in their place. `leads`: the first piece is unknown, so it may be an option.
    `computed`: an unknown piece is made by this very text. `splits`: it may become several words.
    `stream`: it names the output of another command. `patched`: an option with an unknown piece in its name.
    `made`: the text itself decides what an unknown piece becomes, in ways not followed; `crafted`: so that it may
    become an option. `places`: paths and globs among which an unknown word is.
    """

    text: str
    plain: str = ""
    hole: bool = False
    leads: bool = False
    computed: bool = False
    splits: bool = False
    glob: bool = False
    stream: bool = False
    patched: bool = False
    made: bool = False
    crafted: bool = False
    places: tuple[str, ...] = ()

    @property
    def wild(self) -> bool:
        return self.leads and self.computed and self.splits

    @property
    def literal(self) -> bool:
        return not self.hole and not self.glob


def literal(text: str) -> Word:
    return Word(text=text, plain=text)


NAMED = Word(text="{}", plain="1", hole=True, leads=True, computed=True)
"""The name of a file that is found when the command runs, as for `find -exec`."""

UNKNOWN = Word(text="{}", plain="1", hole=True, leads=True, computed=True, made=True, crafted=True)
"""An argument that comes from elsewhere, as those of `xargs` do: it may be an option."""


class Scanned(Struct, frozen=True, kw_only=True):
    """`inner` are the commands substituted in it; `problem` says why it could not be read."""

    words: tuple[Word, ...] = ()
    inner: tuple[str, ...] = ()
    problem: str = ""


def scan(raw: str, values: Values) -> Scanned:
    """Read one word; it may become several, or none."""
    words: list[Word] = []
    inner: list[str] = []
    problem = ""
    for piece in expand_braces(raw):
        scanner = _Scanner(piece, values)
        scanner.read(spaces=False)
        words += scanner.words
        inner += scanner.inner
        problem = problem or scanner.problem
        if len(words) > MOST_WORDS:
            return Scanned(words=tuple(words), inner=tuple(inner), problem="a word that becomes very many")
    return Scanned(words=tuple(words), inner=tuple(inner), problem=problem)


def substitutions(raw: str) -> Scanned:
    """The commands substituted in a stretch of text that is not one word: a test, an array, arithmetic."""
    scanner = _Scanner(raw, {})
    scanner.read(spaces=True)
    return Scanned(inner=tuple(scanner.inner), problem=scanner.problem)


def here_text(body: str) -> Scanned:
    """The same for a here-document whose end marker was not quoted."""
    scanner = _Scanner(body, {})
    scanner.here()
    return Scanned(inner=tuple(scanner.inner), problem=scanner.problem)


class _Scanner:
    def __init__(self, raw: str, values: Values) -> None:
        self.raw = raw
        self.values = values
        self.at = 0
        self.words: list[Word] = []
        self.inner: list[str] = []
        self.problem = ""
        self._clear()

    def _clear(self) -> None:
        self._text: list[str] = []
        self._plain: list[str] = []
        self._quoted = self._hole = self._leads = self._computed = self._splits = False
        self._glob = self._stream = self._made = self._crafted = False

    def _flush(self) -> None:
        if any(self._text) or self._quoted:
            self.words.append(
                Word(
                    text="".join(self._text),
                    plain="".join(self._plain),
                    hole=self._hole,
                    leads=self._leads,
                    computed=self._computed,
                    splits=self._splits,
                    glob=self._glob,
                    stream=self._stream,
                    patched=self._hole and self._patched(),
                    made=self._made,
                    crafted=self._crafted,
                )
            )
        self._clear()

    def _patched(self) -> bool:
        """`-del${x}ete` and `${x}-delete` are options when x is empty."""
        before = ""
        unknown = False
        for text, plain in zip(self._text, self._plain, strict=True):
            begins = (text.startswith("-") and not before) or (text[:1].isalpha() and before.startswith("-"))
            if unknown and begins and text == plain and "=" not in before:
                return True
            unknown |= text != plain
            before += text if text == plain else ""
        return False

    def _add(self, text: str) -> None:
        self._text.append(text)
        self._plain.append(text)

    def _unknown(self, source: str, *, quoted: bool, computed: bool, made: bool = False) -> None:
        if not any(self._text):
            self._leads = True
        if made:
            before = "".join(text for text, plain in zip(self._text, self._plain, strict=True) if text == plain)
            self._made = True
            self._crafted |= not quoted or not before or (before[0] == "-" and "=" not in before)
        self._text.append(source)
        self._plain.append("1")
        self._hole = True
        self._computed |= computed
        self._splits |= not quoted

    def read(self, *, spaces: bool) -> None:
        raw = self.raw
        while self.at < len(raw):
            char = raw[self.at]
            if char in " \t\n":
                if not spaces:
                    self.problem = "words that run together"
                self.at += 1
                self._flush()
            elif char == "\\":
                if raw[self.at + 1 : self.at + 2] != "\n":
                    self._quote(raw[self.at + 1 : self.at + 2], self.at)
                self.at += 2
            elif char == "'":
                end = after_quote(raw, self.at)
                self._quote(raw[self.at + 1 : end - 1], end)
            elif char == '"':
                self._quoted = True
                self.at += 1
                self._double()
            elif char in "$`":
                self._dollar(quoted=False)
            elif char in "<>" and raw[self.at + 1 : self.at + 2] == "(":
                self._stream = True
                self._substitution(after_bracket(raw, self.at + 1), 2, quoted=True)
            else:
                self._glob |= char in "*?["
                self._add(char)
                self.at += 1
        if self.at > len(raw):
            self.problem = "a quote or bracket that never ends"
        self._flush()

    def here(self) -> None:
        while self.at < len(self.raw):
            char = self.raw[self.at]
            if char == "\\":
                self.at += 2
            elif char in "$`":
                self._dollar(quoted=True)
            else:
                self.at += 1

    def _quote(self, text: str, end: int) -> None:
        self._quoted = True
        self._add(text)
        self.at = end

    def _double(self) -> None:
        raw = self.raw
        while self.at < len(raw):
            char = raw[self.at]
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                following = raw[self.at + 1 : self.at + 2]
                self._add("" if following == "\n" else following if following in '$`"\\' else char + following)
                self.at += 2
            elif char in "$`":
                self._dollar(quoted=True)
            else:
                self._add(char)
                self.at += 1
        self.at = len(raw) + 1

    def _dollar(self, *, quoted: bool) -> None:
        raw, at = self.raw, self.at
        following = raw[at + 1 : at + 2]
        if raw[at] == "`":
            end = after_quote(raw, at)
            self.inner.append(re.sub(r"\\([$`\\])" if not quoted else r'\\([$`\\"])', r"\1", raw[at + 1 : end - 1]))
            self._unknown(raw[at:end], quoted=quoted, computed=True, made=not self._lists(raw[at:end]))
            self.at = end
        elif following == "(":
            self._parenthesis(quoted=quoted)
        elif following == "{":
            self._braces(quoted=quoted)
        elif following == "[":
            end = after_bracket(raw, at + 1)
            self._soup(raw[at + 2 : end - 1])
            self._unknown(raw[at:end], quoted=True, computed=False)
            self.at = end
        elif following == "'" and not quoted:
            match = ANSI_C.match(raw, at + 2)
            end = match.end() if match else len(raw) + 1
            self._quote(ansi_c(raw[at + 2 : end - 1]), end)
        elif following == '"' and not quoted:
            self.at += 1
        elif match := NAME.match(raw, at + 1):
            self.at = match.end()
            self._variable(match[0], raw[at : self.at], quoted=quoted)
        else:
            self._add("$")
            self.at += 1

    def _substitution(self, end: int, skip: int, *, quoted: bool) -> None:
        source = self.raw[self.at : end]
        self.inner.append(source[skip:-1])
        self._unknown(source, quoted=quoted, computed=True, made=not (self._lists(source) or self._stream))
        self.at = end

    def _lists(self, source: str) -> bool:
        return substituted_names(source) and not any(self._dashed(name) for name in references(source))

    def _dashed(self, name: str) -> bool:
        """Whether a variable may hold a dash because this text says so."""
        value = self.values.get(name, None if name in SHELL_SETS else NAMES)
        return value is None or (value != NAMES and "-" in value)

    def _parenthesis(self, *, quoted: bool) -> None:
        end = after_bracket(self.raw, self.at + 1)
        inside = self.raw[self.at + 2 : end - 1]
        if not (inside.startswith("(") and inside.endswith(")")):
            self._substitution(end, 2, quoted=quoted)
            return
        if TWO_WORDS.search(inside) or ";" in inside or "\n" in inside:
            self.inner.append(inside)
        self._soup(inside)
        self._unknown(self.raw[self.at : end], quoted=True, computed=False)
        self.at = end

    def _soup(self, text: str) -> None:
        result = substitutions(text)
        self.inner += result.inner
        self.problem = self.problem or result.problem

    def _braces(self, *, quoted: bool) -> None:
        end = after_bracket(self.raw, self.at + 1)
        source, inside = self.raw[self.at : end], self.raw[self.at + 2 : end - 1]
        self.at = end
        match = EXPANSION.fullmatch(inside)
        if not match:
            self.problem = "an expansion that could not be read"
            return
        mark, name, subscript, operation = match.groups()
        if re.search(r"@[^QEAaUuLKk]", operation[:2]):
            self.problem = "an expansion that runs its value as a prompt"
        if not (mark or subscript or operation):
            self._variable(name, source, quoted=quoted)
            return
        self._soup((subscript or "") + operation)
        default = re.fullmatch(r":?[-=+](.*)", operation, re.DOTALL)
        if default and DEFAULTS in self.values and not mark:
            self._instead(default[1], quoted=quoted)
            return
        computed = mark == "!" or "$(" in inside or "`" in inside or name in self.values
        replaced = operation.startswith("/") and "-" in operation
        made = mark == "!" or (mark != "#" and (replaced or self._dashed(name)))
        self._unknown(source, quoted=quoted or mark == "#", computed=computed, made=made)

    def _instead(self, text: str, *, quoted: bool) -> None:
        scanner = _Scanner(text, self.values)
        scanner.read(spaces=True)
        for place, word in enumerate(scanner.words):
            if place and not quoted:
                self._flush()
            elif place:
                self._add(" ")
            self._glob |= word.glob and not quoted
            if word.hole:
                self._unknown(word.text, quoted=quoted, computed=word.computed, made=word.made)
            else:
                self._add(word.text)

    def _variable(self, name: str, source: str, *, quoted: bool) -> None:
        value = self.values.get(name)
        if name == "IFS" and self.raw.strip('"') not in ("$IFS", "${IFS}"):
            self.problem = "a word glued together with $IFS"
        if value is None or value == NAMES or (not quoted and "IFS" in self.values):  # who knows where it is cut
            computed = name in self.values or name in SHELL_SETS
            self._unknown(source, quoted=quoted and name != "@", computed=computed, made=computed and value != NAMES)
        elif quoted:
            self._quoted = True
            self._add(value)
        else:
            self._glob |= any(char in value for char in "*?[")
            first, *rest = re.split(r"[ \t\n]+", value)
            self._add(first)
            for piece in rest:
                self._flush()
                self._add(piece)
