"""Scripts of sed and awk: those that only print or write are read, others are code like any other."""

import re
from collections.abc import Callable, Sequence

from overt.safety.programs.program_call import ProgramCall
from overt.safety.shell.words import Word, literal


def sed(call: ProgramCall) -> None:
    options = call.options("-e -f -l --expression --file --line-length")
    files = [*options.values("-f", "--file", exact=False)]
    texts = [*options.values("-e", "--expression", exact=False)]
    if options.has("-i", "-I", "--in-place", exact=False):
        call.dangerous("edits files in place", options.operands if files or texts else options.operands[1:])
    else:
        _classify_script(call, files, texts or options.operands[:1], _read_sed)


def awk(call: ProgramCall) -> None:
    options = call.options("-F -v -f -e -i -l -E --assign --field-separator --file --source --include --load --exec")
    if options.has("-i", "-l", "--include", "--load", "-E", "--exec", exact=False):
        call.dangerous("loads code that may write files", kind="code")
    elif options.has("-o", "--pretty-print", "-p", "--profile", "-d", "--dump-variables"):
        call.dangerous("writes files", kind="code")
    else:
        files = [*options.values("-f", "--file", exact=False)]
        _classify_script(
            call, files, [*options.values("-e", "--source", exact=False)] or options.operands[:1], _read_awk
        )


Effects = list[str] | None
"""Files that a script writes; None where it does more, or cannot be read."""


def _classify_script(
    call: ProgramCall, files: Sequence[Word], texts: Sequence[Word], read: Callable[[str], Effects]
) -> None:
    if any(word.stream or word.text in ("-", "/dev/stdin") for word in files):
        call.unreadable("is given a computed script")
    elif files:
        call.ordinary("runs a script")
    elif any(word.made or (word.computed and word.plain == "1") for word in texts):
        call.unreadable("is given a computed script")
    elif (written := read("\n".join(word.plain for word in texts))) is None:
        call.inline("has a script that may run commands")
    else:
        call.harmless()
        for name in written:
            call.write(literal(name))


BRACKET = r"\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]\n])*\]"


def _sed_step(regex: str) -> re.Pattern[str]:
    """One command of sed with its addresses; `regex` is what stands in a regular expression, ended by MARK."""

    def address(mark: str) -> str:
        body = regex.replace("MARK", f"(?P={mark})")
        return rf"(?:\d+(?:~\d+)?|\$|[+~]\d+|\\?(?P<{mark}>(?<=\\)[^\\\n]|/)(?:{body})*+(?P={mark})[IM]*)"

    return re.compile(
        rf"""(?:{address("a")}(?:[\s!]*,[\s!]*{address("b")})?)?[\s!]*(?:(?P<runs>e)|[wW](?P<file>[^\n]*)|[{{}}=dDgGhHnNpPxzF]
        |s(?P<s>[^\\\n])(?:{regex.replace("MARK", "(?P=s)")})*+(?P=s)(?:\\.|(?!(?P=s))[^\\])*+(?P=s)
        [gpiImM0-9\ \t]*(?P<also>e)?(?:w(?P<copy>[^\n]*))?
        |y(?P<y>[^\\\n])(?:(?:\\.|(?!(?P=y))[^\\])*+(?P=y)){{2}}|[aic](?:[^\n\\]|\\.)*+|[\#rR][^\n]*
        |[:btTv][ \t]*[^\s;}}]*|[qQlL][ \t]*\d*)[\s;]*""",
        re.VERBOSE | re.DOTALL,
    )


SED_STEPS = (_sed_step(rf"(?!MARK){BRACKET}|\\.|(?!MARK)[^\\]"), _sed_step(r"\\.|(?!MARK)[^\\]"))
"""Whether brackets hide the delimiter of a regular expression differs from one sed to another."""


def _read_sed(script: str) -> Effects:
    """What the script writes by any reading of it; by one of them it must be complete."""
    written: list[str] = []
    complete = False
    for step in SED_STEPS:
        at = len(script) - len(script.lstrip("; \t\n"))
        while at < len(script) and (match := step.match(script, at)):
            if match["runs"] or match["also"]:
                return None
            written += [name.strip() for name in match.group("file", "copy") if name is not None]
            at = match.end()
        complete |= at >= len(script)
    return written if complete or written else None


AWK_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_]\w*)
    |(?P<number>[0-9.]+)|(?P<operator>\|\||&&|>>|[<>=!]=|!~|\|&|.|\n)""",
    re.VERBOSE | re.DOTALL,
)
AWK_TARGET = re.compile(r'\s*"([^"\\]*)"\s*(?:[;}\n)]|$)')
AWK_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])*/")


def _read_awk(text: str) -> Effects:
    """Output that goes elsewhere is written `print … > file`, outside parentheses; `|` always meets a command."""
    written: list[str] = []
    at, depth, printing, value = 0, 0, -1, False
    while at < len(text):
        if not value and (regex := AWK_REGEX.match(text, at)):
            at, value = regex.end(), True
            continue
        match = AWK_TOKEN.match(text, at)
        if match is None:
            return None
        at, kind, token = match.end(), match.lastgroup, match[0]
        if kind == "space":
            continue
        value = kind in ("string", "number", "name") or token in (")", "]", "$")
        if kind == "name":
            value = token not in ("return", "print", "printf", "in", "case", "do", "else")
            printing = depth if token in ("print", "printf") else printing
        depth += (token in "([") - (token in ")]")
        target = AWK_TARGET.match(text, at) if token in (">", ">>") and printing == depth else None
        if target:
            written.append(target[1])
        elif token in ("system", "|", "|&", "@") or (token in (">", ">>") and printing == depth):
            return None
        if token in (";", "}", "\n"):
            printing = -1
    return written


HANDLERS: dict[str, Callable[[ProgramCall], None]] = {
    "sed": sed,
    **dict.fromkeys("awk gawk mawk nawk goawk".split(), awk),
}
