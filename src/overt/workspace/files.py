"""The file capabilities of one call: containment, the guard against blind overwriting, the record of changes."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from threading import Event
from typing import TypeVar

from msgspec import Struct

from overt.core.capabilities import Blob, Change, FileText, FolderEntry, FoundFiles, Lines, Matches, Query
from overt.core.errors import ToolError
from overt.core.protocols import Journal
from overt.core.views import FileDiff
from overt.lib.encoding import show_name
from overt.lib.translations import say
from overt.workspace import read_file
from overt.workspace.change_files import PlannedChange, commit, plan, snapshot_facts
from overt.workspace.contained_path import OpenPath, Workspace, open_path
from overt.workspace.folder_tree import is_folder, list_tree, missing_folder, near_names
from overt.workspace.ripgrep import (
    CAP,
    NEWEST,
    Grep,
    Pattern,
    Ripgrep,
    escape_glob,
    files_matching,
    finish_in_thread,
    sort_by_age,
    split_pattern,
)
from overt.workspace.trusted_programs import find_rg, lies_outside
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.snapshot_keeper import SnapshotKeeper

__all__ = ["FileServices", "Files", "Workspace"]

T = TypeVar("T")


class _Absent(Exception):
    """Nothing is there; what comes near is looked for outside the thread."""


class FileServices(Struct, frozen=True, kw_only=True):
    """What the file capabilities of one session share. `rg` is the path of ripgrep; `before_rg` are words before
    it that run it in the namespaces of an overlay.

    With a `keeper`, changes can be undone; `recorder` gets the record of a change if its call is cancelled. `observe`
    is called with the path and the text of everything that is read or about to be written. `check` raises a ToolError
    if another agent holds one of the paths; with True as the second argument, this agent claims them.
    """

    workspace: Workspace
    rg: str
    before_rg: tuple[str, ...] = ()
    keeper: SnapshotKeeper | None = None
    recorder: UndoRecorder | None = None
    observe: Callable[[str, str], None] | None = None
    check: Callable[[Sequence[str], bool], None] = lambda _, __: None


class Files:
    """`ReadFiles` and `WriteFiles`. What was read or changed goes into the journal; a preview changes nothing."""

    def __init__(
        self,
        services: FileServices,
        *,
        call_id: str,
        journal: Journal,
        seen: Mapping[str, str],
        preview: bool = False,
    ) -> None:
        self.workspace = services.workspace
        self.call_id = call_id
        self.journal = journal
        self.seen = seen
        self.preview = preview
        roots = self.workspace.roots(writing=True)
        rg = services.rg if lies_outside(services.rg, roots) else find_rg("", writable=roots)
        self.rg = (*services.before_rg, rg) if rg else ()
        self._keeper = services.keeper
        self._recorder = services.recorder
        self._observe = services.observe
        self._check = services.check

    async def lines(self, path: str, *, offset: int, limit: int) -> Lines:
        stop = Event()
        try:
            lines = await self._look(
                path, lambda spot: read_file.read_lines(spot, max(offset, 1), max(limit, 1), stop=stop)
            )
        finally:
            stop.set()  # a cancelled wait leaves its thread behind, with gigabytes to go perhaps
        self.journal.seen[lines.path] = lines.hash
        if self._observe:
            self._observe(lines.path, "\n".join(lines.lines))
        return lines

    async def text(self, path: str) -> FileText:
        file = await self._look(path, read_file.read_text)
        if self._observe:
            self._observe(file.path, file.text)
        return file

    async def blob(self, path: str) -> Blob | None:
        blob = await self._look(path, read_file.read_blob)
        if blob is not None:
            self.journal.seen[blob.path] = blob.hash
        return blob

    async def list(self, path: str, *, depth: int, limit: int) -> tuple[tuple[FolderEntry, ...], bool]:
        def look(spot: OpenPath) -> tuple[tuple[FolderEntry, ...], bool]:
            if not is_folder(spot):
                raise ToolError(f"{spot.path} is not a folder; read it with read.", code="invalid")
            return list_tree(self.workspace, spot, depth=depth, limit=limit)

        return await self._look(path, look)

    async def find(self, pattern: str, *, path: str, limit: int) -> FoundFiles:
        pattern = pattern.removeprefix(self.workspace.root.rstrip("/") + "/").removeprefix("./")
        if pattern.startswith("/") and self.workspace.elsewhere:
            path, pattern = "/", pattern.lstrip("/")
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise ToolError(
                "A pattern is relative to `path` and goes down only; put the folder in `path`.", code="outside"
            )
        parts = split_pattern(pattern)
        start = os.path.join(path, parts.folder) if parts.folder else path
        with open_path(self.workspace, start) as spot:
            if spot.stat is None and parts.folder:
                return FoundFiles(paths=(), more=False)
            if not is_folder(spot):
                raise await self._unfit(spot, "a folder")
            names, more = await files_matching(self.rg, spot, parts)
            paths = await asyncio.to_thread(self._allowed, spot, names, limit)
            total = None if more or len(paths) <= limit else self._count_allowed(spot, names)
        more = more or len(paths) > limit
        return FoundFiles(paths=tuple(show_name(path) for path in paths[:limit]), more=more, total=total)

    async def names(self) -> Sequence[str]:
        """Return the path of each file in the workspace that is not ignored, as it is on disk, in no order."""
        with open_path(self.workspace, ".") as root:
            names, _ = await Ripgrep(self.rg, root, cap=8 * CAP).run("--files", "--null", "--", "./")
        return await asyncio.to_thread(lambda: [name[2:] for name in os.fsdecode(names).split("\0")[:-1]])

    async def search(self, query: Query) -> Matches:
        grep = Grep(query)
        with open_path(self.workspace, query.path) as spot:
            rg = Ripgrep(self.rg, spot)
            paths: Sequence[str] = (spot.real,)
            more = False
            if is_folder(spot):
                paths, more = await grep.files(rg, _prefix(spot))
            elif spot.stat is None:
                raise await self._unfit(spot, "a file or folder")
            else:
                os.close(read_file.open_regular(spot))
                grep.one_file = True
            await finish_in_thread(
                lambda: grep.read(rg, paths, lambda path: self._found(path, read_file.open_regular)), stop=rg.stop
            )
        if self._observe:
            for path, lines in grep.shown.items():
                self._observe(path, "\n".join(lines))
        return grep.matches(more=more)

    async def change(self, changes: Sequence[Change]) -> tuple[FileDiff, ...]:
        if self._observe:
            for change in changes:
                self._observe(change.move_to or change.path, change.content or "")
        keeper = None if self.preview else self._keeper
        if keeper:
            await keeper.wait_for_pending_snapshots()
        try:
            return await finish_in_thread(lambda: self._change(changes))
        except asyncio.CancelledError:
            if self._recorder:
                for fact in self.journal.facts:
                    self._recorder.record(fact)
            raise
        finally:
            if keeper:
                keeper.mark_changed()

    def _change(self, changes: Sequence[Change]) -> tuple[FileDiff, ...]:
        known = {**self.seen, **self.journal.seen}
        with ExitStack() as stack:
            check = self._check
            planned = plan(self.workspace, changes, seen=known, stack=stack, check=lambda path: check((path,), False))
            if not self.preview:
                spots = (spot for item in planned if not item.idle for spot in (item.source, item.target))
                check(tuple(spot.path for spot in spots if spot), True)
                unstored: dict[str, str] = {}
                commit(planned, before_write=lambda item: self._keep(item, unstored), stack=stack)
                for item in planned:
                    if not item.idle and not self.workspace.copy:
                        for fact in snapshot_facts(item, self.call_id, unstored.get(item.source.path, "")):
                            self.journal.add(fact)
                    if item.data is not None and item.knew(known):
                        self.journal.seen[item.diff.path] = read_file.digest(item.data)
        return tuple(item.diff for item in planned)

    def _keep(self, item: PlannedChange, unstored: dict[str, str]) -> None:
        """The content is in the store before it goes; a store that does not take it holds nothing up."""
        if self._keeper is None or item.raw is None:
            return
        try:
            self._keeper.store.put(item.raw, item.hash)
        except OSError as error:
            unstored[item.source.path] = say("undo.failed", why=error.strerror or "input/output error")

    async def _look(self, path: str, look: Callable[[OpenPath], T]) -> T:
        def work() -> T:
            with open_path(self.workspace, path) as spot:
                if spot.stat is None:
                    raise _Absent
                return look(spot)

        try:
            return await asyncio.to_thread(work)
        except _Absent:
            with open_path(self.workspace, path) as spot:
                raise await self._unfit(spot, "a file") from None

    async def _unfit(self, spot: OpenPath, wanted: str) -> ToolError:
        """Why nothing fit is there, and which names come near."""
        if spot.stat is not None:
            return ToolError(f"{spot.path} is not {wanted}.", code="invalid")
        if self.workspace.on_host(spot.root) != spot.root and os.path.lexists(spot.real):
            why = f"commands have a {spot.root} of their own. The user can open the real one with --add-dir"
            return ToolError(f"{spot.path} is out of reach: {why} {os.path.dirname(spot.path)}.", code="missing")
        near = near_names(self.workspace, spot) or await self._elsewhere(spot)
        folder = missing_folder(self.workspace, spot)
        why = f" (there is no folder {folder})" if folder else ""
        hint = f" Did you mean {' or '.join(near)}?" if near else " Look with list or glob."
        return ToolError(f"{spot.path} does not exist{why}.{hint}", code="missing")

    async def _elsewhere(self, spot: OpenPath) -> Sequence[str]:
        """The same name in other folders of the workspace."""
        if not self.rg or ":" in spot.name:
            return []
        with open_path(self.workspace, ".") as root:
            wanted = Pattern(folder="", name=escape_glob(spot.name), whole="")
            try:
                async with asyncio.timeout(2.0):
                    names, _ = await files_matching(self.rg, root, wanted, cap=64 * 1024)
            except (TimeoutError, ToolError):
                return []
        return [show_name(name[2:]) for name in sorted(names)[:3]]

    def _allowed(self, spot: OpenPath, names: Sequence[str], limit: int) -> Sequence[str]:
        """The newest of these files that may be shown, and one more if there is one."""
        below = (_prefix(spot) + name[2:] for name in sort_by_age(spot, names))
        return tuple(islice((path for path in below if self._found(path, lambda _: True)), limit + 1))

    def _count_allowed(self, spot: OpenPath, names: Sequence[str]) -> int | None:
        """Count the files that no rule forbids; None if there are so many that asking the rules takes long."""
        forbid = self.workspace.forbid
        if not forbid:
            return len(names)
        if len(names) > NEWEST:
            return None
        return sum(not forbid("read", _prefix(spot) + name[2:]) for name in names)

    def _found(self, real: str, use: Callable[[OpenPath], T]) -> T | None:
        """Use a path that ripgrep came upon, unless a link leads there by now or a rule forbids it."""
        try:
            with open_path(self.workspace, real) as spot:
                return use(spot) if spot.real == real and spot.stat is not None else None
        except ToolError as error:
            if error.code == "busy":
                raise
            return None


def _prefix(spot: OpenPath) -> str:
    """What stands before a name below this place, as it is on disk."""
    return "" if spot.real == "." else f"{spot.real.rstrip('/')}/"
