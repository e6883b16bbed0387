"""The real hands: capabilities made for one call, with the walls of the workspace built in."""

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from overt.core.effects import Effect
from overt.core.errors import ToolError
from overt.core.events import TodoSet
from overt.core.history import History
from overt.core.ports import Journal, Loan, Profile, Spawner
from overt.core.views import Todo
from overt.world.files import Files, Workspace, find_rg
from overt.world.jobs import Jobs
from overt.world.programs import Programs


class TodoNotes:
    """Notes: the list as the history has it; a new one becomes a fact."""

    def __init__(self, todos: tuple[Todo, ...], journal: Journal) -> None:
        self._todos = todos
        self._journal = journal

    def todos(self) -> tuple[Todo, ...]:
        return self._todos

    def set_todos(self, items: tuple[Todo, ...]) -> None:
        self._todos = items
        self._journal.facts.append(TodoSet(items=items))


class WorldHands:
    """`history` is asked at the moment of lending, so a call sees what the calls before it saw and wrote."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        spawner: Spawner,
        jobs: Jobs,
        environment: Mapping[str, str],
        history: Callable[[], History],
    ) -> None:
        self._workspace = workspace
        self._spawner = spawner
        self._jobs = jobs
        self._environment = environment
        self._history = history
        self._rg = ""

    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
    ) -> Loan:
        journal = Journal()
        capabilities = {
            parameter: self._make(effect, call_id, journal=journal, preview=preview, report=report)
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
    ) -> Any:
        match effect:
            case "read" | "write":
                self._rg = self._rg or find_rg(self._environment.get("PATH", ""))
                seen = self._history().seen
                return Files(self._workspace, call_id=call_id, journal=journal, seen=seen, rg=self._rg, preview=preview)
            case "run":
                if preview:
                    raise ToolError("a program cannot be previewed")
                return Programs(
                    self._spawner,
                    self._jobs,
                    cwd=self._workspace.root,
                    env=self._environment,
                    report=report,
                    profile=Profile(),
                )
            case "notes":
                return TodoNotes(self._history().todos, journal)
            case "network" | "ask" | "delegate":
                raise ToolError(f"the effect {effect} is not available in this version")
            case _:
                assert_never(effect)
