"""What one session uses of its workspace: its own jobs, outputs and records, and the services that sessions share."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

from overt.app.session_record import SessionRecord
from overt.app.setting import Setting
from overt.app.workspace_services import WorkspaceServices
from overt.core.agents.writer import Writer
from overt.core.capabilities import JobState
from overt.core.errors import OvertError
from overt.core.events import Event
from overt.core.protocols import Journal, Profile, SandboxState
from overt.core.settings import Rule
from overt.lib.logs.background import log_failure
from overt.lib.logs.log import LOG
from overt.lib.redaction.redact import Redactor
from overt.safety.rules import Subject, matching
from overt.sessions.names import outputs_folder

if TYPE_CHECKING:
    from overt.app.subagents.workspace_copy import WorkspaceCopy
    from overt.workspace.command_output import OutputFiles
    from overt.workspace.files import Files, FileServices, Workspace
    from overt.workspace.jobs import Jobs
    from overt.workspace.programs import Programs, ProgramServices, SupervisorSpawner
    from overt.workspace.undo.recorder import UndoRecorder
    from overt.workspace.undo.snapshot_keeper import CommandWatch

CLOSE_WITHIN_S = 12.0
"""A session that ends waits this long for the records of its last commands."""


class SessionWorkspace:
    """What one session uses of its workspace. Its agents and the commands of the user go through this.

    `recorded` says where the session is stored, and `record` appends an event to it. The `redactor` learns from every
    file that is read. `writer` identifies a sub-agent. An isolated agent works in its `copy` of
    the workspace. Nothing of the session may be used after `close`.
    """

    def __init__(
        self,
        setting: Setting,
        shared: WorkspaceServices,
        *,
        record: Callable[[Event], None] = lambda _: None,
        redactor: Redactor | None = None,
        recorded: SessionRecord | None = None,
        writer: Writer | None = None,
    ) -> None:
        self.shared = shared
        self.copy: WorkspaceCopy | None = None
        self.rules: Callable[[], tuple[Rule, ...]] = lambda: setting.config.permissions.rules
        """The rules of the session's agent at this moment. Until the agent exists, those of the configuration."""
        self.undo_enabled = setting.config.undo.enabled
        self.profile = Profile(write=setting.config.sandbox.write, network=setting.config.sandbox.network)
        """The sandbox of a command that asks for nothing else."""
        self.writer = writer or Writer("main")
        """The agent of this session, for path claims."""
        self._setting = setting
        self._record = record
        self._redactor = redactor
        self._recorded = recorded
        self._recorder: UndoRecorder | None = None
        self._outputs: OutputFiles | None = None
        self._jobs: Jobs | None = None
        self._ending_jobs: asyncio.Future[None] | None = None
        self._warmed: set[str] = set()
        self._warming: asyncio.Task[None] | None = None
        self._closed = self._leaving = False
        shared.attach(self)

    @property
    def jobs(self) -> "Jobs":
        if self._jobs is None:
            from overt.workspace.jobs import Jobs  # late: 4 ms

            self._jobs = Jobs()
        return self._jobs

    def list_jobs(self) -> tuple[JobState, ...]:
        """Return the background commands of this session. Nothing loads if there never was one."""
        return self._jobs.list() if self._jobs is not None else ()

    def lasting_jobs(self) -> tuple[JobState, ...]:
        """Return the background commands that go on after an interrupt. Those of a sub-agent end with it, and those of
        a run without a user with the run."""
        if self.writer.parent or self._leaving or not self.shared.interactive:
            return ()
        return tuple(job for job in self.list_jobs() if job.state == "running")

    @property
    def recorder(self) -> "UndoRecorder":
        if self._recorder is None:
            from overt.workspace.undo.recorder import UndoRecorder  # late: 0.3 ms

            self._recorder = UndoRecorder(self._record)
        return self._recorder

    @property
    def outputs(self) -> "OutputFiles | None":
        """The stored outputs of this session, and those of the session it was forked from."""
        recorded = self._recorded
        if self._outputs is None and recorded is not None:
            from overt.workspace.command_output import OutputFiles  # late: 1.1 ms

            opened = recorded.resumed.opened if recorded.resumed else None
            self._outputs = OutputFiles(
                outputs_folder(os.path.realpath(self._setting.environment.data_dir)),
                recorded.id,
                stored=bool(recorded.path),
                redactor=self._redactor or Redactor(),
                earlier=(opened.parent,) if opened else (),
            )
        return self._outputs

    @cached_property
    def workspace(self) -> "Workspace":
        """The folders that file tools may reach, with the rules of this session."""
        from overt.workspace.files import Workspace  # late: 9 ms
        from overt.workspace.readable_paths import Readable  # late: 2 ms

        shared, copy = self.shared, self.copy
        place = copy.place if copy else shared.place
        return Workspace(
            root=place.workspace,
            write=place.write,
            read=place.read,
            copy=copy.overlay.view if copy else "",
            home=place.home,
            own=shared.own_folders,
            forbid=PathDenials(lambda: self.rules()),
            elsewhere=Readable(
                place,
                private=self.spawner.private_folders,
                also=self.outputs.readable if self.outputs else (),
            ),
        )

    def files(
        self, call_id: str, journal: Journal, *, seen: Mapping[str, str] | None = None, preview: bool = False
    ) -> "Files":
        """Return what a call may do with files. `seen` are the files that its agent has read."""
        from overt.workspace.files import Files  # late: 9 ms

        return Files(self._file_services, call_id=call_id, journal=journal, seen=seen or {}, preview=preview)

    @cached_property
    def _file_services(self) -> "FileServices":
        from overt.workspace.files import FileServices  # late: 9 ms

        return FileServices(
            workspace=self.workspace,
            rg=self.shared.rg,
            before_rg=self.copy.overlay.enter() if self.copy else (),
            keeper=None if self.copy else self.shared.keeper,
            recorder=self.recorder,
            observe=self._redactor.observer if self._redactor else None,
            check=self._check_claims,
        )

    def _check_claims(self, paths: Sequence[str], claim: bool) -> None:
        if (claims := self.shared.claims) and self.copy is None:
            claims.check(self.writer, paths, claim=claim)

    def join(self, tell: Callable[[str], None]) -> None:
        """Join the path claims of the workspace as a sub-agent. `tell` sends its model a message."""
        self.shared.make_claims().join(self.writer, tell)

    def leave_claims(self) -> None:
        """Leave the path claims when the agent has ended. Its paths pass to the agent that started it."""
        if claims := self.shared.claims:
            claims.leave(self.writer)

    def programs(
        self, call_id: str, profile: Profile, *, agent: str = "main", report: Callable[[str], None] | None = None
    ) -> "Programs":
        """Return what a call of an agent may do with programs."""
        from overt.workspace.programs import Programs  # late: 11 ms

        self.shared.stay_up(self)
        return Programs(
            self._program_services,
            profile=profile,
            agent=agent,
            report=report,
            keeping=lambda: self._keep_command(call_id, agent, report),
        )

    def keep_changes(self, call_id: str, agent: str) -> "AbstractAsyncContextManager[CommandWatch | None]":
        """Return the context for a program that may write, so that undo can revert it. In a copy it does nothing."""
        return nullcontext() if self.copy else self.shared.keeper.around(call_id, self.recorder, agent)

    def _keep_command(
        self, call_id: str, agent: str, report: Callable[[str], None] | None
    ) -> "AbstractAsyncContextManager[CommandWatch | None]":
        """Return the context for a command that may write. It waits for the commands of other agents."""
        keeper, recorder, claims = self.shared.keeper, self.recorder, self.shared.claims
        if claims is None or self.copy:
            return self.keep_changes(call_id, agent)
        return claims.command(self.writer, lambda: keeper.around(call_id, recorder, agent), keeper.changes_of, report)

    @cached_property
    def _program_services(self) -> "ProgramServices":
        from overt.workspace.programs import ProgramServices  # late: 11 ms

        return ProgramServices(
            spawner=self.spawner,
            jobs=self.jobs,
            workspace=self.workspace,
            env=self.shared.environment,
            outputs=self.outputs,
        )

    @property
    def spawner(self) -> "SupervisorSpawner":
        return self.copy.spawner if self.copy else self.shared.spawner

    def guess_sandbox(self) -> SandboxState:
        """Return the sandbox that programs will probably run in, without starting one."""
        return self.copy.spawner.guess(self.profile) if self.copy else self.shared.guess_sandbox(self.profile)

    async def find_sandbox(self) -> SandboxState:
        """Start the sandbox and return which one it is."""
        self.shared.stay_up(self)
        return await self.spawner.standing(self.profile)

    def warm(self, tool: str) -> None:
        """Get ready for a call that still streams in. A failure is only logged: the call itself reports it again."""
        if not self._closed and tool not in self._warmed:
            self._warmed.add(tool)
            self._warming = asyncio.get_running_loop().create_task(self._warm(tool))
            self._warming.add_done_callback(log_failure("sandbox"))

    async def _warm(self, name: str) -> None:
        if self._closed:
            return
        tool = self._setting.tools.find(name)
        try:
            if tool and "run" in tool.effects:
                self.programs("", self.profile)
                self.spawner.warm(self.profile)
                if not self.copy:
                    self.shared.keeper.warm()
            else:
                self.files("", Journal())
                if not self.copy:
                    self.shared.keeper.prepare()
        except OvertError as error:
            LOG.warning("sandbox", f"it could not be prepared: {error.message}")

    def rest(self) -> None:
        """The turn is over: let go of what was got ready for it, unless the next one begins soon."""
        self._warmed.clear()
        self.shared.rest(self)

    def leave(self) -> None:
        """Mark the session as closing: from now on no background command is reported as lasting."""
        self._leaving = True

    def end_jobs(self) -> None:
        """Start to end the background commands. `close` waits for them."""
        self._closed = True
        if self._jobs is not None and self._ending_jobs is None:
            self._ending_jobs = asyncio.ensure_future(self._jobs.close())

    async def close(self) -> None:
        """End the jobs of this session, wait for its last records, and let go of the shared services."""
        self.end_jobs()
        if self._jobs is not None and self._ending_jobs is not None:
            await self._ending_jobs
            await self._jobs.close()
        self.leave_claims()
        if self._recorder is not None:
            await self._recorder.close(CLOSE_WITHIN_S)
        await self.shared.release(self)
        if self._outputs is not None:
            self._outputs.close()


class PathDenials:
    """Names the rule that denies a real path, by the `rules` of the moment. False if none of them denies paths."""

    def __init__(self, rules: Callable[[], tuple[Rule, ...]]) -> None:
        self._rules = rules
        self._last_rules: tuple[Rule, ...] = ()
        self._denials: tuple[Rule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._current())

    def __call__(self, effect: str, path: str) -> str:
        if not (denials := self._current()):
            return ""
        family = "edit" if effect == "write" else ""
        rule = matching(denials, Subject(tool=effect, family=family, values=(path,)), "deny")
        return rule.text() if rule else ""

    def _current(self) -> tuple[Rule, ...]:
        """Return the rules that deny paths. They are chosen anew only if the rules have changed."""
        if (rules := self._rules()) != self._last_rules:
            self._last_rules = rules
            denials = (rule for rule in rules if rule.action == "deny")
            self._denials = tuple(rule for rule in denials if rule.pattern or rule.tool == "external_directory")
        return self._denials
