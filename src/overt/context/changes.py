"""What exactly changed between two beginnings of a request, in the words a person is told."""

from collections.abc import Iterable, Sequence

from overt.core.events import PrefixSet
from overt.core.messages import Message
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.text_fragments import Fragment

MOST_NAMED = 6


def describe_prefix_change(old: PrefixSet, new: PrefixSet) -> str:
    """Why what was recorded before does not hold any more."""
    changes: list[str] = []
    if (old.provider, old.model) != (new.provider, new.model):
        changes.append(_models(old, new))
    if (old.wire, old.encoder) != (new.wire, new.encoder):
        changes.append(f"wire changed: {old.wire} {old.encoder} → {new.wire} {new.encoder}")
    if old.calls != new.calls:
        changes.append(f"the way tools are called changed: {old.calls} → {new.calls}")
    changes += _prefix(old.prefix, new.prefix)
    if not changes and old.about != new.about:
        changes.append("what is known of the model changed")
    return "; ".join(changes) or "the parameters changed"


def describe_head_change(old: tuple[Prefix, Params], new: tuple[Prefix, Params]) -> str:
    """Why two requests of one conversation do not begin alike."""
    changes = _prefix(old[0], new[0])
    before, after = old[1], new[1]
    if before.model != after.model:
        changes.insert(0, f"model changed: {before.model} → {after.model}")
    parameters = [
        f"{name} {_value(getattr(before, name))} → {_value(getattr(after, name))}"
        for name in ("max_tokens", "temperature", "top_p", "effort", "thinking")
        if getattr(before, name) != getattr(after, name)
    ]
    if parameters:
        changes.append(f"parameters changed: {', '.join(parameters)}")
    return "; ".join(changes) or "the parameters changed"


def describe_history_change(old: Sequence[Message], new: Sequence[Message]) -> str:
    """Which message is not the one that was sent before; counted from 1."""
    for number, (one, other) in enumerate(zip(old, new, strict=False), 1):
        if one != other:
            return f"history changed: message {number} is another"
    return f"history changed: {len(old) - len(new)} of its last messages are gone"


def _models(old: PrefixSet, new: PrefixSet) -> str:
    if old.provider == new.provider:
        return f"model changed: {old.model} → {new.model}"
    return f"model changed: {old.provider}/{old.model} → {new.provider}/{new.model}"


def _prefix(old: Prefix, new: Prefix) -> list[str]:
    changes = [*_system(old.system, new.system), *_tools(old.tools, new.tools)]
    if old.shots != new.shots:
        changes.append("examples changed")
    return changes


def _tools(old: Sequence[ToolSpec], new: Sequence[ToolSpec]) -> list[str]:
    before, after = {tool.name: tool for tool in old}, {tool.name: tool for tool in new}
    moved = _listed(after.keys() - before.keys(), before.keys() - after.keys())
    if moved:
        changes = [f"tool list changed: {moved}"]
    elif list(before) != list(after):
        changes = ["tool list changed: another order"]
    else:
        changes = []
    same = [name for name in before if name in after and not _alike(before[name], after[name])]
    if len(same) > MOST_NAMED:
        return [*changes, f"{len(same)} tools changed"]
    return [*changes, *(f"tool {name} changed" for name in same)]


def _alike(old: ToolSpec, new: ToolSpec) -> bool:
    return (old.description, bytes(old.schema)) == (new.description, bytes(new.schema))


def _system(old: Sequence[Fragment], new: Sequence[Fragment]) -> list[str]:
    before = {_name(fragment): fragment.text for fragment in old if fragment.text}
    after = {_name(fragment): fragment.text for fragment in new if fragment.text}
    moved = _listed(after.keys() - before.keys(), before.keys() - after.keys())
    other = ", ".join(name for name in before if name in after and before[name] != after[name])
    text = ", ".join(filter(None, (other, moved)))
    if not text and list(before) != list(after):
        text = "another order"
    return [f"system prompt changed: {text}"] if text else []


def _name(fragment: Fragment) -> str:
    where = fragment.origin.where
    return f"{fragment.key} ({where})" if where and where != fragment.key else fragment.key


def _listed(added: Iterable[str], removed: Iterable[str]) -> str:
    names = [f"{name} added" for name in sorted(added)] + [f"{name} removed" for name in sorted(removed)]
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return ", ".join(names[:MOST_NAMED]) + f" and {len(names) - MOST_NAMED} more"


def _value(value: object) -> str:
    return "unset" if value is None else str(value)
