"""File name patterns: `*`, `?`, `[…]`, `{a,b}` within a name, `**` across folders."""

import re

from msgspec import Struct

WILD = r"[*?\[{\\]"
SPECIAL = r"([*?\[\]{}\\!])"


class Pattern(Struct, frozen=True, kw_only=True):
    """A pattern split for speed: a literal folder to start in, a name for ripgrep, and the whole for us.

    `name` is empty when any name will do; `whole` is empty when the name alone decides.
    """

    folder: str
    name: str
    whole: str


def split_pattern(pattern: str) -> Pattern:
    """A pattern without a slash matches at any depth."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")] if "{" not in pattern else [pattern]
    if len(parts) == 1 and "/" not in parts[0]:
        return Pattern(folder="", name="" if parts[0] == "**" else parts[0], whole="")
    escape_glob = 0
    while escape_glob < len(parts) - 1 and not re.search(WILD, parts[escape_glob]):
        escape_glob += 1
    folder, rest = "/".join(parts[:escape_glob]), parts[escape_glob:]
    name = rest[-1]
    if name == "**" or "/" in name or ":" in name:
        name = ""
    simple = name and rest[:-1] == ["**"]
    return Pattern(folder=folder, name=name, whole="" if simple or rest == ["**"] else "/".join(rest))


def escape_glob(name: str) -> str:
    """The pattern that matches exactly this name."""
    return re.sub(SPECIAL, r"[\1]", name).replace("[\\]", r"\\").replace("[!]", "!")


def compile_glob(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression for `fullmatch` on a path; repeated `**/` would take for ever to fail."""
    pattern = re.sub(r"(?:\*\*/)+", "**/", pattern)
    out: list[str] = []
    braces = position = 0
    while position < len(pattern):
        piece, position, braces = _piece(pattern, position, braces)
        out.append(piece)
    return re.compile("".join(out) + ")" * braces, re.DOTALL)


def _piece(pattern: str, at: int, braces: int) -> tuple[str, int, int]:
    """The expression for what stands at a position, where the next one starts, and how many braces are open."""
    if pattern.startswith("**/", at):
        return "(?:.*/)?", at + 3, braces
    if pattern.startswith("/**", at) and at + 3 == len(pattern):
        return "/.*", at + 3, braces
    if pattern.startswith("**", at):
        return ".*", at + 2, braces
    char = pattern[at]
    if char == "[" and (end := pattern.find("]", at + 2)) > 0:
        inner = pattern[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
        return f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]", end + 1, braces
    if char == "{":
        return "(?:", at + 1, braces + 1
    if braces and char in ",}":
        return ("|", at + 1, braces) if char == "," else (")", at + 1, braces - 1)
    if char == "\\" and at + 1 < len(pattern):
        return re.escape(pattern[at + 1]), at + 2, braces
    return {"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)), at + 1, braces
