"""Read permission rules, and values that come from a flag or an environment variable."""

from msgspec.structs import replace

from overt.config.reading.keys import ACTIONS, CHECKS, FLAG, OUTSIDE, STEPS, WHOLE, read_value
from overt.config.reading.values import described, did_you_mean
from overt.config.rules import parse_rule, printable, split_rules, stranger
from overt.core.errors import ConfigError
from overt.core.settings import Action, Rule


def read_rule(text: object, action: Action, place: str) -> tuple[Rule, str]:
    """A rule and a warning or nothing. A restriction that a slip of the pen would undo is an error."""
    network = False
    if isinstance(text, dict):
        text, network = _read_table(text, action, place)
    if not isinstance(text, str):
        raise ConfigError(f"{place}: a rule must be a text like 'bash(git *)', got {described(text)}")
    rule = parse_rule(text, action, place)
    if network and rule.tool != "bash":
        raise ConfigError(f"{place}: `network` is for rules about bash, not {printable(rule.tool)!r}")
    rule = replace(rule, network=network)
    strange = stranger(rule.tool)
    if strange is None:
        return rule, ""
    name, near = strange
    if near and action != "allow":
        raise ConfigError(f"{place}: the rule {printable(text)!r} names no known tool; did you mean `{near}`?")
    return rule, f"{place}: no tool of this version is called `{printable(name)}`" + did_you_mean(near)


def _read_table(table: dict[str, object], action: Action, place: str) -> tuple[object, bool]:
    """Read `{ rule = "bash(npm *)", network = true }`, which only the list `allow` takes."""
    if action != "allow" or not {"rule"} <= table.keys() <= {"rule", "network"}:
        raise ConfigError(
            f"{place}: a rule must be a text like 'bash(git *)', or in `allow` a table like "
            '{ rule = "bash(npm *)", network = true }'
        )
    return table["rule"], read_value(FLAG, table.get("network", False), name="network", place=place)


def outside_value(key: str, value: object, place: str) -> tuple[object, tuple[str, ...]]:
    """A value from a flag or a variable, held to the same checks as one from a file, and warnings."""
    name = key.rpartition(".")[2]
    for action in ACTIONS:
        if key == f"permissions.{action}":
            texts = split_rules(value) if isinstance(value, str) else value
            assert isinstance(texts, list | tuple)
            read = [read_rule(text, action, place) for text in texts]
            return tuple(rule for rule, _ in read), tuple(warning for _, warning in read if warning)
    check = OUTSIDE.get(key) or CHECKS[key]
    if check in (WHOLE, STEPS) and isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:20])
    return read_value(check, value, name=name, place=place), ()
