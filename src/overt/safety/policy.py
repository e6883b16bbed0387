"""The verdict on one call: guards, then rules (deny over ask over allow), then what the mode says."""

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from overt.core.effects import WRITING, Effect
from overt.core.settings import Action, Mode, Rule
from overt.safety.danger import read_command
from overt.safety.rules import Subject, matching, normal


class Verdict(Struct, frozen=True, kw_only=True):
    """`rule` and `origin` say who decided; `dangerous` limits the answers to once or deny."""

    action: Action
    rule: str
    origin: str
    by: Literal["rule", "mode", "person", "guard"]
    why: str = ""
    dangerous: bool = False


BY_MODE: dict[Mode, dict[str, Action]] = {
    "review": {"edit": "ask", "command": "ask", "other": "ask"},
    "auto": {"edit": "allow", "command": "ask", "other": "ask"},  # allowed once a sandbox stands
    "yolo": {"edit": "allow", "command": "allow", "other": "allow"},
    "plan": {"edit": "deny", "command": "deny", "other": "deny"},
}


def subject_of(tool: str, values: tuple[str, ...], *, root: str, exists: Callable[[str], bool]) -> Subject:
    """`exists` tells whether a redirection would overwrite something."""
    if tool == "jobs":
        return Subject(tool=tool, values=values)
    if tool != "bash" or not values:
        return Subject(tool=tool, values=tuple(normal(value, root) for value in values))
    return Subject(tool=tool, values=values, reading=read_command(values[0], exists))


def harmless(subject: Subject, effects: frozenset[Effect]) -> bool:
    """Calls that may run beside others: readers, and commands known to change nothing."""
    if subject.tool == "jobs":
        return bool(subject.values) and subject.values[0] != "stop"
    return not effects & WRITING or subject.reading.hazard == "harmless"


def judge(
    subject: Subject, effects: frozenset[Effect], *, rules: Iterable[Rule], mode: Mode, fallback: Action | None = None
) -> Verdict:
    rules = tuple(rules)
    if rule := matching(rules, subject, "deny"):
        return _by(rule, "deny", f"denied by the rule {rule.text()}")
    reading = subject.reading
    if reading.hazard == "dangerous":
        if mode == "plan":
            return Verdict(action="deny", rule="plan", origin="mode", by="mode", why=_plan_refuses(subject.tool))
        words = ", ".join(dict.fromkeys(reading.words))
        why = f"dangerous: {words}"
        return Verdict(action="ask", rule="dangerous", origin="guard", by="guard", why=why, dangerous=True)
    easy = harmless(subject, effects)
    if mode == "plan" and not easy:
        return Verdict(action="deny", rule="plan", origin="mode", by="mode", why=_plan_refuses(subject.tool))
    if rule := matching(rules, subject, "ask"):
        return _by(rule, "ask", f"asked by the rule {rule.text()}")
    if rule := matching(rules, subject, "allow"):
        return _by(rule, "allow", "")
    if easy:
        return Verdict(action="allow", rule="harmless", origin="default", by="mode")
    if fallback is not None:
        return Verdict(action=fallback, rule="fallback", origin="permissions.fallback", by="rule", why="no rule speaks")
    action = BY_MODE[mode][_class_of(subject, effects)]
    return Verdict(action=action, rule=mode, origin="mode", by="mode", why=f"{mode} mode")


def _class_of(subject: Subject, effects: frozenset[Effect]) -> str:
    if subject.tool in ("bash", "jobs"):
        return "command"
    return "edit" if "write" in effects else "other"


def _plan_refuses(tool: str) -> str:
    return f"plan mode changes nothing, so {tool} was refused; finish the plan and ask the user to leave plan mode"


def _by(rule: Rule, action: Action, why: str) -> Verdict:
    return Verdict(action=action, rule=rule.text(), origin=rule.origin, by="rule", why=why)
