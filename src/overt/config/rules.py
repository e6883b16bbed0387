"""Permission rules as people write them: `tool` or `tool(pattern)`, whoever's name for the tool it is."""

from msgspec.structs import replace

from overt.core.errors import ConfigError
from overt.core.foreign import OURS, TOOLS
from overt.core.settings import Action, Rule

ACTIONS: tuple[Action, ...] = ("allow", "ask", "deny")

ELSEWHERE = ("*", "external_directory", "skill", "task", "mcp", "webfetch", "websearch")
"""Names a rule may have although no tool of this version answers to them."""

_NAMES = (
    {name.lower(): ours for name, ours in OURS.items()}
    | {"webfetch": "webfetch", "websearch": "websearch", "agent": "task"}
    | {name: name for name in (*TOOLS, *ELSEWHERE)}
)


def parse_rule(text: str, action: Action, place: str) -> Rule:
    """One rule; `place` is the file and line, or the flag, and begins the message when the text is no rule."""
    name, bracket, rest = text.strip().partition("(")
    pattern = rest[:-1].strip() if bracket else ""
    whole = not bracket or (rest.endswith(")") and pattern)
    if not whole or not name.strip() or not _is_name(name.strip()) or not pattern.isprintable():
        raise ConfigError(f"{place}: {printable(text)!r} is not a rule; write `tool` or `tool(pattern)`")
    return Rule(action=action, tool=tool_name(name.strip()), pattern=pattern, origin=place)


def read_rule(entry: object, action: Action, place: str) -> tuple[Rule, str]:
    """Return a rule from a file or a flag, and a warning or "". A slip that would undo a restriction is an error."""
    network: object = False
    if isinstance(entry, dict):
        if action != "allow" or not {"rule"} <= entry.keys() <= {"rule", "network"}:
            raise ConfigError(
                f"{place}: a rule must be a text like 'bash(git *)', or in `allow` a table like "
                '{ rule = "bash(npm *)", network = true }'
            )
        network, entry = entry.get("network", False), entry["rule"]
    if not isinstance(entry, str):
        raise ConfigError(f"{place}: a rule must be a text like 'bash(git *)', got {described(entry)}")
    if not isinstance(network, bool):
        raise ConfigError(f"{place}: `network` must be true or false, got {described(network)}")
    rule = parse_rule(entry, action, place)
    if network and rule.tool != "bash":
        raise ConfigError(f"{place}: `network` is for rules about bash, not {printable(rule.tool)!r}")
    rule = replace(rule, network=network)
    if is_known_tool(rule.tool):
        return rule, ""
    near = nearest(rule.tool, tuple(_NAMES), 0.7)
    if near and action != "allow":
        raise ConfigError(f"{place}: the rule {printable(entry)!r} names no known tool; did you mean `{near}`?")
    return rule, f"{place}: no tool of this version is called `{printable(rule.tool)}`" + did_you_mean(near)


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


def is_known_tool(name: str) -> bool:
    return name.lower() in _NAMES or name.startswith("mcp__")


def nearest(word: str, known: tuple[str, ...], alike: float = 0.6) -> str:
    import difflib  # late: 0.9 ms

    close = difflib.get_close_matches(word[:40], known, 1, alike)
    return close[0] if close else ""


def did_you_mean(near: str) -> str:
    return f"; did you mean `{near}`?" if near else ""


def described(value: object) -> str:
    """A value from a file, short and on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case str():
            return repr(printable(value))
        case int():
            return str(value) if value.bit_length() < 100 else "a huge number"
        case float():
            return str(value)
        case dict():
            return "a table"
        case list() | tuple():
            return "a list"
        case _:
            return "a date or time"


def printable(text: str) -> str:
    """A short form of a text from a file that cannot drive a terminal."""
    short = text if len(text) <= 40 else text[:39] + "…"
    return "".join(character if character.isprintable() else "?" for character in short)


def _is_name(text: str) -> bool:
    return len(text) <= 128 and all(character.isalnum() or character in "_-.*" for character in text)
