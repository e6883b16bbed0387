"""Hooks: commands that run at certain moments of a session. Their configuration has the shape of Claude Code's."""

import re
from collections.abc import Iterator, Sequence

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from overt.core.settings import HookTable

TOOL_EVENTS = frozenset({"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"})
GATING = frozenset({"PreToolUse", "PermissionRequest"})
"""A hook of these events that fails denies the call."""
FIRED = frozenset(
    {
        *TOOL_EVENTS,
        *("SessionStart", "UserPromptSubmit", "Notification", "Stop", "PreCompact", "PostCompact", "SessionEnd"),
        *("SubagentStart", "SubagentStop"),
    }
)
"""Events that this version fires. Hooks of other events are listed and never run."""
WITHOUT_MATCHER = frozenset({"UserPromptSubmit", "Stop"})
TIMEOUT_S, LONGEST_TIMEOUT_S = 60.0, 3600.0
EXACT = r"[\w -]+(?:\|[\w -]+)*"


class Hook(Struct, frozen=True, kw_only=True):
    """One handler. `args` is None if `command` is a line for the shell; else it is a program with these arguments.

    `condition` is a permission rule that the call must fit (`if`). `root` and `data` are the folders of the plugin
    that the hook belongs to. With a `problem` the hook cannot run; if its event is gating, it denies every call that
    it matches.
    """

    event: str
    origin: str
    matcher: str = ""
    command: str = ""
    args: tuple[str, ...] | None = None
    timeout_s: float = TIMEOUT_S
    condition: str = ""
    of_project: bool = False
    root: str = ""
    data: str = ""
    problem: str = ""

    @property
    def line(self) -> str:
        """The command as it is shown."""
        return " ".join((self.command, *(self.args or ())))

    @property
    def is_fired(self) -> bool:
        return self.event in FIRED

    def matches(self, values: Sequence[str]) -> bool:
        """True if the matcher fits one of the values: the names of a tool, or what an event is about."""
        matcher = self.matcher
        if matcher in ("", "*") or self.event in WITHOUT_MATCHER:
            return True
        if re.fullmatch(EXACT, matcher):
            return any(each.strip() in values for each in matcher.split("|"))
        try:
            return any(re.fullmatch(matcher, value) for value in values)
        except re.error:
            return True  # `problem` says why it cannot run


def read_hooks(table: HookTable) -> tuple[Hook, ...]:
    """Return the handlers of one group. What is wrong with one is its `problem`; unknown fields are ignored."""
    try:
        group = json.decode(table.text)
    except DecodeError:
        group = None
    hook = Hook(event=table.event, origin=table.origin, of_project=table.of_project, root=table.root, data=table.data)
    return tuple(_read_group(group, hook))


def _read_group(group: object, hook: Hook) -> Iterator[Hook]:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        yield replace(hook, problem="it is not a table with a list of `hooks`")
        return
    matcher = group.get("matcher")
    hook = replace(hook, matcher=matcher if isinstance(matcher, str) else "")
    problem = "" if matcher is None or isinstance(matcher, str) else "its `matcher` is not a text"
    if not problem and not re.fullmatch(EXACT, hook.matcher) and hook.matcher != "*":
        try:
            re.compile(hook.matcher)
        except re.error as error:
            problem = f"its `matcher` is not a regular expression: {error}"
    for handler in group["hooks"]:
        yield _read_handler(handler, hook, problem)


def _read_handler(handler: object, hook: Hook, problem: str) -> Hook:
    if not isinstance(handler, dict):
        return replace(hook, problem=problem or "it is not a table")
    kind, command = handler.get("type", "command"), handler.get("command")
    args, timeout, condition = handler.get("args"), handler.get("timeout", TIMEOUT_S), handler.get("if", "")
    if kind != "command":
        return replace(hook, command=str(kind), problem=problem or f"handlers of type {kind!r} are not supported")
    if not isinstance(command, str) or not command.strip():
        return replace(hook, problem=problem or "it has no `command`")
    if args is not None and not (isinstance(args, list) and all(isinstance(each, str) for each in args)):
        problem = problem or "its `args` are not a list of texts"
        args = None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST_TIMEOUT_S:
        problem = problem or f"its `timeout` is not a number of seconds up to {LONGEST_TIMEOUT_S:g}"
        timeout = TIMEOUT_S
    if not isinstance(condition, str):
        problem, condition = problem or "its `if` is not a text", ""
    return replace(
        hook,
        command=command,
        args=None if args is None else tuple(args),
        timeout_s=float(timeout),
        condition=condition,
        problem=problem,
    )
