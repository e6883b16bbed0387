"""Record what commands do to the git repository of the workspace: HEAD, refs, stash and index."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from msgspec.structs import replace

from overt.core.events import GitMoved
from overt.core.states import GitState
from overt.workspace.git.state import GitReader, differ, keep_differing_refs
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.snapshots import Store

CLOSE_TIMEOUT_S = 10.0


Inner = TypeVar("Inner")


class GitWatch:
    """Reads the repository around each command of all sessions that work in a workspace."""

    def __init__(self, workspace: str, store: Store) -> None:
        self._reader = GitReader(workspace)
        self._store = store
        self._pending: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def around(
        self, call_id: str, inner: AbstractAsyncContextManager[Inner], recorder: UndoRecorder, agent: str = "main"
    ) -> AsyncIterator[Inner]:
        """Enter `inner`, which takes a snapshot of the files, while the repository is read.

        If the command of `agent` moves something in the repository, that is recorded with `recorder`.
        """
        reading = asyncio.ensure_future(self._read_before())
        try:
            async with inner as value:
                git_dir, before, index = await reading
                try:
                    yield value
                finally:
                    start = GitMoved(agent=agent, call_id=call_id, git_dir=git_dir, before=before, after=before)
                    task = asyncio.get_running_loop().create_task(self._read_after(start, index, recorder))
                    self._pending.add(task)
                    task.add_done_callback(self._pending.discard)
                    recorder.wait_for(task)
        finally:
            if not reading.done():
                reading.cancel()

    async def settled(self) -> None:
        """Wait until what earlier commands did is recorded."""
        if self._pending:
            await asyncio.wait(set(self._pending), timeout=CLOSE_TIMEOUT_S)

    async def _read_before(self) -> tuple[str, GitState, bytes]:
        await self.settled()
        async with self._lock:
            repository, state = await asyncio.to_thread(self._reader.read)
            return repository.git_dir if repository else "", state, self._reader.index_bytes

    async def _read_after(self, start: GitMoved, index: bytes, recorder: UndoRecorder) -> None:
        """Compare the repository with `start`, which holds how it was before the command, and record a difference."""
        async with self._lock:
            repository, after = await asyncio.to_thread(self._reader.read)
            before = start.before
            if not differ(before, after):
                return
            old, new = keep_differing_refs(before, after)
            copy = await asyncio.to_thread(self._keep_index, index) if before.index != after.index else ""
            recorder.record(
                replace(
                    start,
                    git_dir=repository.git_dir if repository else start.git_dir,
                    before=replace(before, refs=old, index_copy=copy),
                    after=replace(after, refs=new),
                )
            )

    def _keep_index(self, index: bytes) -> str:
        """Keep the index as it was before the command. Return "" if there was none or the disk is full."""
        try:
            return self._store.put(index) if index else ""
        except OSError:
            return ""
