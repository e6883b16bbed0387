"""Scripts of sed and awk, read for what they write and run."""

import re
from collections.abc import Callable, Sequence

from overt.safety._call import Call
from overt.safety._items import STREAM
from overt.safety._options import Options
from overt.safety._words import Word, literal

OUTPUTS = ("/dev/stdout", "/dev/stderr", "/dev/null", "-", "/dev/tty")

# ── sed ──────────────────────────────────────────────────────────────────────────────────────────────────

SED_BRACKET = r"\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]\n])*\]"
SED_BLANK = re.compile(r"[\s;]*")
SED_NUMBER = re.compile(r"\d+(?:~\d+)?|\$|[+~]\d+")
SED_GAP = re.compile(r"[\s!]*")
SED_LABEL = re.compile(r"[ \t]*[^\s;}]*")
SED_COUNT = re.compile(r"[ \t]*\d*")
SED_FLAGS = re.compile(r"[gpiImMe0-9 \t]*")
SED_PLAIN = "{}=dDgGhHnNpPxzF"
MOST_READINGS = 200

Effects = list[str | None]
"""Files that a script writes; None among them for a command that it runs."""


def sed(call: Call) -> None:
    given = call.options("-e -f -l --expression --file --line-length")
    if given.has("-i", "-I", "--in-place", exact=False):
        return call.dangerous("edits files in place", _edited(given))
    scripts = [*given.values("-e", "--expression", exact=False)]
    from_file = [*given.values("-f", "--file", exact=False)]
    if not scripts and not from_file:
        scripts = list(given.operands[:1])
    if any(word.stream or word.text in ("-", "/dev/stdin") for word in from_file):
        return call.unreadable("is given a computed script")
    call.ordinary("runs a script") if from_file else call.harmless()
    if any(word.made or (word.computed and word.plain == "1") for word in scripts):
        return call.unreadable("is given a computed script")
    written, complete = _Sed("\n".join(word.plain for word in scripts)).read()
    if not complete:
        call.unreadable("has a script that could not be read")
    for name in written:
        if name is None:
            call.dangerous("runs a command from its script", kind="code")
        else:
            call.write(literal(name))
    return None


def _edited(given: Options) -> Sequence[Word]:
    """The files: all operands, without the script where no option holds it."""
    has_script = given.has("-e", "--expression", "-f", "--file", exact=False)
    return given.operands if has_script else given.operands[1:]


class _Sed:
    """Where a regular expression ends depends on whether brackets hide its delimiter, which differs from one sed to
    another: all readings that make a script are followed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.readings = 0

    def read(self, at: int = 0) -> tuple[Effects, bool]:
        """The effects, and whether the whole script was understood."""
        self.readings += 1
        text = self.text
        effects: Effects = []
        while (at := _end(SED_BLANK, text, at)) < len(text):
            place, ends = self.addresses(at)
            if ends:
                return self.branch([(end, []) for end in ends], effects)
            if place >= len(text) or self.readings > MOST_READINGS:
                return effects, False
            command, at = text[place], place + 1
            if command in "sy":
                ends = self.delimited(at, parts=2, brackets=command == "s")
                if len(ends) != 1:
                    return self.branch([self.flags(end, command) for end in ends], effects)
                at, found = self.flags(ends[0], command)
                effects += found
            elif command in "wW":
                end = _line_end(text, at)
                effects.append(text[at:end].strip())
                at = end
            elif command == "e":
                effects.append(None)
                at = _line_end(text, at)
            elif command in "aic#rR":
                at = _line_end(text, at, continued=command in "aic")
            elif command in ":btTvqQlL":
                at = _end(SED_COUNT if command in "qQlL" else SED_LABEL, text, at)
            elif command not in SED_PLAIN:
                return effects, False
        return effects, True

    def branch(self, ends: list[tuple[int, Effects]], effects: Effects) -> tuple[Effects, bool]:
        complete = False
        for end, found in ends:
            more, whole = self.read(end)
            effects = [*effects, *found, *more]
            complete |= whole
        return effects, complete

    def addresses(self, at: int) -> tuple[int, list[int]]:
        """Where the command stands; or, when that is not certain, the places where an address may end."""
        text = self.text
        for _ in range(2):
            if text[at : at + 1] in ("/", "\\"):
                start = at if text[at] == "/" else at + 1
                ends = self.delimited(start, parts=1, brackets=True)
                if len(ends) != 1:
                    return len(text), ends
                at = _end(re.compile(r"[IM]*"), text, ends[0])
            else:
                at = _end(SED_NUMBER, text, at)
            at = _end(SED_GAP, text, at)
            if text[at : at + 1] != ",":
                break
            at = _end(SED_GAP, text, at + 1)
        return at, []

    def delimited(self, at: int, *, parts: int, brackets: bool) -> list[int]:
        """Where the parts that follow a delimiter end, by every reading of it."""
        mark = self.text[at : at + 1]
        if not mark or mark in "\\\n":
            return []
        delimiter = re.escape(mark)
        plain = rf"(?:\\.|(?!{delimiter})[^\\])*+{delimiter}"
        hiding = rf"(?>{SED_BRACKET}|\\.|(?!{delimiter})[^\\])*+{delimiter}" if mark not in "[]" else plain
        found = [
            re.compile(delimiter + first + plain * (parts - 1), re.DOTALL).match(self.text, at)
            for first in ((hiding, plain) if brackets else (plain,))
        ]
        return sorted({each.end() for each in found if each})

    def flags(self, at: int, command: str) -> tuple[int, Effects]:
        if command == "y":
            return at, []
        end = _end(SED_FLAGS, self.text, at)
        effects: Effects = [None] if "e" in self.text[at:end] else []
        if self.text[end : end + 1] == "w":
            line = _line_end(self.text, end)
            return line, [*effects, self.text[end + 1 : line].strip()]
        return end, effects


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _line_end(text: str, at: int, *, continued: bool = False) -> int:
    """The end of a line; with `continued`, of the first one that no odd number of backslashes ends."""
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        line = text[at:end]
        if not continued or (len(line) - len(line.rstrip("\\"))) % 2 == 0:
            return end
        at = end + 1


# ── awk ──────────────────────────────────────────────────────────────────────────────────────────────────

AWK_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n)|(?P<comment>\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_]\w*)
    |(?P<number>[0-9.]+)|(?P<operator>\|\||&&|>>|[<>=!]=|!~|\|&|.|\n)""",
    re.VERBOSE | re.DOTALL,
)
AWK_TO = re.compile(r'\s*"([^"\n]*)"\s*(?:[;}\n)]|$)')
AWK_FROM = re.compile(r"\s*(getline)\b")
AWK_BEGINS = ("", "(", "{", ";", "\n", "!", "&&", "||")
"""What may stand before a command's text so that no other text belongs to it."""

