"""Records for undo: what the commands of one session changed. Sessions share a keeper, and each has a recorder."""

import asyncio
from collections.abc import Callable

from overt.core.events import Event, Noticed


class UndoRecorder:
    """`record` appends an event to the log of the session. After `close`, nothing is recorded any more."""

    def __init__(self, record: Callable[[Event], None] = lambda _: None) -> None:
        self._record = record
        self._noticed: set[str] = set()
        self._needing_snapshot: set[tuple[str, str]] = set()
        self._pending: set[asyncio.Task[None]] = set()
        self._closed = False

    def record(self, event: Event) -> None:
        if not self._closed:
            self._record(event)

    def notice_once(self, key: str, notice: Noticed) -> None:
        """Record a notice, unless one with this key was recorded before."""
        if key not in self._noticed:
            self._noticed.add(key)
            self.record(notice)

    def require_snapshot(self, agent: str, call_id: str) -> None:
        """Let the command of this call run only if there is a snapshot before it."""
        self._needing_snapshot.add((agent, call_id))

    def requires_snapshot(self, agent: str, call_id: str) -> bool:
        return (agent, call_id) in self._needing_snapshot

    def wait_for(self, task: asyncio.Task[None]) -> None:
        """Let `close` wait for a task that will record something."""
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def close(self, timeout_s: float) -> None:
        if self._pending:
            await asyncio.wait(set(self._pending), timeout=timeout_s)
        self._closed = True
