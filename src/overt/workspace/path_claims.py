"""Which agent holds which path of a workspace, so that agents that work at the same time keep apart.

    a file tool writes   it claims the path, or is refused and told who holds it
    a command may write  it waits for the command of another agent, then claims what it has changed
    an agent ends        what it held passes to the agent that started it

An agent waits for those it has started, so they may take over what it holds. What a command changes cannot be refused
beforehand: if another agent holds it, both are told. A background command counts until it runs on by itself; what it
changes later is claimed by nobody.
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
"""Paths that a message names."""


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
        """True while a sub-agent lives; the main agent alone claims nothing."""
        return bool(self._live)

    def join(self, writer: Writer, tell: Callable[[str], None]) -> None:
        """Take in a sub-agent. `tell` gives its model a message."""
        self._live[writer] = tell

    def leave(self, writer: Writer) -> None:
        """A sub-agent has ended: what it held passes to its parent."""
        if self._live.pop(writer, None) is None:
            return
        with self._lock:
            for path, holder in self._holders.items():
                if holder is writer:
                    self._holders[path] = self._living(writer)
            if not self._live:
                self._holders.clear()

    def check(self, writer: Writer, paths: Iterable[str], *, claim: bool = False) -> None:
        """Raise a ToolError if another agent holds one of the paths. With `claim`, the writer holds them afterwards."""
        with self._lock:
            for path in paths:
                if self._is_foreign(path, writer):
                    raise ToolError(
                        f"{path} is held by {self._holders[path].label}, which has changed it and still works. Nothing "
                        "was written. Work elsewhere, and leave this file to it or try again after it has ended.",
                        code="claimed",
                    )
            if claim:
                self._holders.update(dict.fromkeys(paths, self._living(writer)))

    @asynccontextmanager
    async def command(
        self,
        writer: Writer,
        keep: "Callable[[], AbstractAsyncContextManager[CommandWatch]]",
        changes_of: "Callable[[CommandWatch], Awaitable[CommandChanges]]",
        report: Callable[[str], None] | None,
    ) -> "AsyncIterator[CommandWatch]":
        """Keep a command in the context `keep` once no command of another agent runs. Afterwards its watch names the
        files of others that it has changed."""
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
        """Claim what a command has changed, then let the next one run."""
        try:
            if watch is not None:
                watch.conflict = self._take_over(writer, await changes_of(watch))
        finally:
            self._running = None
            self._commands.release()

    def _take_over(self, writer: Writer, changes: "CommandChanges") -> str:
        """Claim what is free. Return which files other agents hold, and tell these."""
        foreign: dict[Writer, list[str]] = {}
        with self._lock:
            holder = self._living(writer)
            for path in changes.paths:
                if self._is_foreign(path, writer):
                    foreign.setdefault(self._holders[path], []).append(path)
                else:
                    self._holders[path] = holder
        changed = "changed" if changes.certain else "may have changed"
        for other, paths in foreign.items():
            if tell := self._live.get(other):
                tell(f"A command of {writer.label} {changed} what you hold: {_some(paths)}. Read it before you go on.")
        held = "; ".join(f"{_some(paths)}, held by {other.label}" for other, paths in foreign.items())
        return f"this command {changed} files of another agent: {held}. Leave them to it" if held else ""

    def _is_foreign(self, path: str, writer: Writer) -> bool:
        holder = self._holders.get(path)
        return not (holder is None or holder is writer or writer.is_below(holder))

    def _living(self, writer: Writer) -> Writer:
        """Return an agent, or the nearest one above it that has not ended."""
        while writer not in self._live and writer.parent is not None:
            writer = writer.parent
        return writer


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - MOST_NAMED
    return ", ".join((*paths[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])))
