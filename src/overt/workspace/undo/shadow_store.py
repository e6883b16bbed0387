"""Maintenance of one store of snapshots around commands: how large it is, what each turn adds, removing the rest.

Everything that removes works with the store locked, so that no snapshot is taken meanwhile. Objects are removed only
after the complete set of needed ones is known, and a pack only after its successor is in place: a process that is
killed at any point leaves a store that opens, with some objects too many.

`recent` lists states with the time they were taken. A process records a state in its session a moment after it was
taken; until then only this list knows that it is needed.
"""

import os
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.json import Decoder

from overt.core.errors import OvertError
from overt.lib.atomic import write_all
from overt.workspace.undo.content_store import HEX, make_private
from overt.workspace.undo.shadow_git import Git, as_lines

GRACE_S = 3600.0
"""States that no session names are kept for this long."""
PACK_LOOSE_FILES = 1000
PACK_LOOSE_BYTES = 16 * 1024**2
PACK_AT_ONCE_BYTES = 96 * 1024**2
"""Before compression; about two seconds of work."""
INCOMPRESSIBLE_SHARE = 0.8
INCOMPRESSIBLE_BYTES = 64 * 1024
PACK_SETTINGS = {"pack.threads": "1", "pack.window": "5", "pack.windowMemory": "64m", "pack.deltaCacheSize": "32m"}
REWRITE_SHARE = 0.25
"""Write a pack anew when this share of it is not needed; less only if the limit is exceeded."""


class SnapshotRemovedError(OvertError):
    """The snapshot was removed to keep undo within its limits."""


class SnapshotState(Struct, frozen=True, kw_only=True):
    """What the last snapshot came to. It is removed while the index changes: then the index may know more.

    `young` had been changed a moment before: git counts seconds, and would not see a change of mode right after.
    `unfit` was there and not covered; folders have a slash behind them.
    """

    name: str = ""
    tree: str = ""
    manifest: str = ""
    young: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()


_state = Decoder(SnapshotState)


def read_state(folder: str) -> SnapshotState:
    """Return the state of a store; an empty one if it has none that can be read."""
    try:
        with open(f"{folder}/state", "rb") as file:
            return _state.decode(file.read())
    except (OSError, ValueError):
        return SnapshotState()


