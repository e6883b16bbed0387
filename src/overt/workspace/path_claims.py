"""Claims of agents on paths of a workspace, so that agents do not overwrite each other's files.

    a file tool writes   it claims the path, or fails with the name of the agent that holds it
    a command may write  it waits for the command of another agent, then claims the files it changed
    an agent ends        its claims pass to the agent that started it

An agent waits for its sub-agents, so they may take over its claims. Changes of a command cannot be refused beforehand:
if another agent holds a file, both get a message. A background command counts until `bash` returns; files that it
changes later are not claimed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING

from overt.core.agents.writer import Writer
from overt.core.errors import ToolError
from overt.lib.logs.background import log_failure
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.workspace.undo.snapshot_keeper import CommandChanges, CommandWatch

MOST_NAMED = 8
"""The most paths that a message names."""


class PathClaims:
    """The claims of all agents that work in one workspace. There are none before a sub-agent joins."""

    def __init__(self) -> None:
        self._holders: dict[str, Writer] = {}
        self._live: dict[Writer, Callable[[str], None]] = {}
        self._lock = Lock()
        """File tools claim in threads."""
        self._commands = asyncio.Lock()
        self._running: Writer | None = None

    @property
    def active(self) -> bool:
        """True while a sub-agent runs; the main agent alone claims nothing."""
        return bool(self._live)

    def join(self, writer: Writer, tell: Callable[[str], None]) -> None:
        """Add a sub-agent. `tell` sends its model a message."""
        self._live[writer] = tell

    def leave(self, writer: Writer) -> None:
        """Remove a sub-agent that has ended. Its claims pass to its parent."""
        if self._live.pop(writer, None) is None:
            return
        with self._lock:
            for path, holder in self._holders.items():
                if holder is writer:
                    self._holders[path] = self._nearest_live(writer)
            if not self._live:
                self._holders.clear()

    def check(self, writer: Writer, paths: Iterable[str], *, claim: bool = False) -> None:
        """Raise a ToolError if another agent holds one of the paths. With `claim`, the writer claims them."""
        with self._lock:
            for path in paths:
                if self._is_foreign(path, writer):
                    raise ToolError(
                        f"{path} is held by {self._holders[path].label}, which has changed it and still works. Nothing "
                        "was written. Work elsewhere, and leave this file to it or try again after it has ended.",
                        code="claimed",
                    )
            if claim:
                self._holders.update(dict.fromkeys(paths, self._nearest_live(writer)))

    @asynccontextmanager
    async def command(
        self,
        writer: Writer,
        keep: "Callable[[], AbstractAsyncContextManager[CommandWatch]]",
        changes_of: "Callable[[CommandWatch], Awaitable[CommandChanges]]",
        report: Callable[[str], None] | None,
    ) -> "AsyncIterator[CommandWatch]":
        """Run a command in the context `keep` once no command of another agent runs. Afterwards `conflict` of its watch
        names the files of other agents that it changed."""
        if self._running and report:
            report(say("agents.waiting", agent=self._running.label))
        await self._commands.acquire()
        self._running, watch = writer, None
        try:
            async with keep() as watch:
                yield watch
        finally:
            claiming = asyncio.ensure_future(self._claim_changes(writer, watch, changes_of))
            claiming.add_done_callback(log_failure("claims"))
        await asyncio.shield(claiming)

    async def _claim_changes(
        self,
        writer: Writer,
        watch: "CommandWatch | None",
        changes_of: "Callable[[CommandWatch], Awaitable[CommandChanges]]",
    ) -> None:
        """Claim the files that a command changed, then let the next command run."""
        try:
            if watch is not None:
                watch.conflict = self._take_over(writer, await changes_of(watch))
        finally:
            self._running = None
            self._commands.release()

    def _take_over(self, writer: Writer, changes: "CommandChanges") -> str:
        """Claim the free paths. Notify the holders of the others, and return the conflict as text."""
        foreign: dict[Writer, list[str]] = {}
        with self._lock:
            holder = self._nearest_live(writer)
            for path in changes.paths:
                if self._is_foreign(path, writer):
                    foreign.setdefault(self._holders[path], []).append(path)
                else:
                    self._holders[path] = holder
        changed = "changed" if changes.certain else "may have changed"
        for other, paths in foreign.items():
            if tell := self._live.get(other):
                files = _join_paths(paths)
                tell(f"A command of {writer.label} {changed} what you hold: {files}. Read it before you go on.")
        held = "; ".join(f"{_join_paths(paths)}, held by {other.label}" for other, paths in foreign.items())
        return f"this command {changed} files of another agent: {held}. Leave them to it" if held else ""

    def _is_foreign(self, path: str, writer: Writer) -> bool:
        holder = self._holders.get(path)
        return not (holder is None or holder is writer or writer.is_below(holder))

    def _nearest_live(self, writer: Writer) -> Writer:
        """Return the agent, or its nearest ancestor that has not ended."""
        while writer not in self._live and writer.parent is not None:
            writer = writer.parent
        return writer


def _join_paths(paths: Sequence[str]) -> str:
    more = len(paths) - MOST_NAMED
    return ", ".join((*paths[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])))
