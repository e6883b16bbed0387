"""Rules a person answered with `always`, kept per project."""

import os

from msgspec import Struct

from overt.config._private_json import plain, read, update
from overt.config.paths import Environment
from overt.core.settings import Rule
from overt.lib.paths import slug

ORIGIN = "always"


class Always(Struct, frozen=True, kw_only=True):
    """The stored rules; `warning` says why a file was not believed."""

    rules: tuple[Rule, ...] = ()
    warning: str = ""


def always_file(environment: Environment, project: str) -> str:
    return os.path.join(environment.data_dir, "projects", slug(os.path.realpath(project)), "permissions.json")


def load_always(environment: Environment, project: str) -> Always:
    path = always_file(environment, project)
    content, reason = read(path)
    if content is None and not reason:
        return Always()
    rules = _rules(content)
    if rules is None:
        return Always(warning=f"{path}: {reason or 'is damaged'}, so no stored rule holds")
    return Always(rules=rules)


def add_always(environment: Environment, project: str, rule: Rule) -> None:
    """Remember a rule; one that is there already is not written twice."""
    path = always_file(environment, project)
    update(path, _rules, lambda rules: _content(project, (*_without(rules, rule), rule)))


def remove_always(environment: Environment, project: str, rule: Rule) -> None:
    update(always_file(environment, project), _rules, lambda rules: _content(project, _without(rules, rule)))


def _without(rules: tuple[Rule, ...] | None, rule: Rule) -> tuple[Rule, ...]:
    return tuple(each for each in rules or () if not _same(each, rule))


def _same(one: Rule, other: Rule) -> bool:
    return (one.action, one.tool, one.pattern) == (other.action, other.tool, other.pattern)


def _content(project: str, rules: tuple[Rule, ...]) -> dict[str, object]:
    fields = ("action", "tool", "pattern", "network", "exact")
    listed = [{name: getattr(rule, name) for name in fields} for rule in rules]
    return {"v": 1, "project": plain(os.path.realpath(project)), "rules": listed}


def _rules(content: object) -> tuple[Rule, ...] | None:
    """None when anything about the content is not as it was written: half a list of rules is no list."""
    listed = content.get("rules") if isinstance(content, dict) and content.get("v") == 1 else None
    if not isinstance(listed, list):
        return None
    found: list[Rule] = []
    for item in listed:
        match item:
            case {"action": "allow" | "ask" | "deny" as action, "tool": str(tool), "pattern": str(pattern)} if tool:
                # Older entries have neither field: they were exact commands unless they ended in `:*`.
                exact = item.get("exact", tool == "bash" and bool(pattern) and not pattern.endswith(":*"))
                network = item.get("network", False)
                if not isinstance(exact, bool) or not isinstance(network, bool):
                    return None
                found.append(
                    Rule(action=action, tool=tool, pattern=pattern, origin=ORIGIN, network=network, exact=exact)
                )
            case _:
                return None
    return tuple(found)
