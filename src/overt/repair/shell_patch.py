"""A patch that a model hands to `apply_patch` in a shell command, as it does where that is a program."""

import re
from posixpath import isabs, join, normpath

FOLDER = r"'[^'\n]*'|\"[^\"$`\\\n]*\"|[\w./@+-]+"
START = rf"\s*(?:cd[ \t]+(?P<folder>{FOLDER})[ \t]*(?:&&|;|\n)\s*)?apply_?patch(?P<rest>[ \t]*<<|[ \t]+['\"])"
HEREDOC = r"<<(?P<tabs>-?)[ \t]*(?P<quote>['\"]?)(?P<word>\w+)(?P=quote)[ \t]*\n"
SINGLE = r"'[^']*'(?:(?:\\'|\"'\")'[^']*')*"
"""One word in single quotes; a quote in it is written as `'\\''` or `'"'"'`."""
DOUBLE = r'"(?:[^"\\]|\\.|\\\n)*"'
CAT = r'"\$\([ \t]*cat[ \t]*(?=<<)'
NAME = r"(?i)^([ \t]*)(\*{3}[ \t]*(?:(?:Add|Update|Delete) File|Move to)[ \t]*:)[ \t]*(.*?)[ \t]*$"
BEGIN = "*** Begin Patch"


def find_shell_patch(command: str, folder: str = "") -> str | None:
    """Return the patch of a command that begins with `apply_patch`, or None for any other command.

    It is empty if the command does more than apply the patch. Its paths are relative to where commands start:
    `folder` is where this one runs, and a `cd` before `apply_patch` leads on from there.
    """
    start = re.match(START, command) if BEGIN in command else None
    if start is None:
        return None
    rest = command[start.start("rest") :].strip()
    text = _heredoc(rest) if rest.startswith("<<") else _quoted(rest)
    if BEGIN not in text:
        return ""
    return _below(text, join(folder, (start["folder"] or "").strip("'\"")))


def _heredoc(rest: str) -> str:
    """Return the lines up to the closing word as they are, or nothing if a command follows them."""
    opening = re.match(HEREDOC, rest)
    if opening is None:
        return ""
    lines = rest[opening.end() :].split("\n")
    if opening["tabs"]:
        lines = [line.lstrip("\t") for line in lines]
    end = next((at for at, line in enumerate(lines) if line.rstrip() == opening["word"]), len(lines))
    return "" if "".join(lines[end + 1 :]).strip() else "\n".join(lines[:end]) + "\n"


def _quoted(rest: str) -> str:
    """Return the only word of a command line as the shell reads it, or nothing if there is more, or a substitution."""
    if opening := re.match(CAT, rest):
        return _heredoc(rest[opening.end() : -2].strip()) if rest.endswith(')"') else ""
    if re.fullmatch(SINGLE, rest):
        return rest[1:-1].replace("'\\''", "'").replace("'\"'\"'", "'")
    if re.fullmatch(DOUBLE, rest) and not rest.startswith('"$('):
        return re.sub(r"\\([$`\"\\])", r"\1", rest[1:-1])
    return ""


def _below(text: str, folder: str) -> str:
    """Return the patch with its paths below a folder. Only markers indented like the first one name a file."""
    if normpath(folder or ".") == ".":
        return text
    lines = text.split("\n")
    indent = next((match[1] for line in lines if (match := re.match(NAME, line))), "")
    for at, line in enumerate(lines):
        match = re.match(NAME, line)
        if match and match[1] == indent and not isabs(match[3]):
            lines[at] = f"{match[1]}{match[2]} {normpath(join(folder, match[3]))}"
    return "\n".join(lines)