AWK_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])*/")


def awk(call: Call) -> None:
    given = call.options("-F -v -f -e -i -l -E --assign --field-separator --file --source --include --load --exec")
    if given.has("-i", "-l", "--include", "--load", "-E", "--exec", exact=False):
        return call.dangerous("loads code that may write files", kind="code")
    if given.has("-o", "--pretty-print", "-p", "--profile", "-d", "--dump-variables"):
        return call.dangerous("writes files", kind="code")
    files = [*given.values("-f", "--file", exact=False)]
    scripts = [*given.values("-e", "--source", exact=False)]
    if not files and not scripts:
        scripts = list(given.operands[:1])
    if any(word.stream or word.text in ("-", "/dev/stdin") for word in files):
        return call.unreadable("is given a computed script")
    call.ordinary("runs a script") if files else call.harmless()
    for word in scripts:
        if word.made or (word.computed and word.plain == "1"):
            call.unreadable("is given a computed script")
        else:
            _awk_script(call, word.plain)
    return None


def _awk_script(call: Call, text: str) -> None:
    """Output that goes elsewhere is written `print … > file`, outside parentheses; `|` always meets a command."""
    at, depth, printing, value = 0, 0, -1, False
    before = ["", "", ""]
    while at < len(text):
        if not value and (regex := AWK_REGEX.match(text, at)):
            at, value = regex.end(), True
            continue
        found = AWK_TOKEN.match(text, at)
        if found is None:
            return call.unreadable("has a script that could not be read")
        at = found.end()
        kind, token = found.lastgroup, found[0]
        if kind in ("space", "comment"):
            continue
        before = [*before[1:], token] if token != "|" else before
        value = kind in ("string", "number", "name") or token in (")", "]", "$")
        if kind == "name":
            value = token not in ("return", "print", "printf", "in", "case", "do", "else")
            printing = depth if token in ("print", "printf") else printing
            if token == "system":
                return call.dangerous("runs a command from its script", kind="code")
        elif token in ("|", "|&", "@"):
            piped = AWK_TO.match(text, at) if printing >= 0 else AWK_FROM.match(text, at)
            if token != "|" or not piped or (printing < 0 and not (before[2][:1] == '"' and before[1] in AWK_BEGINS)):
                return call.dangerous("runs a command from its script", kind="code")
            call.bench.script(piped[1] if printing >= 0 else before[2][1:-1], depth=call.depth + 1, feed=STREAM)
            if "\\" in (piped[1] if printing >= 0 else before[2]):
                call.unreadable("runs a command from its script")
        elif token in (">", ">>") and printing == depth:
            target = re.compile(r'\s*"([^"\\]*)"\s*(?:[;}\n)]|$)').match(text, at)
            if not target:
                return call.unreadable("writes to a file whose name is computed")
            if target[1] not in OUTPUTS:
                call.write(literal(target[1]), append=token == ">>")
        elif token in "([{":
            depth += token != "{"
        elif token in ")]":
            depth -= 1
        if token in (";", "}", "\n"):
            printing = -1
    return None


HANDLERS: dict[str, Callable[[Call], None]] = {
    "sed": sed,
    "gsed": sed,
    **dict.fromkeys("awk gawk mawk nawk goawk".split(), awk),
}
