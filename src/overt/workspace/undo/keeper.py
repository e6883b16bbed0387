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
from contextlib import asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import OvertError, ToolError
from overt.core.events import Level, Noticed, TreeTaken
from overt.core.ports import Tracking
from overt.core.settings import UndoSettings
from overt.core.states import FileChange, FileState
from overt.lib.catalogue import say
from overt.lib.logs.background import log_failure
from overt.lib.logs.log import LOG
from overt.lib.paths import slug
from overt.lib.protected import AT_HOME
from overt.sandbox.profile import PRIVATE, Place, writable
from overt.sandbox.secret_places import HIDDEN
from overt.workspace._contain import lies_below
from overt.workspace.trusted_programs import find_git
from overt.workspace.undo.attribution import WriteRecord, attribute, name_uncovered, parse_record, touched_outside
from overt.workspace.undo.first_snapshot import FIRST_SNAPSHOT_LIMIT_S, FirstSnapshotError
from overt.workspace.undo.maintenance import LimitEnforcer, Maintenance
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.shadow import Shadow, Taken
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.snapshots import ClosedStore, Store

PATIENCE = 2.0
FIRST_PATIENCE = FIRST_SNAPSHOT_LIMIT_S + 2.0
UNTOLD = 1.0
"""So long is the first one waited for before a word is said about it."""
SOON = 1.0
"""So long after the first call the first one begins, where no command is in sight."""
FRESH = 1.0
"""So old may a pass be that stands for the moment before a command, when nothing of ours changed a file since."""


DEFAULT_SETTINGS = UndoSettings()
NO_SNAPSHOT = "no snapshot"


class NoSnapshot(Struct, frozen=True, kw_only=True):
    """Why there is no snapshot of the workspace. If `unexpected`, the user is warned."""

    why: str
    unexpected: bool = False


class CommandWatch(Struct):
    """One command between two snapshots. What it changed is recorded with `recorder`.

    The runner stores the command's write record in `writes` (None: not tracked).
    """

    call_id: str
    agent: str
    recorder: UndoRecorder
    before: Taken | NoSnapshot
    tracking: Tracking | None
    writes: bytes | None = None

    def start(self) -> TreeTaken:
        """The record of a command that has begun: the state before it is known, the one after it is not."""
        before = self.before.name if isinstance(self.before, Taken) else ""
        return TreeTaken(agent=self.agent, call_id=self.call_id, before=before, after="")


