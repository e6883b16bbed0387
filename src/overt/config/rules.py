"""Permission rules as people write them: `tool` or `tool(pattern)`, whoever's name for the tool it is."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from overt.core.errors import ConfigError
from overt.core.settings import Action, Rule

ACTIONS: tuple[Action, ...] = ("allow", "ask", "deny")

OTHERS = ("*", "external_directory", "skill", "task", "mcp")
"""Names a rule may have although no tool of this version answers to them."""
OWN_NAMES = {name: name for name in ("bash", "edit", "read", "webfetch", "websearch", *OTHERS)} | {"agent": "task"}
"""Names that rules have whichever tools there are."""

ToolNames = Callable[[], Mapping[str, str]]
"""Returns the names of tools that rules may use, in lower case, each with our name. Called only if a rule needs it."""


def parse_rule(text: str, action: Action, place: str) -> Rule:
    """One rule; `place` is the file and line, or the flag, and begins the message when the text is no rule."""
    name, bracket, rest = text.strip().partition("(")
    pattern = rest[:-1].strip() if bracket else ""
    whole = not bracket or (rest.endswith(")") and pattern)
    if not whole or not name.strip() or not _is_name(name.strip()) or not pattern.isprintable():
        raise ConfigError(f"{place}: {printable(text)!r} is not a rule; write `tool` or `tool(pattern)`")
    return Rule(action=action, tool=name.strip(), pattern=pattern, origin=place)


def read_rule(entry: object, action: Action, place: str) -> Rule:
    """Return a rule from a file or a flag; its tool is as it was written."""
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
    return replace(parse_rule(entry, action, place), network=network)


def resolve_rule(rule: Rule, tools: ToolNames, warnings: list[str]) -> Rule:
    """Return the rule with our name for its tool. If there is no such tool, add a warning; a restriction that a slip
    of the pen would undo is an error."""
    name, place = our_name(rule.tool, tools), rule.origin
    if rule.network and name != "bash":
        raise ConfigError(f"{place}: `network` is for rules about bash, not {printable(name)!r}")
    if name in OWN_NAMES or name in tools() or name.startswith("mcp__"):
        return replace(rule, tool=name)
    near = nearest(name, (*OWN_NAMES, *tools()), 0.7)
    if near and rule.action != "allow":
        raise ConfigError(f"{place}: the rule {printable(rule.text())!r} names no known tool; did you mean `{near}`?")
    warnings.append(f"{place}: no tool of this version is called `{printable(name)}`{did_you_mean(near)}")
    return rule


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


def our_name(name: str, tools: ToolNames) -> str:
    """Return our name for a tool in any spelling of upper and lower case, or the name itself if it is not known."""
    lower = name.lower()
    return OWN_NAMES.get(lower) or tools().get(lower, name)


def nearest(word: str, known: tuple[str, ...], alike: float = 0.6) -> str:
    import difflib  # late: 0.8 ms

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
