"""Rules that hold for one turn: what the front matter of a command or a skill allows and takes away.

They join the rules of the session until the turn ends (`PermissionState.add_turn_rules`), so the order of the judges
stays what it is: a deny wins over an allow, guards and rules that ask come before both, and nothing here opens a final
command or the network.
"""

from msgspec import Struct

from overt.config.rules import ToolNames, parse_rule, resolve_rule, split_rules
from overt.core.errors import ConfigError
from overt.core.settings import Action, Rule


class TurnRules(Struct, frozen=True, kw_only=True):
    """The rules of one file. `problems` name the entries that are not rules."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()


def read_turn_rules(allowed: object, disallowed: object, *, origin: str, tools: ToolNames) -> TurnRules:
    """Read `allowed-tools` and `disallowed-tools`: each is a list, or one text with commas or blanks between the rules.

    `origin` is the file that names them, and `tools` returns the names that rules may use.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    fields: tuple[tuple[Action, object], ...] = (("deny", disallowed), ("allow", allowed))
    for action, value in fields:
        for text in rule_texts(value):
            try:
                rules.append(resolve_rule(parse_rule(text, action, origin), tools, problems))
            except ConfigError as error:
                problems.append(error.message)
    return TurnRules(rules=tuple(rules), problems=tuple(problems))


def rule_texts(value: object) -> tuple[str, ...]:
    """Return the rules that a field of front matter names, as they are written."""
    entries = value if isinstance(value, list | tuple) else (value,)
    return tuple(rule for entry in entries if isinstance(entry, str) for rule in split_rules(entry))
