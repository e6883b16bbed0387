"""What one agent may do in its workspace, lent to its calls one by one."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct

from overt.app.permission_answers import UserForms
from overt.app.session_workspace import SessionWorkspace
from overt.app.subagents.skill_runner import SkillRunner
from overt.core.capabilities import (
    AskUser,
    CallServers,
    Delegate,
    Effect,
    EndedJob,
    FindTools,
    LoadSkills,
    Memory,
    Network,
    Notes,
    ReadFiles,
    RunPrograms,
)
from overt.core.errors import ToolError
from overt.core.events import TodoSet
from overt.core.history import History
from overt.core.protocols import BOXED, CommandChange, Journal, Loan, Profile, ResolvedPath, SandboxState, Survey
from overt.core.questions import FormAnswer, QuestionForm
from overt.core.views import Todo

if TYPE_CHECKING:
    from overt.app.skills.library import SkillLibrary
    from overt.app.subagents.delegation import Delegation

Capability = (
    ReadFiles | RunPrograms | AskUser | Notes | CallServers | FindTools | LoadSkills | Network | Memory | Delegate
)
MOST_DESCRIBED = 8
"""Paths that a person is told about before a command changes them."""


class TodoNotes:
    """Notes: the todo list of one agent, as its history has it. A new list becomes an event."""

    def __init__(self, todos: tuple[Todo, ...], journal: Journal) -> None:
        self._todos = todos
        self._journal = journal

    def todos(self) -> tuple[Todo, ...]:
        return self._todos

    def set_todos(self, items: tuple[Todo, ...]) -> None:
        self._todos = items
        self._journal.add(TodoSet(items=items))


class CallForms:
    """AskUser: puts the forms of one call to the user. Without `forms` there is no user, and they are declined."""

    def __init__(self, forms: UserForms | None, agent: str, call_id: str) -> None:
        self._forms = forms
        self._agent = agent
        self._call_id = call_id

    async def ask(self, form: QuestionForm) -> FormAnswer:
        if self._forms is None:
            return FormAnswer(action="decline", unattended=True)
        return await self._forms.ask(form, agent=self._agent, call_id=self._call_id)


class AgentServices(Struct, frozen=True, kw_only=True):
    """What calls of an agent use besides the workspace: the user, tools that are not listed, skills, and the web."""

    forms: UserForms | None = None
    catalog: FindTools | None = None
    web: Network | None = None
    skills: "SkillLibrary | None" = None
    delegation: "Delegation | None" = None
    memory: Callable[[Journal, bool], Memory] | None = None
    """Makes the notes of one call, which are only shown in a preview."""


NO_SERVICES = AgentServices()


class Capabilities:
    """The `Hands` of one agent. It lends nothing beyond `effects`.

    `history` is called when something is lent, so a call knows the files and todos of the calls before it. `web` is
    None where nothing may be fetched, as in a replay.
    """

    def __init__(
        self,
        workspace: SessionWorkspace,
        *,
        history: Callable[[], History],
        effects: frozenset[Effect],
        agent: str = "main",
        services: AgentServices = NO_SERVICES,
    ) -> None:
        self._workspace = workspace
        self._history = history
        self._effects = effects
        self._agent = agent
        self._services = services

    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
        box: Profile = BOXED,
    ) -> Loan:
        if refused := sorted({*needs.values()} - self._effects):
            raise ToolError(f"this agent may not use the effect {', '.join(refused)}", code="denied")
        journal, services = Journal(self._agent), self._services

        def make(effect: Effect) -> Capability:
            match effect:
                case "read" | "write":
                    return self._workspace.files(call_id, journal, seen=self._history().seen, preview=preview)
                case "run" if preview:
                    from overt.workspace.programs import NoPrograms  # late: 11 ms

                    return NoPrograms()
                case "run":
                    return self._workspace.programs(call_id, box, agent=self._agent, report=report)
                case "notes":
                    return TodoNotes(self._history().todos, journal)
                case "ask":
                    return CallForms(None if preview else services.forms, self._agent, call_id)
                case "mcp":
                    from overt.app.mcp.server_calls import ServerCalls  # late: 1 ms

                    forms = CallForms(None if preview else services.forms, self._agent, call_id)
                    workspace, agent = self._workspace, self._agent
                    return ServerCalls(
                        workspace.shared.servers(),
                        forms=forms,
                        keeping=lambda: workspace.keep_changes(call_id, agent),
                        report=report,
                    )
                case "discover":
                    if services.catalog is None:
                        raise ToolError("there are no further tools", code="missing")
                    return services.catalog
                case "skills":
                    if services.skills is None:
                        raise ToolError("there are no skills", code="missing")
                    if preview:
                        return services.skills.preview()
                    if services.delegation is None or "delegate" not in self._effects:
                        return services.skills
                    return SkillRunner(services.skills, services.delegation.for_call(call_id))
                case "network" if services.web is not None:
                    return services.web
                case "memory" if services.memory is not None:
                    return services.memory(journal, preview)
                case "delegate" if services.delegation is not None:
                    return services.delegation.for_call(call_id)
                case "network" | "memory" | "delegate":
                    raise ToolError(f"the effect {effect} is not available here")
                case _:
                    assert_never(effect)

        return Loan(capabilities={parameter: make(effect) for parameter, effect in needs.items()}, journal=journal)

    def look(self, paths: Sequence[str]) -> tuple[ResolvedPath, ...]:
        from overt.workspace.real_path import describe_path  # late: 0.7 ms

        return tuple(describe_path(self._workspace.workspace, path) for path in paths)

    def weigh(self, paths: Sequence[str], verb: str) -> tuple[str, ...]:
        from overt.workspace.change_preview import describe_impact  # late: 0.3 ms

        root = self._workspace.workspace.root
        lines = (describe_impact(os.path.join(root, path), path, verb) for path in paths[:MOST_DESCRIBED])
        return tuple(line for line in lines if line)

    async def survey(self, changes: Sequence[CommandChange]) -> tuple[Survey, ...]:
        from overt.workspace.undo.snapshot_keeper import NoSnapshot  # late: 8 ms
        from overt.workspace.undo.undo_coverage import UndoCover  # late: 6 ms

        shared, workspace = self._workspace.shared, self._workspace.workspace
        snapshot = await shared.keeper.before(self._workspace.recorder, self._agent)
        cover = UndoCover(
            root=workspace.root,
            home=workspace.home,
            write=workspace.write,
            snapshot=None if isinstance(snapshot, NoSnapshot) else snapshot,
            why_not=snapshot.why if isinstance(snapshot, NoSnapshot) else "",
            shadow=shared.keeper.shadow,
            git=shared.git,
        )
        return await asyncio.to_thread(lambda: tuple(cover.survey(change) for change in changes))

    def require_undo(self, call_id: str) -> None:
        self._workspace.recorder.require_snapshot(self._agent, call_id)

    def ended_jobs(self) -> tuple[EndedJob, ...]:
        return self._workspace.jobs.take_ended(self._agent) if self._workspace.list_jobs() else ()

    def guess(self) -> SandboxState:
        return self._workspace.guess_sandbox()

    async def standing(self) -> SandboxState:
        return await self._workspace.find_sandbox()
