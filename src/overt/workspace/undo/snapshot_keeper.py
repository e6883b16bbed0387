"""What is kept so that files can be put back: contents before an edit, the whole workspace around a command.

A pass over the workspace runs in a thread. The one before a command begins while its call still streams in, and is
waited for no longer than `PATIENCE`; the one after it runs while the model already reads the result, and the next
change waits for it. The very first one of a workspace takes longest: it begins with the first call of any kind, and a
command waits longer for it.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import OvertError, ToolError
from overt.core.events import GitMoved, Level, Noticed, TreeTaken
from overt.core.file_states import FileChange, FileState
from overt.core.protocols import Tracking
from overt.core.settings import UndoSettings
from overt.lib.logs.background import log_failure
from overt.lib.logs.log import LOG
from overt.lib.paths import slug
from overt.lib.protected_names import AT_HOME
from overt.lib.translations import say
from overt.sandbox.profile import PRIVATE, SandboxPlace, writable
from overt.sandbox.secret_places import HIDDEN
from overt.workspace.contained_path import lies_below
from overt.workspace.git.state import GitReader, GitReading, differ, keep_differing_refs
from overt.workspace.trusted_programs import find_git
from overt.workspace.undo.attribution import compare_snapshots, name_uncovered, parse_record
from overt.workspace.undo.content_store import ClosedContentStore, ContentStore
from overt.workspace.undo.first_snapshot import FIRST_SNAPSHOT_LIMIT_S, FirstSnapshotError
from overt.workspace.undo.maintenance import LimitEnforcer, Maintenance
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.shadow_repository import Shadow, Snapshot

PATIENCE = 2.0
FIRST_PATIENCE = FIRST_SNAPSHOT_LIMIT_S + 2.0
UNTOLD = 1.0
"""So long is the first one waited for before a word is said about it."""
SOON = 1.0
"""So long after the first call the first one begins, where no command is in sight."""
FRESH = 1.0
"""So old may a pass be that stands for the moment before a command, when nothing of ours changed a file since."""


DEFAULT_SETTINGS = UndoSettings()


class NoSnapshot(Struct, frozen=True, kw_only=True):
    """Why there is no snapshot of the workspace. If `unexpected`, the user is warned."""

    why: str
    unexpected: bool = False


class CommandWatch(Struct):
    """One command between two snapshots. What it changed is recorded with `recorder`.

    The runner stores the command's write record in `writes` (None: not tracked). `taken` is the record of its end, once
    `looked_after` is done. `conflict` names files of other agents that it changed.
    """

    call_id: str
    agent: str
    recorder: UndoRecorder
    before: Snapshot | NoSnapshot
    tracking: Tracking | None
    git: GitReading
    writes: bytes | None = None
    looked_after: asyncio.Task[None] | None = None
    taken: TreeTaken | None = None
    conflict: str = ""

    def start(self) -> TreeTaken:
        """The record of a command that has begun: the state before it is known, the one after it is not."""
        before = self.before.name if isinstance(self.before, Snapshot) else ""
        return TreeTaken(agent=self.agent, call_id=self.call_id, before=before, after="")


class CommandChanges(Struct, frozen=True, kw_only=True):
    """Files that a command changed; not `certain` if others may have changed some of them."""

    paths: tuple[str, ...] = ()
    certain: bool = True


class SnapshotKeeper:
    """Takes the snapshots of one workspace for all sessions that work in it. Without `shadow`, `why` is the reason.

    `roots` are the folders below which changes by commands are tracked, the workspace first.
    `git` reads the repository of the workspace. If the user has switched undo off, a missing snapshot needs no notice.
    """

    def __init__(
        self,
        store: ContentStore,
        shadow: Shadow | None,
        *,
        why: str = "",
        roots: Sequence[str] = (),
        maintenance: Maintenance | None = None,
        git: GitReader | None = None,
    ) -> None:
        self.store = store
        self.shadow = shadow
        self.disabled = isinstance(store, ClosedContentStore)
        self._why = why
        self._pass: asyncio.Task[Snapshot | NoSnapshot] | None = None
        self._begun = 0.0
        self._after: set[asyncio.Task[None]] = set()
        self._soon: asyncio.TimerHandle | None = None
        self._closed = False
        self._roots = tuple(roots)
        self._maintenance = maintenance
        self._git = git
        self._git_lock = asyncio.Lock()
        self._abandoned = False
        """The first snapshot was given up, so there will be none."""

    def warm(self) -> None:
        """Begin a pass now: a command is coming."""
        if self._is_free() and not self._fresh():
            self._start()

    def prepare(self) -> None:
        """Begin the very first pass soon, behind everything else: a command may come some time.

        Not at once: a session that only looks something up is over before, and the search would have to share.
        """
        if self._is_free(first=True) and self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._begin)

    def _begin(self) -> None:
        self._soon = None
        if self._is_free(first=True):
            self._start(idle=True).add_done_callback(log_failure("undo"))

    def _is_free(self, *, first: bool = False) -> bool:
        """True if a pass can begin; with `first`, only if there was none before."""
        if self.shadow is None or self._closed or (first and self.shadow.has_begun()):
            return False
        return self._pass is None or self._pass.done()

    async def before(self, recorder: UndoRecorder, agent: str = "main") -> Snapshot | NoSnapshot:
        """Return the state of the workspace just before a command, or why it is not known."""
        await self.wait_for_pending_snapshots()
        if self.shadow is None:
            return self._no_snapshot()
        first = not self.shadow.has_begun()
        loop = asyncio.get_running_loop()
        notice = loop.call_later(UNTOLD, self._tell_of_the_first, recorder, agent) if first else None
        try:
            async with asyncio.timeout(FIRST_PATIENCE if first else PATIENCE):
                if self._pass and not self._pass.done():
                    await asyncio.wait({self._pass})
                snapshot = self._pass if self._fresh() and self._pass else self._start()
                await asyncio.wait({snapshot})
                return snapshot.result()
        except TimeoutError:
            return NoSnapshot(why=say("undo.not_ready"), unexpected=True)
        finally:
            if notice:
                notice.cancel()

    @asynccontextmanager
    async def around(self, call_id: str, recorder: UndoRecorder, agent: str = "main") -> AsyncIterator[CommandWatch]:
        """Take a snapshot before a command of `agent` that may write, and one after it, however the command ends."""
        await self.wait_for_pending_snapshots()
        before, git = await asyncio.gather(self.before(recorder, agent), self._read_git())
        if isinstance(before, NoSnapshot) and recorder.requires_snapshot(agent, call_id):
            raise ToolError(
                f"Not run: it was allowed because undo would bring it back, and undo has no snapshot ({before.why}). "
                "Try again, or change the files with edit or patch.",
                code="denied",
            )
        since = before.began_ns if isinstance(before, Snapshot) else time.time_ns()
        tracking = Tracking(roots=(*self._roots, *PRIVATE), since=since) if self._roots else None
        watch = CommandWatch(call_id, agent, recorder, before, tracking, git)
        if isinstance(before, Snapshot):  # in case this process is killed before the command ends
            recorder.record(watch.start())
        try:
            yield watch
        finally:
            loop = asyncio.get_running_loop()
            watch.looked_after = loop.create_task(self._look_after(watch))
            for task in (watch.looked_after, loop.create_task(self._record_git(watch))):
                self._after.add(task)
                task.add_done_callback(self._after.discard)
                recorder.wait_for(task)
                task.add_done_callback(log_failure("undo"))

    async def wait_for_pending_snapshots(self) -> None:
        """Until the commands before have been looked at; a change now would be taken for theirs."""
        if self._after:
            await asyncio.wait(set(self._after), timeout=PATIENCE)

    def mark_changed(self) -> None:
        """We have changed a file ourselves: a pass from before that is not fresh any more."""
        self._begun = 0.0

    async def close(self) -> None:
        if self._after:
            await asyncio.wait(set(self._after), timeout=FIRST_PATIENCE)
        self._closed = True
        if self._soon:
            self._soon.cancel()
        if self.shadow:
            self.shadow.stop()
        left = {*self._after, *((self._pass,) if self._pass else ())}
        if left:
            await asyncio.wait(left, timeout=PATIENCE)
        if self._maintenance:
            await self._maintenance.close()

    def rest(self) -> None:
        """The turn is over: apply the limits of undo, in the background."""
        if self._maintenance and not self._closed:
            self._maintenance.after_turn()

    def content(self, state: FileState) -> bytes:
        """What a file held, or where a link led, once it was fetched."""
        return self.store.get(state.hash)

    def fetch(self, states: Iterable[FileState]) -> dict[str, str]:
        """Bring contents that git holds into the store of contents: name there → name here. Blocking."""
        wanted = tuple({state.hash for state in states if len(state.hash) == 40})
        if not wanted:
            return {}  # where only file tools wrote, git may never have been started
        return {name: self.store.put(raw) for name, raw in self._require_shadow().contents(wanted)}

    def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """What differs between two states of the workspace; blocking."""
        return self._require_shadow().changes(before, after)

    def lacks_states(self, names: Sequence[str]) -> bool:
        """True if one of these states was removed from the store; blocking."""
        return self.shadow is not None and bool(names) and self.shadow.lacks(names)

    def now(self) -> str:
        """The state of the workspace at this moment; blocking."""
        return self._require_shadow().take().name

    def _require_shadow(self) -> Shadow:
        if self.shadow is None:
            raise OvertError(self._why)
        return self.shadow

    def _fresh(self) -> bool:
        return self._pass is not None and asyncio.get_running_loop().time() - self._begun < FRESH

    def _start(self, *, idle: bool = False) -> "asyncio.Task[Snapshot | NoSnapshot]":
        loop = asyncio.get_running_loop()
        self._begun = loop.time()
        self._pass = loop.create_task(self._take(idle=idle))
        return self._pass

    async def _take(self, *, idle: bool) -> Snapshot | NoSnapshot:
        if self.shadow is None:
            return self._no_snapshot()  # abandoned by the pass before
        try:
            return await asyncio.to_thread(self.shadow.take, idle=idle)
        except FirstSnapshotError as error:
            self.shadow, self._why = None, error.message
            self._abandoned = True
            return self._no_snapshot()
        except OvertError as error:
            LOG.warning("undo", f"the workspace could not be recorded: {error.message}")
            return NoSnapshot(why=say("undo.failed", why=error.message))
        finally:
            if self._maintenance and not self._closed:
                self._maintenance.after_snapshot()

    async def _look_after(self, watch: CommandWatch) -> None:
        before = watch.before
        if isinstance(before, NoSnapshot):
            record = parse_record(watch.writes, self._roots[0] if self._roots else "")
            watch.recorder.record(replace(watch.start(), uncovered=(before.why, *name_uncovered(record, self._roots))))
            self._warn(watch, before)
            return
        if self._pass and not self._pass.done():
            await asyncio.wait({self._pass})
        after = await self._start()
        if self._closed:
            return
        if isinstance(after, NoSnapshot):
            watch.recorder.record(replace(watch.start(), uncovered=(after.why,)))
            self._warn(watch, after)
        else:
            shadow = self._require_shadow()
            record = parse_record(watch.writes, shadow.root)
            args = (watch.start(), before, after, shadow, record, self._roots)
            watch.taken = await asyncio.to_thread(compare_snapshots, *args)
            watch.recorder.record(watch.taken)

    async def changes_of(self, watch: CommandWatch) -> CommandChanges:
        """Return the files that a command changed: from the snapshots around it, or from its write record if there are
        none or they take too long."""
        if watch.looked_after:
            await asyncio.wait([watch.looked_after], timeout=PATIENCE)
        if taken := watch.taken:
            with suppress(OvertError):
                changes = await asyncio.to_thread(self.changes, taken.before, taken.after) if taken.changed else ()
                files = [each for each in changes if not (each.before or each.after or FileState()).folder]
                own = tuple(each.path for each in files if each.path not in taken.others)
                return CommandChanges(paths=own, certain=taken.tracked)
        record = parse_record(watch.writes, self._roots[0] if self._roots else "")
        return CommandChanges(paths=tuple(path for path in record.paths if not path.startswith(("/", ".git/"))))

    async def _read_git(self) -> GitReading:
        async with self._git_lock:
            return await asyncio.to_thread(self._git.read) if self._git else GitReading()

    async def _record_git(self, watch: CommandWatch) -> None:
        """Record what the command did to the git repository of the workspace: HEAD, refs, stash and index."""
        (before, git_dir, index), (after, git_dir_now, _) = watch.git, await self._read_git()
        if not differ(before, after):
            return
        old, new = keep_differing_refs(before, after)
        copy = ""
        if before.index != after.index and index:
            with suppress(OSError):  # the disk is full
                copy = await asyncio.to_thread(self.store.put, index)
        watch.recorder.record(
            GitMoved(
                agent=watch.agent,
                call_id=watch.call_id,
                git_dir=git_dir_now or git_dir,
                before=replace(before, refs=old, index_copy=copy),
                after=replace(after, refs=new),
            )
        )

    def _no_snapshot(self) -> NoSnapshot:
        return NoSnapshot(why=self._why, unexpected=self._abandoned)

    def _warn(self, watch: CommandWatch, missing: NoSnapshot) -> None:
        """Notify a session that undo does not cover a command, once for each reason."""
        if not self.disabled:
            level: Level = "warning" if missing.unexpected else "info"
            notice = Noticed(agent=watch.agent, text=say("undo.uncovered", why=missing.why), level=level)
            watch.recorder.notice_once(missing.why, notice)

    def _tell_of_the_first(self, recorder: UndoRecorder, agent: str) -> None:
        if not self._closed:
            recorder.notice_once("", Noticed(agent=agent, text=say("undo.first")))


def make_keeper(
    place: SandboxPlace,
    *,
    own: Sequence[str],
    path: str,
    settings: UndoSettings = DEFAULT_SETTINGS,
    make_limits: Callable[[], LimitEnforcer] | None = None,
) -> SnapshotKeeper:
    """Return the keeper for the workspace of a place. `own` are folders of Overt; git is looked for in `path`.

    `make_limits` gives what keeps the undo stores within their limits.
    """
    roots, reader = (place.workspace, *place.write), GitReader(place.workspace)
    store = ContentStore(os.path.join(place.data_dir, "snapshots", slug(os.path.abspath(place.project))))
    if not settings.enabled:
        return SnapshotKeeper(ClosedContentStore(store.folder), None, why=say("undo.disabled"), roots=roots, git=reader)
    shadow = _make_shadow(place, own=own, path=path, settings=settings)

    def measure_growth() -> int:
        return store.grown + (shadow.grown if isinstance(shadow, Shadow) else 0)

    maintenance = Maintenance(make_limits, measure_growth, max_size=settings.max_size) if make_limits else None
    if isinstance(shadow, str):
        return SnapshotKeeper(store, None, why=shadow, roots=roots, maintenance=maintenance, git=reader)
    return SnapshotKeeper(store, shadow, roots=roots, maintenance=maintenance, git=reader)


def _make_shadow(place: SandboxPlace, *, own: Sequence[str], path: str, settings: UndoSettings) -> Shadow | str:
    """Return the store of snapshots of a workspace, or why there is none."""
    workspace, home = place.workspace, place.home
    git = find_git(path, writable=writable(place))
    if not git:
        return say("undo.no_git")
    if workspace == "/" or home == workspace or home.startswith(workspace.rstrip("/") + "/"):
        return say("undo.home")
    secret = [os.path.join(home, name) for name in (*HIDDEN, *("/".join(names) for names in AT_HOME))]
    if any(lies_below(workspace, path) is not None for path in secret):
        return say("undo.secret")
    folder = os.path.join(place.data_dir, "shadow", slug(workspace))
    return Shadow(Git(git, folder, workspace), workspace, own=(*own, *secret), largest=settings.max_file)
