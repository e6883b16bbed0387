"""What `overt hooks` and `/hooks` show: the hooks there are, what they did, and what they say to an event."""

import asyncio
from collections import deque
from collections.abc import Iterator
from time import localtime, strftime

from msgspec import Struct

from overt.agent.permission_decision import CallRequest, read_request
from overt.agent.permission_settings import PermissionState, Terms
from overt.app.hooks.firing import HookRunner, HookSession, combine
from overt.app.hooks.hook_input import describe_call
from overt.app.hooks.ledger import FiringLine, read_lines
from overt.app.hooks.occasion import Firing, Occasion
from overt.app.hooks.sources import find_hook_tables
from overt.app.redaction.secrets import make_redactor
from overt.app.session_workspace import SessionWorkspace
from overt.app.setting import Setting
from overt.app.workspace_services import shared_services
from overt.config.hook_sources import PluginHooks
from overt.core.codec import compact
from overt.core.errors import UsageError
from overt.core.history import History
from overt.core.messages import Call
from overt.extensions.hooks import FIRED, GATING, TOOL_EVENTS, Hook, read_hooks
from overt.lib.paths import slug
from overt.lib.text import cut_line
from overt.lib.translations import say
from overt.repair.repair_call import mend
from overt.safety.policy import PathFacts

TEST_SESSION = "test"
EXAMPLES: dict[str, dict[str, object]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "test"},
    "Notification": {"message": "test", "notification_type": "permission_prompt"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "test"},
    "SubagentStart": {"agent_id": "main/general-1", "agent_type": "general"},
    "SubagentStop": {"agent_id": "main/general-1", "agent_type": "general", "last_assistant_message": "test"},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "PostCompact": {"trigger": "manual"},
    "SessionEnd": {"reason": "other"},
}
ABOUT = ("source", "notification_type", "trigger", "reason", "agent_type")
"""The fields that matchers of events without a tool are held against."""
WIDEST = 200


class HookRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hook that is configured. `note` says why it never runs, or what it does because it cannot."""

    event: str
    matcher: str
    command: str
    origin: str
    timeout_s: float
    condition: str = ""
    note: str = ""


def find_hooks(setting: Setting, plugins: tuple[PluginHooks, ...] = ()) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Return all hooks, also those that are never fired, and sentences about files that could not be read."""
    found = find_hook_tables(setting, plugins)
    return tuple(hook for table in found.tables for hook in read_hooks(table)), found.mistakes


def hook_rows(setting: Setting) -> tuple[HookRow, ...]:
    clean = make_redactor(setting).clean
    return tuple(
        HookRow(
            event=hook.event,
            matcher=hook.matcher or "*",
            command=clean(hook.line),
            origin=hook.origin,
            timeout_s=hook.timeout_s,
            condition=hook.condition,
            note=_note(hook),
        )
        for hook in find_hooks(setting)[0]
    )


def _note(hook: Hook) -> str:
    if not hook.is_fired:
        return say("hooks.not_fired")
    if hook.problem:
        key = "hooks.closed" if hook.event in GATING else "hooks.skipped"
        return say(key, problem=hook.problem)
    return ""


def hook_lines(setting: Setting) -> Iterator[str]:
    """Yield a line for each hook, and one for each file that could not be read."""
    rows, mistakes = hook_rows(setting), find_hooks(setting)[1]
    if not rows:
        yield say("hooks.none")
    for row in rows:
        condition = f" if {row.condition}" if row.condition else ""
        note = f"  [{row.note}]" if row.note else ""
        yield f"{row.event}  {row.matcher}{condition}  {cut_line(row.command, WIDEST)}  ({row.origin}){note}"
    yield from mistakes


# ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────


def ledger_lines(setting: Setting, most: int) -> tuple[FiringLine, ...]:
    """Return the last firings in this project, the oldest first."""
    project = slug(setting.roots.project)
    lines = (line for line in read_lines(setting.environment.data_dir) if line.project == project)
    return tuple(deque(lines, maxlen=most))


def describe_firing(line: FiringLine) -> Iterator[str]:
    when = strftime("%Y-%m-%d %H:%M:%S", localtime(line.ts))
    verdict = line.verdict or "-"
    words = (when, line.session, line.event, line.tool, verdict, cut_line(line.reason.replace("\n", " "), WIDEST))
    yield "  ".join(filter(None, words))
    for run in line.hooks:
        ended = f"exit {run.exit}" if run.exit is not None else "no exit code"
        failure = f"  {run.failure}" if run.failure else ""
        yield f"    {ended}  {run.ms} ms  {cut_line(run.command, WIDEST)}  ({run.origin}){failure}"
    if line.changed:
        yield f"    arguments: {cut_line(line.changed, WIDEST)}"


# ── a test ───────────────────────────────────────────────────────────────────────────────────────────────


async def try_event(
    setting: Setting,
    event: str,
    tool: str,
    given: dict[str, object] | None,
    plugins: tuple[PluginHooks, ...] = (),
) -> Firing:
    """Run the hooks that match an event, in the sandbox, as if it happened. Nothing else happens."""
    if event not in FIRED:
        raise UsageError(say("hooks.unknown_event", event=event, events=", ".join(sorted(FIRED))))
    shared = shared_services(setting)
    workspace = SessionWorkspace(setting, shared)
    config = setting.config
    terms = Terms(rules=config.permissions.rules, write=config.sandbox.write, network=config.sandbox.network)
    session = HookSession(
        id=TEST_SESSION,
        setting=setting,
        workspace=workspace,
        redact=make_redactor(setting).clean,
        permissions=PermissionState(terms, mode=config.permissions.mode, remember=lambda rule: None),
        history=History,
    )
    runner = HookRunner(find_hooks(setting, plugins)[0], session)
    try:
        firings = await asyncio.gather(*map(runner.fire, _occasions(setting, event, tool, given)))
        return combine([run for firing in firings for run in firing.runs])
    finally:
        runner.transcript.delete()
        await workspace.close()


def _occasions(setting: Setting, event: str, name: str, given: dict[str, object] | None) -> Iterator[Occasion]:
    if event not in TOOL_EVENTS:
        fields = {**EXAMPLES.get(event, {}), **(given or {})}
        about = next((str(fields[each]) for each in ABOUT if each in fields), "")
        yield Occasion(event=event, about=(about,), fields=fields)
        return
    more: dict[str, object] = {}
    if event == "PostToolUse":
        more = {"tool_response": {"stdout": "", "stderr": ""}}
    elif event == "PostToolUseFailure":
        more = {"error": "test"}
    request = _request(setting, name, given)
    if request is None:
        known = setting.tools.find(name)
        shown = known.aliases[0] if known and known.aliases else name
        names = (shown, known.name) if known else (shown,)
        fields = {"tool_name": shown, "tool_input": given or {}, "tool_use_id": TEST_SESSION, **more}
        yield Occasion(event=event, about=names, fields=fields)
        return
    for each in describe_call(request, setting.roots.workspace):
        fields = {"tool_name": each.name, "tool_input": each.input, "tool_use_id": request.id, **more}
        yield Occasion(event=event, about=each.names, fields=fields, request=request)


def _request(setting: Setting, name: str, given: dict[str, object] | None) -> CallRequest | None:
    """Return a call of one of our tools; None for other tools, and if no arguments are given."""
    tool = setting.tools.find(name)
    if tool is None or given is None:
        return None
    mended = mend(Call(id=TEST_SESSION, name=tool.name, arguments=compact(given)), {tool.name: tool})
    if mended.error:
        raise UsageError(mended.error)
    return read_request(mended, PathFacts(root=setting.roots.workspace, exists=lambda path: False))
