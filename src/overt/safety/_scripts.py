"""Scripts of sed and awk: those that only print are harmless, others are code like any other."""

import re
from collections.abc import Callable, Sequence

from overt.safety._call import Call
from overt.safety._words import Word


def sed(call: Call) -> None:
    given = call.options("-e -f -l --expression --file --line-length")
    files = [*given.values("-f", "--file", exact=False)]
    texts = [*given.values("-e", "--expression", exact=False)]
    if given.has("-i", "-I", "--in-place", exact=False):
        call.dangerous("edits files in place", given.operands if files or texts else given.operands[1:])
    else:
        _judge_script(call, files, texts or given.operands[:1], _sed_prints)


def awk(call: Call) -> None:
    given = call.options("-F -v -f -e -i -l -E --assign --field-separator --file --source --include --load --exec")
    if given.has("-i", "-l", "--include", "--load", "-E", "--exec", exact=False):
        call.dangerous("loads code that may write files", kind="code")
    elif given.has("-o", "--pretty-print", "-p", "--profile", "-d", "--dump-variables"):
        call.dangerous("writes files", kind="code")
    else:
        files = [*given.values("-f", "--file", exact=False)]
        _judge_script(call, files, [*given.values("-e", "--source", exact=False)] or given.operands[:1], _awk_prints)


def _judge_script(call: Call, files: Sequence[Word], texts: Sequence[Word], prints: Callable[[str], bool]) -> None:
    if any(word.stream or word.text in ("-", "/dev/stdin") for word in files):
        call.unreadable("is given a computed script")
    elif files:
        call.ordinary("runs a script")
    elif any(word.made or (word.computed and word.plain == "1") for word in texts):
        call.unreadable("is given a computed script")
    elif prints("\n".join(word.plain for word in texts)):
        call.harmless()
    else:
        call.inline("has a script that may write files or run commands")


BRACKET = r"\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]\n])*\]"


def _sed_step(regex: str) -> re.Pattern[str]:
    """One command of sed with its addresses; `regex` is what stands in a regular expression, ended by MARK."""

    def address(mark: str) -> str:
        body = regex.replace("MARK", f"(?P={mark})")
        return rf"(?:\d+(?:~\d+)?|\$|[+~]\d+|\\?(?P<{mark}>(?<=\\)[^\\\n]|/)(?:{body})*+(?P={mark})[IM]*)"

    return re.compile(
        rf"""(?:{address("a")}(?:[\s!]*,[\s!]*{address("b")})?)?[\s!]*(?:(?P<does>[ewW])|[{{}}=dDgGhHnNpPxzF]
        |s(?P<s>[^\\\n])(?:{regex.replace("MARK", "(?P=s)")})*+(?P=s)(?:\\.|(?!(?P=s))[^\\])*+(?P=s)
        [gpiImM0-9\ \t]*(?P<flag>[ew])?
        |y(?P<y>[^\\\n])(?:(?:\\.|(?!(?P=y))[^\\])*+(?P=y)){{2}}|[aic](?:[^\n\\]|\\.)*+|[\#rR][^\n]*
        |[:btTv][ \t]*[^\s;}}]*|[qQlL][ \t]*\d*)[\s;]*""",
        re.VERBOSE | re.DOTALL,
    )


SED_STEPS = (_sed_step(rf"(?!MARK){BRACKET}|\\.|(?!MARK)[^\\]"), _sed_step(r"\\.|(?!MARK)[^\\]"))
"""Whether brackets hide the delimiter of a regular expression differs from one sed to another."""


def _sed_prints(script: str) -> bool:
    """By one reading of it the script is complete, and by none it writes or runs anything."""
    complete = False
    for step in SED_STEPS:
        at = len(script) - len(script.lstrip("; \t\n"))
        while at < len(script) and (found := step.match(script, at)):
            if found["does"] or found["flag"]:
                return False
            at = found.end()
        complete |= at >= len(script)
    return complete


AWK_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*
    |>>?\s*"/dev/(?:stdout|stderr|null)"\s*(?=[;}\n]|$))|(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<name>[A-Za-z_]\w*)|(?P<number>[0-9.]+)|(?P<operator>\|\||&&|>>|[<>=!]=|!~|\|&|.|\n)""",
    re.VERBOSE | re.DOTALL,
)
AWK_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])*/")


def _awk_prints(text: str) -> bool:
    """Output that goes elsewhere is written `print … > file`, outside parentheses; `|` always meets a command."""
    at, depth, printing, value = 0, 0, -1, False
    while at < len(text):
        if not value and (regex := AWK_REGEX.match(text, at)):
            at, value = regex.end(), True
            continue
        found = AWK_TOKEN.match(text, at)
        if found is None:
            return False
        at, kind, token = found.end(), found.lastgroup, found[0]
        if kind == "space":
            continue
        value = kind in ("string", "number", "name") or token in (")", "]", "$")
        if kind == "name":
            value = token not in ("return", "print", "printf", "in", "case", "do", "else")
            printing = depth if token in ("print", "printf") else printing
        depth += (token in "([") - (token in ")]")
        if token in ("system", "|", "|&", "@") or (token in (">", ">>") and printing == depth):
            return False
        if token in (";", "}", "\n"):
            printing = -1
    return True


HANDLERS: dict[str, Callable[[Call], None]] = {
    "sed": sed,
    **dict.fromkeys("awk gawk mawk nawk goawk".split(), awk),
}
