"""Permission rules as people write them: `tool` or `tool(pattern)`, whoever's name for the tool it is."""

from overt.core.errors import ConfigError
from overt.core.foreign import OURS, TOOLS
from overt.core.settings import Action, Rule

ELSEWHERE = ("*", "external_directory", "skill", "task", "mcp", "webfetch", "websearch")
"""Names a rule may have although no tool of this version answers to them."""

_NAMES = (
    {name.lower(): ours for name, ours in OURS.items()}
    | {"webfetch": "webfetch", "websearch": "websearch", "agent": "task"}
    | {name: name for name in (*TOOLS, *ELSEWHERE)}
)

Strange = tuple[str, str]
"""A tool name nobody knows, and the nearest known one or nothing."""


def parse_rule(text: str, action: Action, place: str) -> Rule:
    """One rule; `place` is the file and line, or the flag, and begins the message when the text is no rule."""
    name, bracket, rest = text.strip().partition("(")
    pattern = rest[:-1].strip() if bracket else ""
    whole = not bracket or (rest.endswith(")") and pattern)
    if not whole or not name.strip() or not _is_name(name.strip()) or not pattern.isprintable():
        raise ConfigError(f"{place}: {printable(text)!r} is not a rule; write `tool` or `tool(pattern)`")
    return Rule(action=action, tool=tool_name(name.strip()), pattern=pattern, origin=place)


def split_rules(text: str) -> tuple[str, ...]:
    """The rules of one flag: separated by commas or blanks, except inside brackets."""
    found: list[str] = [""]
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")" and depth > 0)
        if depth == 0 and character in ", \t\n":
            found.append("")
        else:
            found[-1] += character
    return tuple(each for each in found if each)


def tool_name(name: str) -> str:
    """Our name for a tool in any spelling of upper and lower case; the name itself when nobody knows it."""
    return _NAMES.get(name.lower(), name)


def stranger(tool: str) -> Strange | None:
    """None for a tool that rules may name; else the name and a suggestion."""
    if tool.lower() in _NAMES or tool.startswith("mcp__"):
        return None
    return tool, nearest(tool, tuple(_NAMES), 0.7)


def nearest(word: str, known: tuple[str, ...], alike: float = 0.6) -> str:
    import difflib  # late: 0.9 ms

    close = difflib.get_close_matches(word[:40], known, 1, alike)
    return close[0] if close else ""


def printable(text: str) -> str:
    """A short form of a text from a file that cannot drive a terminal."""
    short = text if len(text) <= 40 else text[:39] + "…"
    return "".join(character if character.isprintable() else "?" for character in short)


def _is_name(text: str) -> bool:
    return len(text) <= 128 and all(character.isalnum() or character in "_-.*" for character in text)
