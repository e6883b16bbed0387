"""Fire an event: find the hooks that match, run them at the same time, combine what they say, and write it down."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from time import time
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from overt.agent.permission_settings import PermissionState
from overt.app.hooks.hook_process import HookCommand, HookRun, run_hook
from overt.app.hooks.ledger import FiringLine, RunLine, add_line
from overt.app.hooks.occasion import Firing, Occasion
from overt.app.hooks.transcript import TranscriptCopy
from overt.app.options import TO_CLAUDE
from overt.app.session_workspace import SessionWorkspace
from overt.app.setting import Setting
from overt.config.project_files import find_changed_script, named_scripts
from overt.config.rules import read_rule, resolve_rule
from overt.config.trust import check_trust
from overt.core.codec import compact, encode
from overt.core.errors import ConfigError
from overt.core.history import History
from overt.core.protocols import Profile
from overt.extensions.hook_replies import HookReply, HookVerdict, failed, read_reply
from overt.extensions.hooks import TOOL_EVENTS, Hook
from overt.lib.paths import slug
from overt.safety.rules import speaks_of

if TYPE_CHECKING:
    from overt.app.subagents.parent_link import HookAgent
    from overt.workspace.undo.snapshot_keeper import CommandWatch

STRICTEST: tuple[HookVerdict, ...] = ("deny", "ask", "allow", "")
LONGEST_SHOWN = 2000


class HookSession(Struct, frozen=True, kw_only=True):
    """The session that hooks run for. `agent` is set in the session of a sub-agent."""

    id: str
    setting: Setting
    workspace: SessionWorkspace
    redact: Callable[[str], str]
    permissions: PermissionState
    history: Callable[[], History]
    agent: "HookAgent | None" = None


class HookRunner:
    """Runs the hooks of one session, in its workspace and its sandbox."""

    def __init__(self, hooks: Sequence[Hook], session: HookSession) -> None:
        self.hooks = tuple(hooks)
        self._setting, self._session, self._workspace = session.setting, session.id, session.workspace
        self._redact, self._permissions, self._history = session.redact, session.permissions, session.history
        self.agent = session.agent
        cache_dir, cwd = self._setting.environment.cache_dir, self._setting.roots.workspace
        self.transcript = TranscriptCopy(cache_dir, session.id, cwd, self._setting.tools.find)
        self._trusted_files: dict[str, str] | None = None

    async def fire(self, occasion: Occasion) -> Firing:
        """Run what matches. Identical commands run once."""
        matching: dict[tuple[object, ...], tuple[Hook, str]] = {}
        for hook in self.hooks:
            if hook.event == occasion.event and hook.matches(occasion.about):
                fits, problem = self._check_condition(hook, occasion)
                if fits:
                    key = (hook.command, hook.args, hook.root, hook.problem)
                    matching.setdefault(key, (hook, hook.problem or problem))
        if not matching:
            return Firing()
        self.transcript.update(self._history().messages)
        data = encode(self._describe(occasion))
        async with self._keep_changes(occasion) as watch:
            watch = watch if len(matching) == 1 else None  # a record holds the changes of one program
            commands = [self._command(hook, occasion.within_s, watch) for hook, _ in matching.values()]
            runs = await asyncio.gather(
                *(self._run(*each, command, data) for each, command in zip(matching.values(), commands, strict=True))
            )
        firing = combine(runs)
        self._record(occasion, firing)
        return firing

    def _keep_changes(self, occasion: Occasion) -> "AbstractAsyncContextManager[CommandWatch | None]":
        """Let undo take back what hooks do after a call that changed something, such as formatting its files."""
        request = occasion.request
        if occasion.event != "PostToolUse" or not request or not request.changes or not self._profile.write:
            return nullcontext()
        return self._workspace.keep_changes(request.id, occasion.agent)

    @property
    def _profile(self) -> Profile:
        """The sandbox of hooks: they may do what a command of the model may do in this mode."""
        permissions = self._permissions
        return Profile(write=permissions.effective_mode != "plan", network=permissions.terms.network)

    def _describe(self, occasion: Occasion) -> dict[str, object]:
        mode = "dontAsk" if self._permissions.terms.dont_ask else TO_CLAUDE[self._permissions.mode]
        agent = {"agent_id": self.agent.id, "agent_type": self.agent.type} if self.agent else {}
        return {
            "session_id": self.agent.session if self.agent else self._session,
            "transcript_path": self.transcript.path,
            "cwd": self._setting.roots.workspace,
            "permission_mode": mode,
            "hook_event_name": occasion.event,
            **agent,
            **occasion.fields,
        }

    async def _run(
        self, hook: Hook, problem: str, command: HookCommand, data: bytes
    ) -> tuple[Hook, HookRun, HookReply]:
        problem = problem or self._find_changed_script(hook)
        if problem:
            return hook, HookRun(failure=problem), failed(hook.event, problem)
        run = await run_hook(self._workspace.spawner, command, data)
        if run.code is None:
            return hook, run, failed(hook.event, run.failure)
        return hook, run, read_reply(hook.event, run.code, run.stdout, run.stderr)

    def _command(self, hook: Hook, within_s: float, watch: "CommandWatch | None") -> HookCommand:
        from overt.workspace.programs import shell_words  # late: 11 ms

        shared = self._workspace.shared
        shared.stay_up(self._workspace)
        variables = {"CLAUDE_PROJECT_DIR": self._setting.roots.project}
        if hook.root:
            variables |= {"CLAUDE_PLUGIN_ROOT": hook.root, "CLAUDE_PLUGIN_DATA": hook.data}
        env = {**shared.environment, **variables}
        if hook.args is None:
            argv = shell_words(hook.command, env)
        else:
            argv = tuple(_expand(word, variables) for word in (hook.command, *hook.args))
        return HookCommand(
            argv=argv,
            cwd=self._setting.roots.workspace,
            env=env,
            profile=self._profile,
            timeout_s=min(hook.timeout_s, within_s or hook.timeout_s),
            watch=watch,
        )

    def _check_condition(self, hook: Hook, occasion: Occasion) -> tuple[bool, str]:
        """Return whether the call fits the `if` of a hook, and what is wrong with that."""
        if not hook.condition:
            return True, ""
        if occasion.request is None:
            return hook.event not in TOOL_EVENTS, ""
        try:
            rule = resolve_rule(
                read_rule(hook.condition, "ask", hook.origin), lambda: self._setting.tools.rule_names, []
            )
        except ConfigError as error:
            return True, error.message
        return speaks_of(rule, occasion.request.subject), ""

    def _find_changed_script(self, hook: Hook) -> str:
        """Say which script of a project's hook is not the one that was trusted: the model may have changed it."""
        project = self._setting.roots.project
        if not hook.of_project or not (names := named_scripts(project, hook.line)):
            return ""
        if self._trusted_files is None:
            answer = check_trust(self._setting.environment, project).answer
            self._trusted_files = (answer.files if answer else None) or {}
        changed = find_changed_script(project, names, self._trusted_files)
        return (
            f"{changed} has changed since this folder was trusted; read it, then run `overt trust`" if changed else ""
        )

    def _record(self, occasion: Occasion, firing: Firing) -> None:
        clean = self._redact
        lines = tuple(
            RunLine(
                command=clean(hook.line)[:LONGEST_SHOWN],
                origin=hook.origin,
                exit=run.code,
                ms=run.ms,
                verdict=reply.verdict,
                failure=clean(reply.failure)[:LONGEST_SHOWN],
            )
            for hook, run, reply in firing.runs
        )
        line = FiringLine(
            ts=round(time(), 3),
            session=self._session,
            project=slug(self._setting.roots.project),
            event=occasion.event,
            hooks=lines,
            tool=str(occasion.fields.get("tool_name", "")),
            call_id=str(occasion.fields.get("tool_use_id", "")),
            agent=self.agent.id if self.agent else occasion.agent,
            mode=self._permissions.mode,
            verdict=firing.verdict,
            reason=clean(firing.reason)[:LONGEST_SHOWN],
            changed=clean(compact(firing.updated_input))[:LONGEST_SHOWN] if firing.updated_input else "",
            context=len(firing.context),
        )
        add_line(self._setting.environment.data_dir, line)


def combine(runs: Sequence[tuple[Hook, HookRun, HookReply]]) -> Firing:
    """Combine what hooks say, in the order of the configuration. Of several changes of arguments, the last counts."""
    firing = Firing(
        runs=tuple(runs),
        context="\n".join(reply.context for _, _, reply in runs if reply.context),
        stop=next((reply.stop for _, _, reply in runs if reply.stop), ""),
        messages=tuple(reply.message for _, _, reply in runs if reply.message),
        failures=tuple(f"{hook.origin}: {reply.failure}" for hook, _, reply in runs if reply.failure),
    )
    for verdict in STRICTEST:
        deciding = [(hook, reply) for hook, _, reply in runs if reply.verdict == verdict]
        if deciding:
            reasons = "\n".join(reply.reason for _, reply in deciding if reply.reason)
            firing = replace(firing, verdict=verdict, reason=reasons, origin=deciding[0][0].origin)
            break
    changes = [reply.updated_input for _, _, reply in runs if reply.updated_input is not None]
    return replace(firing, updated_input=changes[-1]) if changes and firing.verdict != "deny" else firing


def _expand(word: str, variables: dict[str, str]) -> str:
    for name, value in variables.items():
        word = word.replace(f"${{{name}}}", value)
    return word
