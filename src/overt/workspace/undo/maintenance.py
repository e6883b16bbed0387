"""Run the limits of undo in the background: after a turn, at the end of a run, and within a turn that adds much."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from overt.core.errors import OvertError

WITHIN_TURN_SHARE = 0.1
"""Do not wait for the end of a turn that has added this share of the limit."""
CLOSE_WAIT_S = 10.0


class LimitEnforcer(Protocol):
    """Keeps the stores within their limits. Every method blocks, except `stop`.

    `stop` ends what runs in another thread.
    """

    def add_to_estimate(self, grown: int, *, ending: bool) -> bool: ...

    def enforce(self) -> object: ...

    def stop(self) -> None: ...


class Maintenance:
    """Starts the maintenance of the undo stores. `make_limits` is called when something was stored; `measure_growth`
    returns the bytes that this process has added to the stores so far."""

    def __init__(
        self, make_limits: Callable[[], LimitEnforcer], measure_growth: Callable[[], int], *, max_size: int
    ) -> None:
        self._make_limits = make_limits
        self._limits: LimitEnforcer | None = None
        self._measure_growth = measure_growth
        self._within_turn = max_size * WITHIN_TURN_SHARE
        self._noted = 0
        self._task: asyncio.Task[None] | None = None

    def after_snapshot(self) -> None:
        if self._measure_growth() - self._noted > self._within_turn:
            self.after_turn()

    def after_turn(self, *, ending: bool = False) -> None:
        """Start the work if something was added and none is running. If the process is `ending`, only what must be."""
        grown = self._measure_growth() - self._noted
        if grown > 0 and (self._task is None or self._task.done()):
            self._noted += grown
            self._task = asyncio.get_running_loop().create_task(self._run(grown, ending=ending))

    async def close(self) -> None:
        """Finish what is running, and what was added since. It is stopped if it takes long; the next run goes on."""
        if self._task:
            await asyncio.wait({self._task}, timeout=CLOSE_WAIT_S)
        self.after_turn(ending=True)
        if self._task:
            _, pending = await asyncio.wait({self._task}, timeout=CLOSE_WAIT_S)
            if pending and self._limits:
                self._limits.stop()
                await asyncio.wait(pending)

    async def _run(self, grown: int, *, ending: bool) -> None:
        self._limits = self._limits or self._make_limits()
        try:
            if await asyncio.to_thread(self._limits.add_to_estimate, grown, ending=ending):
                await asyncio.to_thread(self._limits.enforce)
        except (OvertError, OSError):
            pass  # stopped, or a full disk: the stores are whole, and the estimate makes the next run try again
