"""The hands before anything needs them: reading files and running programs load with the first call."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from overt.app.record import Recorded
from overt.app.setting import Setting
from overt.core.effects import Effect, EndedJob, JobState
from overt.core.errors import OvertError
from overt.core.events import Event
from overt.core.foreign import our_tool
from overt.core.history import History
from overt.core.ports import BOXED, Change, Loan, Looked, Profile, SandboxState, Survey
from overt.lib.background import log_failure
from overt.lib.log import LOG
from overt.lib.redact import Redactor

if TYPE_CHECKING:
    from overt.app.hands import WorldHands

PROGRAM_TOOLS = ("bash", "jobs")


class LateHands:
    """The hands, loaded when the first call streams in: until then nothing needs them.

    `recorded` is set once the session is open; what commands print is kept with it.
    """

    def __init__(
        self,
        setting: Setting,
        history: Callable[[], History],
        record: Callable[[Event], None] = lambda _: None,
        redactor: Redactor | None = None,
        recorded: Recorded | None = None,
    ) -> None:
        self._recorded = recorded
        self._redactor = redactor
        self._setting = setting
        self._history = history
        self._record = record
        self._found: WorldHands | None = None
        self._closed = False
        self._warmed: set[str] = set()
        self._warming: asyncio.Task[None] | None = None

    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
        box: Profile = BOXED,
    ) -> Loan:
        return self._real().lend(call_id, needs, preview=preview, report=report, box=box)

    def warm(self, tool: str) -> None:
        """Get ready for a call that still streams. A failure is logged: the call itself reports it again."""
        if self._closed or tool in self._warmed:
            return
        self._warmed.add(tool)
        self._warming = asyncio.get_running_loop().create_task(self._warm(tool))
        self._warming.add_done_callback(log_failure("sandbox"))

    async def _warm(self, tool: str) -> None:
        if self._closed:
            return
        try:
            hands = self._real()
            if our_tool(tool) in PROGRAM_TOOLS:
                hands.warm()
            else:
                hands.prepare()
        except OvertError as error:
            LOG.warning("sandbox", f"it could not be prepared: {error.message}")

    def look(self, paths: Sequence[str]) -> tuple[Looked, ...]:
        return self._real().look(paths)

    def weigh(self, paths: Sequence[str], verb: str) -> tuple[str, ...]:
        return self._real().weigh(paths, verb)

    async def survey(self, changes: Sequence[Change]) -> tuple[Survey, ...]:
        return await self._real().survey(changes)

    def require_undo(self, call_id: str) -> None:
        self._real().require_undo(call_id)

    def guess(self) -> SandboxState:
        """Before anything has run it follows from the settings, without the hands."""
        wanted = self._setting.config.sandbox.mode
        if self._found is not None:
            return self._found.guess()
        from overt.world.sandbox.choose import choose  # late: 1.0 ms

        return choose(wanted)

    def jobs(self) -> tuple[JobState, ...]:
        """Background commands, where any can have been started."""
        return self._found.jobs() if self._found is not None else ()

    def ended_jobs(self) -> tuple[EndedJob, ...]:
        return self._found.ended_jobs() if self._found is not None else ()

    async def standing(self) -> SandboxState:
        return await self._real().standing()

    async def settled(self) -> None:
        if self._found is not None:
            await self._found.settled()

    def rest(self) -> None:
        self._warmed.clear()
        if self._found is not None:
            self._found.rest()

    async def close(self) -> None:
        self._closed = True
        if self._found is not None:
            await self._found.close()

    @property
    def undo_enabled(self) -> bool:
        return self._setting.config.undo.enabled

    def real(self) -> "WorldHands":
        """The hands themselves, for what is none of a tool's business."""
        return self._real()

    def _real(self) -> "WorldHands":
        if self._found is None:
            from overt.app.hands import WorldHands  # late: 80 ms

            self._found = WorldHands(
                self._setting,
                history=self._history,
                record=self._record,
                redactor=self._redactor,
                recorded=self._recorded,
            )
        return self._found
