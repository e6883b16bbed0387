"""Keep the snapshots of a project within `undo.max_size` and `undo.max_age`, and remove what no session needs.

A project has one store of contents (file tools) and one git store for each workspace (commands). Which turn needs
what is read from the session files. Turns are ordered by time; the newest that fit stay, all older ones are dropped.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from overt.core.codec import encode
from overt.core.errors import OvertError
from overt.core.settings import UndoSettings
from overt.lib import atomic
from overt.lib.paths import slug
from overt.sessions._lock import lock_holder
from overt.sessions.names import folder_of
from overt.sessions.snapshot_uses import TurnUse, read_uses, session_files
from overt.workspace.undo.content_store import list_contents, make_private, remove_contents
from overt.workspace.undo.first_snapshot import mark_indexed
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.shadow_store import GRACE_S, REWRITE_SHARE, ShadowStore, disk_bytes, missing_states

FILL_SHARE = 0.9
"""Turns are dropped until this share of the limit is left, so that not every run has to drop some."""
CHECK_EVERY_S = 86400.0
PACK_AFTER_BYTES = 64 * 1024**2
"""Between turns, pack what was added once it is this much before compression."""
DAY_S = 86400.0
PUT_AGAIN_S = 60.0
"""Contents that a running process may just have put again, and not recorded yet."""


class UndoPlace(Struct, frozen=True, kw_only=True):
    """Where the snapshots of a project lie. `git` looks for the program; it returns "" if there is none to trust."""

    data_dir: str
    project: str
    workspace: str
    git: Callable[[], str]
    settings: UndoSettings = UndoSettings()

    @property
    def contents(self) -> str:
        return os.path.join(self.data_dir, "snapshots", slug(os.path.abspath(self.project)))

    def store(self, workspace: str) -> str:
        return os.path.join(self.data_dir, "shadow", slug(workspace))


class UndoUsage(Struct, frozen=True, kw_only=True):
    """How much a project stores for undo; `oldest` is 0 if no turn is covered."""

    bytes: int
    turns: int
    oldest: float


class PruneResult(Struct, frozen=True, kw_only=True):
    """What pruning removed: bytes on disk, and turns that can no longer be put back."""

    bytes: int = 0
    turns: int = 0


class _Estimate(Struct, frozen=True, kw_only=True):
    """`measured` is the size at the time `checked`; `bytes` adds what came since, before compression."""

    bytes: int = 0
    measured: int = 0
    checked: float = 0.0


_estimate = Decoder(_Estimate)


class UndoLimits:
    """Enforces the limits of undo for a project. Every method blocks, except `stop`.

    Another thread may call `stop`: it ends what runs, and the stores stay intact.
    """

    def __init__(self, place: UndoPlace) -> None:
        self.place = place
        self._running: set[Git] = set()
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        for git in tuple(self._running):
            git.stop()

    def add_to_estimate(self, grown: int, *, ending: bool) -> bool:
        """Note that a run has added bytes. Return True if `enforce` is due. Packing does not hold up a process that
        is `ending`."""
        known = self._read_estimate()
        now = time.time()
        if known is None:
            measured = self._disk_bytes((self.place.workspace,)) - grown
            known = _Estimate(bytes=measured, measured=measured, checked=now)
        known = replace(known, bytes=known.bytes + grown)
        self._write_estimate(known)
        if known.bytes > self.place.settings.max_size or now - known.checked > CHECK_EVERY_S:
            return True
        return not ending and known.bytes - known.measured > PACK_AFTER_BYTES

    def usage(self) -> UndoUsage:
        workspaces, uses = self._read()
        covered = self._covered(uses, workspaces)
        return UndoUsage(
            bytes=self._disk_bytes(workspaces),
            turns=len(covered),
            oldest=min((use.time for use in covered), default=0.0),
        )

    def enforce(self, *, forget: Collection[str] = (), thorough: bool = False) -> PruneResult:
        """Drop turns that are too old or do not fit, then everything that no turn needs.

        `forget` are snapshots of a session that was deleted: no process is about to record them. If `thorough`,
        packs are written anew even to gain little.
        """
        workspaces, uses = self._read()
        before = self._disk_bytes(workspaces)
        covered = self._covered(uses, workspaces) if thorough else []
        if before > self.place.settings.max_size:
            self._pack(workspaces)  # may save turns that would have to be dropped
        keep = self._within_limits(uses, workspaces, forget)
        dropped = {(use.session, use.turn) for use in uses} - {(use.session, use.turn) for use in keep}
        tight = thorough or before > self.place.settings.max_size
        self._sweep_contents(keep, forget)
        for workspace in workspaces:
            self._sweep_store(workspace, dropped, forget, rewrite_share=0.0 if tight else REWRITE_SHARE)
        self._measure(workspaces)
        self._pack(workspaces)  # last, because it takes longest and may be stopped
        after = self._measure(workspaces)
        lost = sum(1 for use in covered if (use.session, use.turn) in dropped)
        return PruneResult(bytes=max(0, before - after), turns=lost)

    def drop_all(self) -> PruneResult:
        """Remove every snapshot of the project."""
        workspaces, uses = self._read()
        before = self._disk_bytes(workspaces)
        covered = self._covered(uses, workspaces)
        for workspace in workspaces:
            with self._locked(workspace) as store:
                store.git.wipe()
        contents = self.place.contents
        remove_contents(contents, list_contents(contents), changed_before=time.time() + DAY_S)
        after = self._measure(workspaces)
        return PruneResult(bytes=max(0, before - after), turns=len(covered))

    # ── what is there ────────────────────────────────────────────────────────────────────────────────────

    def _read(self) -> tuple[list[str], list[TurnUse]]:
        """Return the workspaces that have a store, and the turns that name snapshots of the project."""
        place = self.place
        named = {use.workspace for use in read_uses(session_files(place.data_dir, place.project, ()))}
        candidates = dict.fromkeys((place.workspace, place.project, *sorted(filter(None, named))))
        workspaces = [each for each in candidates if os.path.isdir(place.store(each))]
        return workspaces, self._uses(workspaces)

    def _uses(self, workspaces: Sequence[str]) -> list[TurnUse]:
        uses = read_uses(session_files(self.place.data_dir, self.place.project, workspaces))
        return [use for use in uses if self._is_own(use) or use.workspace in workspaces]

    def _is_own(self, use: TurnUse) -> bool:
        """True for a session of this project, whose file tools use the project's store of contents."""
        return os.path.dirname(use.session) == folder_of(self.place.data_dir, self.place.project)

    def _covered(self, uses: Sequence[TurnUse], workspaces: Sequence[str]) -> list[TurnUse]:
        """Return the turns of which every snapshot is there."""
        contents = list_contents(self.place.contents)
        missing = {name for use in uses for name in use.trees}
        for workspace in workspaces:
            with self._locked(workspace) as store:
                missing = missing_states(store.git, missing) if self._git and store.git.has_objects() else missing
        return [
            use
            for use in uses
            if not missing.intersection(use.trees)
            and (not self._is_own(use) or all(name in contents for name in use.before_contents))
        ]

    def _disk_bytes(self, workspaces: Iterable[str]) -> int:
        return disk_bytes(self.place.contents) + sum(disk_bytes(self.place.store(each)) for each in workspaces)

    # ── limits ───────────────────────────────────────────────────────────────────────────────────────────

    def _within_limits(
        self, uses: Sequence[TurnUse], workspaces: Sequence[str], forget: Collection[str]
    ) -> list[TurnUse]:
        """Return the turns that stay: young enough, and the newest that fit."""
        oldest = time.time() - self.place.settings.max_age * DAY_S
        young = [use for use in uses if use.time >= oldest]
        limit = self.place.settings.max_size
        if self._disk_bytes(workspaces) <= limit:
            return young
        always, added = self._sizes(uses, young, workspaces, forget)
        headroom = limit * FILL_SHARE - always
        for number, size in enumerate(added):
            headroom -= size
            if headroom < 0:
                return young[:number]
        return young

    def _sizes(
        self, uses: Sequence[TurnUse], young: Sequence[TurnUse], workspaces: Sequence[str], forget: Collection[str]
    ) -> tuple[int, list[int]]:
        """Return the bytes that are needed without any turn, and what each turn adds to the newer ones."""
        contents = list_contents(self.place.contents)
        added = [sum(contents.pop(name, 0) for name in use.contents) for use in young]
        always = 0
        for workspace in workspaces:
            turns = [use.trees if use.workspace in ("", workspace) else () for use in young]
            with self._locked(workspace, forget) as store:
                if store.git.has_objects():
                    base, sizes = store.sizes_by_turn(turns, _names(uses), _running(uses))
                    always += base
                    added = [one + other for one, other in zip(added, sizes, strict=True)]
        return always, added

    # ── removing ─────────────────────────────────────────────────────────────────────────────────────────

    def _sweep_contents(self, keep: Sequence[TurnUse], forget: Collection[str]) -> None:
        contents = self.place.contents
        needed = {name for use in keep if self._is_own(use) for name in use.contents}
        known = {name for use in self._uses(()) for name in use.contents} | set(forget)
        unneeded = [name for name in list_contents(contents) if name not in needed]
        now = time.time()
        again = now - PUT_AGAIN_S if self._is_live() else now + DAY_S
        remove_contents(contents, [name for name in unneeded if name not in known], changed_before=now - GRACE_S)
        remove_contents(contents, [name for name in unneeded if name in known], changed_before=again)

    def _is_live(self) -> bool:
        """True if a process writes a session of this project now."""
        return any(lock_holder(path) is not None for path in session_files(self.place.data_dir, self.place.project, ()))

    def _pack(self, workspaces: Iterable[str]) -> None:
        for workspace in workspaces:
            with self._locked(workspace) as store:
                try:
                    if store.git.has_objects():
                        store.pack_loose()
                except OvertError:  # as on a full disk: the objects stay as they are
                    if self._stopped:
                        raise

    def _sweep_store(
        self, workspace: str, dropped: Collection[tuple[str, int]], forget: Collection[str], *, rewrite_share: float
    ) -> None:
        """Sweep one store. Sessions are read again with the store locked: a turn may have been recorded meanwhile."""
        with self._locked(workspace, forget) as store:
            uses = [use for use in self._uses((workspace,)) if use.workspace in ("", workspace)]
            keep = [use for use in uses if (use.session, use.turn) not in dropped]
            known = _names(uses)
            if not store.git.has_objects():
                return
            if not known and not store.is_in_use(known):
                store.git.wipe()
                return
            store.sweep({*_names(keep), *_running(uses)}, known, rewrite_share=rewrite_share)
            if not keep and not _running(uses) and disk_bytes(store.folder) > self.place.settings.max_size:
                mark_indexed(store.git, workspace)
                store.git.wipe()

    @cached_property
    def _git(self) -> str:
        return self.place.git()

    @contextmanager
    def _locked(self, workspace: str, forget: Collection[str] = ()) -> Iterator[ShadowStore]:
        """Lock a store. Its git runs in the store itself: the workspace may be gone, and nothing reads it."""
        folder = self.place.store(workspace)
        git = Git(self._git, folder, folder)
        git.idle = True
        git.stopped = self._stopped
        self._running.add(git)
        try:
            with git.locked():
                yield ShadowStore(git, forget=forget)
        except OSError as error:
            raise OvertError(f"{folder}: {error.strerror}") from error
        finally:
            self._running.discard(git)

    # ── the estimate ─────────────────────────────────────────────────────────────────────────────────────

    def _measure(self, workspaces: Iterable[str]) -> int:
        size = self._disk_bytes(workspaces)
        self._write_estimate(_Estimate(bytes=size, measured=size, checked=time.time()))
        return size

    def _read_estimate(self) -> _Estimate | None:
        try:
            with open(os.path.join(self.place.contents, "usage.json"), "rb") as file:
                return _estimate.decode(file.read())
        except (OSError, ValueError):
            return None

    def _write_estimate(self, estimate: _Estimate) -> None:
        try:
            make_private(self.place.contents)
            atomic.replace(os.path.join(self.place.contents, "usage.json"), encode(estimate), sync=False)
        except OSError:
            pass  # a full disk; the next run measures again


def _names(uses: Iterable[TurnUse]) -> set[str]:
    return {name for use in uses for name in use.trees}


def _running(uses: Iterable[TurnUse]) -> set[str]:
    return {name for use in uses for name in use.running}
