"""The real hands: capabilities made for one call, with the walls of the workspace built in."""

import os
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from overt.app.setting import Setting
from overt.core.effects import Effect
from overt.core.errors import ToolError
from overt.core.events import TodoSet
from overt.core.history import History
from overt.core.ports import Journal, Loan, Profile
from overt.core.views import Todo
from overt.world.environment import child_environment
from overt.world.files import Files, Workspace, find_rg
from overt.world.jobs import Jobs
from overt.world.programs import NoPrograms, Programs, Supervised


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

    def __init__(self, setting: Setting, *, history: Callable[[], History]) -> None:
        config, places = setting.config, setting.roots
        self._workspace = Workspace(
            root=places.workspace,
            write=tuple(os.path.realpath(path) for path in config.allow_write),
            read=tuple(os.path.realpath(path) for path in config.allow_read),
        )
        self._environment = child_environment(setting.environment.variables, config.env_pass)
        self._history = history
        self._spawner = Supervised()
        self._jobs = Jobs()
        self._rg = ""

    def warm(self) -> None:
        """Start the supervisor of programs before the first command is known in full."""
        self._spawner.warm(Profile())

    async def close(self) -> None:
        """End every program that was started."""
        await self._jobs.close()
        await self._spawner.close()

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
                    return NoPrograms()
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
