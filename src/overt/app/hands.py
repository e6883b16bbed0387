"""The real hands: capabilities made for one call, with the walls of the workspace built in."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from overt.app.place import place_of
from overt.app.record import Recorded
from overt.app.secrets import known_secrets
from overt.app.setting import Setting
from overt.core.effects import Effect, EndedJob, JobState
from overt.core.errors import ToolError
from overt.core.events import Event, TodoSet
from overt.core.history import History
from overt.core.ports import BOXED, Change, Journal, Loan, Looked, Profile, SandboxState, Survey
from overt.core.settings import Rule
from overt.core.views import Todo
from overt.lib.redact import Redactor
from overt.safety.rules import Subject, matching
from overt.sessions.names import outputs_folder
from overt.world._shadow_git import find_git
from overt.world.command_output import OutputFiles
from overt.world.environment import child_environment
from overt.world.files import Files, FileServices, Workspace, find_rg
from overt.world.git_watch import GitWatch
from overt.world.impact import weigh
from overt.world.jobs import Jobs
from overt.world.keeping import make_keeper
from overt.world.losses import UndoCover
from overt.world.programs import NoPrograms, Programs, ProgramServices, Supervised
from overt.world.readable import Readable
from overt.world.sandbox.profile import own_code, writable
from overt.world.sight import look
from overt.world.undo_maintenance import LimitEnforcer
from overt.world.undo_recorder import UndoRecorder

WEIGHED = 8
REST = 3.0


def _trust_no_module_of(roots: Sequence[str]) -> None:
    """A command could lay a module there, which would be loaded outside of its box."""
    ours = own_code(roots)
    sys.path[:] = [path for path in sys.path if path and (_lies_in(path, ours) or not _lies_in(path, roots))]


def _lies_in(path: str, places: Sequence[str]) -> bool:
    real = os.path.realpath(path)
    return any(real == place or real.startswith(place.rstrip("/") + "/") for place in places)


def forbidding(rules: Sequence[Rule]) -> Callable[[str, str], str] | None:
    """Which rule denies a place once its links are resolved; None when none denies any."""
    denials = [rule for rule in rules if rule.action == "deny" and (rule.pattern or rule.tool == "external_directory")]
    if not denials:
        return None

    def forbid(effect: str, path: str) -> str:
        rule = matching(denials, Subject(tool=effect, values=(path,)), "deny")
        return rule.text() if rule else ""

    return forbid


def _output_files(setting: Setting, recorded: Recorded, redactor: Redactor) -> OutputFiles:
    """The kept outputs of a session, and those of the session it was forked from."""
    opened = recorded.resumed.opened if recorded.resumed else None
    return OutputFiles(
        outputs_folder(os.path.realpath(setting.environment.data_dir)),
        recorded.id,
        stored=bool(recorded.path),
        redactor=redactor,
        earlier=(opened.parent,) if opened else (),
    )


class TodoNotes:
    """Notes: the list as the history has it; a new one becomes a fact."""

    def __init__(self, todos: tuple[Todo, ...], journal: Journal) -> None:
        self._todos = todos
        self._journal = journal

    def todos(self) -> tuple[Todo, ...]:
        return self._todos

    def set_todos(self, items: tuple[Todo, ...]) -> None:
        self._todos = items
        self._journal.add(TodoSet(items=items))


class WorldHands:
    """`history` is asked at the moment of lending, so a call sees what the calls before it saw and wrote."""

    def __init__(
        self,
        setting: Setting,
        *,
        history: Callable[[], History],
        record: Callable[[Event], None] = lambda _: None,
        redactor: Redactor | None = None,
        recorded: Recorded | None = None,
    ) -> None:
        self._observe = redactor.observer if redactor else None
        self._outputs = _output_files(setting, recorded, redactor or Redactor()) if recorded else None
        config, place = setting.config, place_of(setting)
        self._spawner = Supervised(place=place, mode=config.sandbox.mode)
        self._workspace = Workspace(
            root=place.workspace,
            write=place.write,
            read=place.read,
            home=place.home,
            own=(
                *(place.config_dir, place.data_dir, place.cache_dir),
                *((place.state_dir,) if place.state_dir else ()),
                *own_code((place.workspace, *place.write)),
            ),
            forbid=forbidding(config.permissions.rules),
            elsewhere=Readable(
                place,
                private=self._spawner.private_folders,
                also=self._outputs.readable if self._outputs else (),
            ),
        )
        self._environment = child_environment(
            setting.environment.variables, config.env_pass, secrets=known_secrets(setting)
        )
        self._history = history
        self._usual = Profile(write=config.sandbox.write, network=config.sandbox.network)
        self._jobs = Jobs()
        self._rg = ""
        self._writable = writable(place)
        _trust_no_module_of(self._writable)
        self._resting: asyncio.TimerHandle | None = None
        path = self._environment.get("PATH", "")
        self._recorder = UndoRecorder(record)
        self.keeper = make_keeper(
            place,
            own=self._workspace.own,
            path=path,
            settings=config.undo,
            make_limits=lambda: _limits(setting),
        )
        self._git_watch = GitWatch(place.workspace, self.keeper.store)

    @property
    def workspace(self) -> Workspace:
        return self._workspace

    def find_git(self) -> str:
        """The path of a git that no command in the sandbox can change, or an empty string."""
        return find_git(self._environment.get("PATH", ""), writable=self._writable)

    def warm(self) -> None:
        """Start the supervisor of programs before the first command is known in full, and look at the files."""
        self._stay()
        self._spawner.warm(self._usual)
        self.keeper.warm()

    def prepare(self) -> None:
        """Look at the files for the first time, before a command is near."""
        self.keeper.prepare()

    async def settled(self) -> None:
        """Until everything is on record that calls have done to files."""
        await self.keeper.quiet()
        await self._git_watch.settled()

    def look(self, paths: Sequence[str]) -> tuple[Looked, ...]:
        found = (look(self._workspace, path) for path in paths)
        return tuple(Looked(spelled=sight.spelled, real=sight.real, links=sight.links) for sight in found)

    def weigh(self, paths: Sequence[str], verb: str) -> tuple[str, ...]:
        lines = (weigh(os.path.join(self._workspace.root, path), path, verb) for path in paths[:WEIGHED])
        return tuple(line for line in lines if line)

    async def survey(self, changes: Sequence[Change]) -> tuple[Survey, ...]:
        taken = await self.keeper.before(self._recorder)
        cover = UndoCover(
            root=self._workspace.root,
            home=self._workspace.home,
            write=self._workspace.write,
            snapshot=None if isinstance(taken, str) else taken,
            why_not=taken if isinstance(taken, str) else "",
            shadow=self.keeper.shadow,
            git=self.find_git(),
        )
        return await asyncio.to_thread(lambda: tuple(cover.survey(change) for change in changes))

    def require_undo(self, call_id: str) -> None:
        self._recorder.require_snapshot("main", call_id)

    def guess(self) -> SandboxState:
        return self._spawner.guess(self._usual)

    def jobs(self) -> tuple[JobState, ...]:
        return self._jobs.list()

    def ended_jobs(self) -> tuple[EndedJob, ...]:
        return self._jobs.take_ended()

    async def standing(self) -> SandboxState:
        self._stay()
        return await self._spawner.standing(self._usual)

    def rest(self) -> None:
        """The turn is over: what runs nothing is taken down, unless the next turn comes soon."""
        self.keeper.rest()
        self._resting = self._resting or asyncio.get_running_loop().call_later(REST, self._take_down)

    def _take_down(self) -> None:
        self._resting = None
        self._spawner.rest()

    def _stay(self) -> None:
        if self._resting:
            self._resting.cancel()
            self._resting = None

    async def close(self) -> None:
        """End every program that was started."""
        self._stay()
        await self._jobs.close()
        await self._spawner.close()
        await self._git_watch.settled()
        await self.keeper.close()
        if self._outputs:
            self._outputs.close()

    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
        box: Profile = BOXED,
    ) -> Loan:
        journal = Journal()
        capabilities = {
            parameter: NoPrograms()
            if preview and effect == "run"
            else self._make(effect, call_id, journal=journal, preview=preview, report=report, box=box)
            for parameter, effect in needs.items()
        }
        return Loan(capabilities=capabilities, journal=journal)

    def _make(
        self,
        effect: Effect,
        call_id: str,
        *,
        journal: Journal,
        preview: bool,
        report: Callable[[str], None] | None,
        box: Profile,
    ) -> Any:
        match effect:
            case "read" | "write":
                self._rg = self._rg or find_rg(self._environment.get("PATH", ""), writable=self._writable)
                seen = self._history().seen
                return Files(
                    FileServices(
                        workspace=self._workspace,
                        rg=self._rg,
                        keeper=self.keeper,
                        recorder=self._recorder,
                        observe=self._observe,
                    ),
                    call_id=call_id,
                    journal=journal,
                    seen=seen,
                    preview=preview,
                )
            case "run":
                self._stay()
                return Programs(
                    ProgramServices(
                        spawner=self._spawner,
                        jobs=self._jobs,
                        workspace=self._workspace,
                        env=self._environment,
                        outputs=self._outputs,
                    ),
                    report=report,
                    profile=box,
                    agent="main" if call_id else "",
                    keeping=lambda: self._git_watch.around(
                        call_id, self.keeper.around(call_id, self._recorder), self._recorder
                    ),
                )
            case "notes":
                return TodoNotes(self._history().todos, journal)
            case "network" | "ask" | "delegate":
                raise ToolError(f"the effect {effect} is not available in this version")
            case _:
                assert_never(effect)


def _limits(setting: Setting) -> LimitEnforcer:
    from overt.app.undo_usage import limits_of  # late: 5 ms

    return limits_of(setting)
