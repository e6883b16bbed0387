"""The commands in a `hooks.json`, to be shown before they may run."""

from collections.abc import Mapping

from msgspec import Struct

from overt.core.errors import OvertError


class PackagedHook(Struct, frozen=True, kw_only=True):
    """One handler of an event. `kind` is its type; only handlers of type `command` have a command."""

    event: str
    kind: str
    command: str
    matcher: str = ""


def hook_commands(tree: Mapping[str, object], where: str) -> tuple[PackagedHook, ...]:
    """Return the handlers of a hooks file. OvertError says what of its shape is wrong."""
    events = tree.get("hooks")
    if not isinstance(events, dict):
        raise OvertError(f"{where}: must have an object `hooks`")
    handlers: list[PackagedHook] = []
    for event, groups in events.items():
        if not isinstance(groups, list):
            raise OvertError(f"{where}: `{event}` must be a list")
        for group in groups:
            inner = group.get("hooks") if isinstance(group, dict) else None
            if not isinstance(group, dict) or not isinstance(inner, list):
                raise OvertError(f"{where}: each entry of `{event}` must have a list `hooks`")
            handlers += [_handler(event, str(group.get("matcher") or ""), item, where) for item in inner]
    return tuple(handlers)


def _handler(event: str, matcher: str, item: object, where: str) -> PackagedHook:
    if not isinstance(item, dict):
        raise OvertError(f"{where}: a hook of `{event}` must be an object")
    kind = str(item.get("type") or "command")
    command = item.get("command")
    if kind == "command" and not (isinstance(command, str) and command.strip()):
        raise OvertError(f"{where}: a hook of `{event}` has no `command`")
    words = item.get("args")
    text = " ".join(map(str, (command, *words))) if isinstance(words, list) else str(command or "")
    return PackagedHook(event=event, kind=kind, command=text, matcher=matcher)