def append_recent(folder: str, name: str) -> None:
    """Remember that a state was taken now."""
    fd = os.open(f"{folder}/recent", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        write_all(fd, f"{name} {time.time():.0f}\n".encode())
    finally:
        os.close(fd)


def read_recent(folder: str) -> dict[str, float]:
    try:
        with open(f"{folder}/recent", "rb") as file:
            lines = file.read().decode("ascii", "replace").splitlines()
    except FileNotFoundError:
        return {}
    times: dict[str, float] = {}
    for line in lines:
        name, _, seconds = line.partition(" ")
        if is_state_name(name) and seconds.isdigit():
            times[name] = float(seconds)
    return times


def is_state_name(name: str) -> bool:
    return len(name) == 40 and HEX.issuperset(name)


def missing_states(git: Git, names: Iterable[str]) -> set[str]:
    """Return those of the names that the store does not hold."""
    wanted = [name for name in names if is_state_name(name)]
    kinds = git.check_objects("%(objecttype)", wanted)
    return {name for name, kind in zip(wanted, kinds, strict=True) if kind != "tree"}


def disk_bytes(folder: str) -> int:
    """Return how much disk the files below a folder take."""
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # removed meanwhile
                total += os.lstat(f"{top}/{name}").st_blocks * 512
    return total


class ShadowStore:
    """One store. Use it with `git.locked()`; `forget` are states that `recent` must not protect any more."""

    def __init__(self, git: Git, *, forget: Collection[str] = ()) -> None:
        self.git = git
        self.folder = git.folder
        self._forget = frozenset(forget)

    def is_in_use(self, known: Collection[str]) -> bool:
        """True if a process may be about to record a state that no session names."""
        return bool(self._unrecorded(known))

    def sizes_by_turn(
        self, turns: Sequence[Sequence[str]], known: Collection[str], always: Collection[str]
    ) -> tuple[int, list[int]]:
        """Return the bytes that are always needed, and for each turn what it needs beyond those before it.

        `known` are the states that sessions name; `always` those of commands that run now.

        One git lists the objects of all states in the order of the turns, each object where it is first met.
        """
        sizes = self._object_sizes()
        roots = [*self._current(known), *sorted(always)]
        owner: dict[str, int] = {}
        for number, trees in enumerate(turns):
            for name in trees:
                if name not in roots and is_state_name(name):
                    owner.setdefault(name, number)
        total, added = 0, [0] * len(turns)
        at = -1
        for name in self._list_objects([*roots, *owner]):
            at = owner.get(name, at)
            if at < 0:
                total += sizes.get(name, 0)
            else:
                added[at] += sizes.get(name, 0)
        return total, added

    def sweep(self, keep: Collection[str], known: Collection[str], *, rewrite_share: float = REWRITE_SHARE) -> None:
        """Remove every object that the states in `keep`, the current and the unrecorded ones do not need."""
        needed = set(self._list_objects([*self._current(known), *sorted(keep)]))
        for name, path, _ in self._loose():
            if name not in needed:
                os.unlink(path)
        for index in self.git.find_files("objects/pack/*.idx"):
            try:
                self._shrink_pack(index.removesuffix(".idx"), needed, rewrite_share)
            except OvertError:  # as on a full disk: the pack stays as it is
                if self.git.stopped:
                    raise
        self._trim_recent(known)

    def pack_loose(self) -> None:
        """Put loose objects into a pack if there are many. Large ones that do not compress stay as they are.

        One call packs a limited amount, ordered by size: versions of one file are mostly neighbours then.
        """
        loose = {name: (path, size) for name, path, size in self._loose()}
        if not _is_worth_packing(loose, loose):
            return
        rows: list[tuple[int, str]] = []
        for line in self.git.check_objects("%(objectname) %(objectsize) %(objectsize:disk)", list(loose)):
            name, _, numbers = line.partition(" ")
            size, _, disk = numbers.partition(" ")
            if not disk.isdigit():
                continue  # damaged; nothing that needs it can be put back
            if int(size) < INCOMPRESSIBLE_BYTES or int(disk) < INCOMPRESSIBLE_SHARE * int(size):
                rows.append((int(size), name))
        if not _is_worth_packing([name for _, name in rows], loose):
            return
        chosen: list[str] = []
        headroom = PACK_AT_ONCE_BYTES
        for raw_bytes, name in sorted(rows, reverse=True):
            if raw_bytes <= headroom:
                headroom -= raw_bytes
                chosen.append(name)
        self._write_pack(chosen)
        for name in chosen:
            os.unlink(loose[name][0])

    def _current(self, known: Collection[str]) -> list[str]:
        """The states that must stay whatever the sessions say."""
        state = read_state(self.folder)
        names = (state.name, state.tree, state.manifest, *self._unrecorded(known))
        return [name for name in dict.fromkeys(names) if is_state_name(name)]

    def _unrecorded(self, known: Collection[str]) -> list[str]:
        limit = time.time() - GRACE_S
        return [
            name
            for name, seconds in read_recent(self.folder).items()
            if seconds > limit and name not in known and name not in self._forget
        ]

    def _trim_recent(self, known: Collection[str]) -> None:
        times = read_recent(self.folder)
        remaining = {name: times[name] for name in self._unrecorded(known)}
        if remaining != times:
            self.git.write("recent", "".join(f"{name} {at:.0f}\n" for name, at in remaining.items()).encode())

    def _list_objects(self, roots: Sequence[str]) -> list[str]:
        words = ("rev-list", "--objects", "--no-object-names", "--ignore-missing", "--missing=allow-any")
        kinds = self.git.check_objects("%(objecttype)", roots)
        there = [name for name, kind in zip(roots, kinds, strict=True) if not kind.endswith(" missing")]
        out = self.git.run(*words, "--indexed-objects", "--stdin", feed=as_lines(there))
        return out.decode().split("\n")[:-1]

    def _object_sizes(self) -> dict[str, int]:
        form = "--batch-check=%(objectname) %(objectsize:disk)"
        out = self.git.run("cat-file", form, "--batch-all-objects", "--unordered").decode()
        sizes = {name: int(size) for name, _, size in (line.partition(" ") for line in out.splitlines())}
        return sizes | {name: size for name, _, size in self._loose()}

    def _loose(self) -> list[tuple[str, str, int]]:
        """Names, paths and bytes on disk of the objects that have a file of their own."""
        objects: list[tuple[str, str, int]] = []
        for path in self.git.find_files("objects/??/*"):
            folder, name = path.split("/")[-2:]
            if is_state_name(folder + name):
                objects.append((folder + name, path, os.lstat(path).st_blocks * 512))
            elif name.startswith(("tmp_", ".overt-")):
                os.unlink(path)  # of a process that was killed
        return objects

    def _shrink_pack(self, pack: str, needed: Collection[str], rewrite_share: float) -> None:
        with open(f"{pack}.idx", "rb") as file:
            lines = self.git.run("show-index", feed=file.read()).decode().splitlines()
        rows = sorted((int(offset), name) for offset, name, *_ in (line.split(" ") for line in lines))
        end = os.stat(f"{pack}.pack").st_size
        wasted = 0
        needed_names: list[str] = []
        for (offset, name), (following, _) in zip(rows, [*rows[1:], (end, "")], strict=True):
            if name in needed:
                needed_names.append(name)
            else:
                wasted += following - offset
        if wasted == 0 or (needed_names and wasted <= rewrite_share * end):
            return
        if needed_names:
            self._write_pack(needed_names)
        self.git.remove(*(f"objects/pack/{os.path.basename(pack)}.{ending}" for ending in ("idx", "rev", "pack")))

    def _write_pack(self, names: Iterable[str]) -> None:
        target = f"{self.folder}/objects/pack/pack"
        make_private(os.path.dirname(target))
        self.git.run("pack-objects", "-q", "--delta-base-offset", target, feed=as_lines(names), more=PACK_SETTINGS)


def _is_worth_packing(names: Collection[str], loose: dict[str, tuple[str, int]]) -> bool:
    return len(names) >= PACK_LOOSE_FILES or sum(loose[name][1] for name in names) >= PACK_LOOSE_BYTES