class Keeper:
    """Takes the snapshots of one workspace for all sessions that work in it. Without `shadow`, `why` is the reason.

    `roots` are the folders below which changes by commands are tracked, the workspace first. `disabled`: the user has
    switched undo off, so a missing snapshot needs no notice.
    """

    def __init__(
        self,
        store: Store,
        shadow: Shadow | None,
        *,
        why: str = "",
        roots: Sequence[str] = (),
        maintenance: Maintenance | None = None,
        disabled: bool = False,
    ) -> None:
        self.store = store
        self.shadow = shadow
        self.disabled = disabled
        self._why = why
        self._pass: asyncio.Task[Taken | NoSnapshot] | None = None
        self._begun = 0.0
        self._after: set[asyncio.Task[None]] = set()
        self._soon: asyncio.TimerHandle | None = None
        self._closed = False
        self._roots = tuple(roots)
        self._maintenance = maintenance
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
        if self.shadow is None or self._closed or (first and self.shadow.begun()):
            return False
        return self._pass is None or self._pass.done()

    async def before(self, recorder: UndoRecorder, agent: str = "main") -> Taken | NoSnapshot:
        """Return the state of the workspace just before a command, or why it is not known."""
        await self.quiet()
        if self.shadow is None:
            return self._no_snapshot()
        first = not self.shadow.begun()
        loop = asyncio.get_running_loop()
        telling = loop.call_later(UNTOLD, self._tell_of_the_first, recorder, agent) if first else None
        try:
            async with asyncio.timeout(FIRST_PATIENCE if first else PATIENCE):
                if self._pass and not self._pass.done():
                    await asyncio.wait({self._pass})
                found = self._pass if self._fresh() and self._pass else self._start()
                await asyncio.wait({found})
                return found.result()
        except TimeoutError:
            return NoSnapshot(why=say("undo.not_ready"), unexpected=True)
        finally:
            if telling:
                telling.cancel()

    @asynccontextmanager
    async def around(self, call_id: str, recorder: UndoRecorder, agent: str = "main") -> AsyncIterator[CommandWatch]:
        """Take a snapshot before a command of `agent` that may write, and one after it, however the command ends."""
        before = await self.before(recorder, agent)
        if isinstance(before, NoSnapshot) and recorder.requires_snapshot(agent, call_id):
            raise ToolError(
                f"Not run: it was allowed because undo would bring it back, and undo has no snapshot ({before.why}). "
                "Try again, or change the files with edit or patch.",
                code="denied",
            )
        since = before.began_ns if isinstance(before, Taken) else time.time_ns()
        tracking = Tracking(roots=(*self._roots, *PRIVATE), since=since) if self._roots else None
        watch = CommandWatch(call_id, agent, recorder, before, tracking)
        if isinstance(before, Taken):  # in case this process is killed before the command ends
            recorder.record(watch.start())
        try:
            yield watch
        finally:
            if not self._closed:  # what it changed is found out and recorded in the background
                task = asyncio.get_running_loop().create_task(self._look_after(watch))
                self._after.add(task)
                task.add_done_callback(self._after.discard)
                recorder.wait_for(task)
                task.add_done_callback(log_failure("undo"))

    async def quiet(self) -> None:
        """Until the commands before have been looked at; a change now would be taken for theirs."""
        if self._after:
            await asyncio.wait(set(self._after), timeout=PATIENCE)

    def touched(self) -> None:
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

    def _start(self, *, idle: bool = False) -> "asyncio.Task[Taken | NoSnapshot]":
        loop = asyncio.get_running_loop()
        self._begun = loop.time()
        self._pass = loop.create_task(self._take(idle=idle))
        return self._pass

    async def _take(self, *, idle: bool) -> Taken | NoSnapshot:
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
            names = await asyncio.to_thread(self._touched_paths, watch)
            watch.recorder.record(replace(watch.start(), uncovered=(before.why, *names)))
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
            watch.recorder.record(await asyncio.to_thread(self._compare_snapshots, watch, before, after))

    def _compare_snapshots(self, watch: CommandWatch, before: Taken, after: Taken) -> TreeTaken:
        """What the command changed, by the snapshots around it and its own record."""
        assert self.shadow is not None
        root = self.shadow.root
        record = parse_record(watch.writes, root)
        taken = replace(watch.start(), after=after.name, tracked=not record.gap)
        try:
            changes = () if before.name == after.name else self.shadow.changes(before.name, after.name)
        except OvertError:
            return taken  # undo says so when it is asked for them
        unfit = {**before.unfit, **after.unfit}
        if record.gap:
            LOG.info("undo", f"a command was not tracked: {record.gap}")
            uncovered = () if before.name == after.name else tuple(dict.fromkeys((*before.uncovered, *after.uncovered)))
            return replace(taken, changed=_count_files(changes), uncovered=uncovered)
        shared, others = attribute(changes, record, root=root)
        own = [change for change in changes if change.path not in {*shared, *others}]
        return replace(
            taken,
            changed=_count_files(own) + len(shared),
            shared=shared,
            others=others,
            uncovered=name_uncovered(self._touched_outside(changes, record), unfit, self._ignored_paths),
        )

    def _ignored_paths(self, paths: Sequence[str]) -> set[str]:
        assert self.shadow is not None
        try:
            return self.shadow.ignored_paths(paths)
        except OvertError:
            return set(paths)  # better named without need than not named

    def _touched_paths(self, watch: CommandWatch) -> tuple[str, ...]:
        """Paths that a command touched where there is no snapshot before it."""
        root = self._roots[0] if self._roots else ""
        paths = self._touched_outside((), parse_record(watch.writes, root))
        return name_uncovered(paths, {}, lambda names: set(names), reason=NO_SNAPSHOT)

    def _touched_outside(self, changes: Iterable[FileChange], record: WriteRecord) -> tuple[str, ...]:
        """Paths that no snapshot covers; those in a folder for temporary files as that folder."""
        paths: dict[str, None] = {}
        for path in touched_outside(changes, record):
            temporary = next((folder for folder in PRIVATE if path.startswith(f"{folder}/")), "")
            named = any(path.startswith(f"{root}/") for root in self._roots)
            paths[f"{temporary}/" if temporary and not named else path] = None
        return tuple(paths)

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


def _count_files(changes: Iterable[FileChange]) -> int:
    return sum(1 for each in changes if not (each.before or each.after or FileState()).folder)


def make_keeper(
    place: Place,
    *,
    own: Sequence[str],
    path: str,
    settings: UndoSettings = DEFAULT_SETTINGS,
    make_limits: Callable[[], LimitEnforcer] | None = None,
) -> Keeper:
    """Return the keeper for the workspace of a place. `own` are folders of Overt; git is looked for in `path`.

    `make_limits` gives what keeps the undo stores within their limits.
    """
    roots = (place.workspace, *place.write)
    store = Store(os.path.join(place.data_dir, "snapshots", slug(os.path.abspath(place.project))))
    if not settings.enabled:
        return Keeper(ClosedStore(store.folder), None, why=say("undo.disabled"), roots=roots, disabled=True)
    shadow = _make_shadow(place, own=own, path=path, settings=settings)

    def measure_growth() -> int:
        return store.grown + (shadow.grown if isinstance(shadow, Shadow) else 0)

    maintenance = Maintenance(make_limits, measure_growth, max_size=settings.max_size) if make_limits else None
    if isinstance(shadow, str):
        return Keeper(store, None, why=shadow, roots=roots, maintenance=maintenance)
    return Keeper(store, shadow, roots=roots, maintenance=maintenance)


def _make_shadow(place: Place, *, own: Sequence[str], path: str, settings: UndoSettings) -> Shadow | str:
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
