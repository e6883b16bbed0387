"""The files of a workspace as they stand around a command, in a git store that is not the project's.

A pass asks git which files changed since the last one and which are new, puts those into the index, and names the
outcome. Git keeps neither permissions beyond the x bit nor empty folders: a manifest beside the tree does. What a pass
gives is a tree of two, `files` and `manifest`, so one name stands for the whole state.

Not covered: what `.gitignore` names, repositories inside of this one, large files, and names that are protected.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from overt.core.codec import encode
from overt.core.errors import OvertError
from overt.core.file_states import FileChange, FileState
from overt.lib.encoding import read_name, show_name
from overt.lib.protected_names import protected_name
from overt.lib.translations import say
from overt.workspace.contained_path import lies_below
from overt.workspace.git.process import NO_PROGRAMS
from overt.workspace.undo.first_snapshot import FirstSnapshot, SnapshotSizeError
from overt.workspace.undo.shadow_folders import FolderModes
from overt.workspace.undo.shadow_git import Git, UnusableStoreError
from overt.workspace.undo.shadow_index import check_old_index, find_newly_covered, remove_from_index, write_tree
from overt.workspace.undo.shadow_store import (
    SnapshotRemovedError,
    SnapshotState,
    append_recent,
    is_state_name,
    missing_states,
    read_state,
)

LARGEST = 10 * 1024 * 1024
MOST_FILES = 200_000
MOST_BYTES = 2 * 1024**3
MOST_NAMED = 20
AT_ONCE = {"core.bigFileThreshold": "1"}
"""Many new files go into one pack: as many loose ones would take several times as long."""
CLOCK_STEP_NS = 20_000_000
"""File systems stamp files by a clock that may be this far behind."""
MANY = 200


class SnapshotManifest(Struct, frozen=True, kw_only=True):
    """`modes` of the files that have others than git gives them, and all `folders` with theirs.

    `joined` are files that were there before they were covered.
    """

    modes: dict[str, int] = {}
    folders: dict[str, int] = {}
    joined: tuple[str, ...] = ()


class Snapshot(Struct, frozen=True, kw_only=True):
    """A snapshot: its name, when it began (ns), paths it does not cover, with the reason, and paths it covers first."""

    name: str
    began_ns: int = 0
    unfit: dict[str, str] = {}
    newly_covered: frozenset[str] = frozenset()

    @property
    def uncovered(self) -> tuple[str, ...]:
        names = [f"{path} ({why})" for path, why in self.unfit.items()]
        more = len(names) - MOST_NAMED
        return (*names[:MOST_NAMED], f"{more} more") if more > 0 else tuple(names)


_manifest = Decoder(SnapshotManifest)


class Shadow:
    """Blocking, for use in a thread. `own` are folders that are no part of the workspace although they lie in it."""

    def __init__(self, git: Git, root: str, *, own: Sequence[str] = (), largest: int = LARGEST) -> None:
        self._git = git
        self.root = root
        self._own = tuple(below for path in own if (below := lies_below(path, root)))
        self._largest = largest
        self._folders = FolderModes(root)
        self._last = SnapshotState()
        self._known = SnapshotManifest()
        self._first = FirstSnapshot(git, root)
        self.grown = 0
        """Bytes of the files that passes took in, before compression."""

    def stop(self) -> None:
        self._git.stop()

    def has_begun(self) -> bool:
        """Whether there was a pass before."""
        return os.path.exists(f"{self._git.folder}/state")

    def take(self, *, idle: bool = False) -> Snapshot:
        """The state of the workspace now; `idle` lets everything else go first."""
        try:
            self._git.idle = idle
            with self._git.locked(), self._first.guarded():
                for _ in range(2):  # a file may go while it is being taken
                    try:
                        return self._take()
                    except UnusableStoreError:
                        raise
                    except OvertError:
                        if self._git.stopped:
                            raise
                        self._git.clear()
                self._git.remove("state", "index")  # a damaged index is made anew
                return self._take()
        except OSError as error:
            raise OvertError(f"{error.strerror}: {self._git.folder}") from error

    def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """What differs between two states, by path."""
        for state in (before, after):
            if not is_state_name(state):
                raise OvertError(f"{state!r} names no state of the workspace; the session was changed by hand, perhaps")
        try:
            raw = self._git.run("diff-tree", "-r", "-z", "--no-renames", f"{before}:files", f"{after}:files")
        except OvertError:
            if missing_states(self._git, (before, after)):
                raise SnapshotRemovedError(say("undo.dropped")) from None
            raise
        old, new = self._manifest_of(before), self._manifest_of(after)
        changes: dict[str, FileChange] = {}
        fields = raw.split(b"\0")
        for head, name in zip(fields[::2], fields[1::2], strict=False):
            modes, hashes = head[1:].split(b" ")[:2], head.split(b" ")[2:4]
            path = show_name(os.fsdecode(name))
            changes[path] = FileChange(
                path=path,
                before=_as_state(modes[0], hashes[0], path, old),
                after=_as_state(modes[1], hashes[1], path, new),
            )
        if other := _differing(old.modes, new.modes) - changes.keys():
            changes |= self._only_modes(other, after, old, new)
        for path in _differing(old.folders, new.folders):
            one = changes.get(path)  # a file took the place of a folder, or the other way round
            before_state, after_state = (one.before, one.after) if one else (None, None)
            changes[path] = FileChange(
                path=path, before=before_state or _folder(old, path), after=after_state or _folder(new, path)
            )
        for path in new.joined:
            while path:  # with the folders that it lies in
                if path in changes and changes[path].before is None:
                    del changes[path]
                path = os.path.dirname(path)
        return tuple(changes[path] for path in sorted(changes))

    def ignored_paths(self, paths: Sequence[str]) -> set[str]:
        """Which of these paths the ignore rules of the workspace name."""
        feed = b"".join(b"./" + os.fsencode(read_name(path)) + b"\0" for path in paths)
        words = ("--no-literal-pathspecs", "check-ignore", "-z", "--stdin")  # it takes no literal ones
        names = self._git.run(*words, feed=feed, none_is_error=False).split(b"\0")[:-1]
        return {show_name(os.fsdecode(name.removeprefix(b"./"))) for name in names}

    def list_ignored(self, below: str) -> tuple[str, ...]:
        """What the ignore rules keep out of the snapshots below a path; a folder stands for all that is in it."""
        if below and show_name(below) in self.ignored_paths([show_name(below)]):
            return (show_name(below),)
        words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        names = self._git.run(*words, *(("--", below) if below else ())).split(b"\0")[:-1]
        return tuple(show_name(path) for name in names if not self._is_own((path := os.fsdecode(name)).rstrip("/")))

    def lacks(self, names: Sequence[str]) -> bool:
        return bool(missing_states(self._git, names))

    def contents(self, hashes: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """What files held, by the names of their contents."""
        return self._git.read_blobs(hashes)

    # ── a pass ───────────────────────────────────────────────────────────────────────────────────────────

    def _take(self) -> Snapshot:
        check_old_index(self._git)
        self._load_state()
        began_ns = time.time_ns() - CLOCK_STEP_NS
        begun = int(time.time()) - 1
        changed, others = self._list_changes()
        uncovered: dict[str, str] = {}
        new = self._sort_new_files(others, uncovered)
        keep, drop = self._sort_changed_files([*changed, *self._find_changed_modes()], uncovered)
        tree, modes = self._last.tree, self._known.modes
        newly = find_newly_covered(self._git, self.root, tree, self._last.unfit, new=new, changed=changed)
        joined = {*self._known.joined, *newly} - {show_name(os.fsdecode(name)) for name in drop}
        young = [name for path in self._last.young if self._is_young(name := os.fsencode(read_name(path)), begun)]
        if keep or drop or new or not tree:
            tree, modes = self._update_index([*keep, *new], drop, uncovered)
            young += [name for name in (*keep, *new) if self._is_young(name, begun)]
        if drop or not self._folders.known(self._last.tree):
            self._folders.learn(tree, self._git.run("ls-tree", "-r", "-d", "-z", "--name-only", tree))
        else:
            self._folders.extend(tree, new)
        folders = self._folders.now()
        for path, mode in folders.items():
            if mode & 0o500 != 0o500 and not os.access(os.path.join(self.root, read_name(path)), os.R_OK | os.X_OK):
                uncovered[f"{path}/"] = "not to be read"
        shown = tuple(dict.fromkeys(show_name(os.fsdecode(name)) for name in young))
        manifest = SnapshotManifest(modes=modes, folders=folders, joined=tuple(sorted(joined)))
        self._save_state(tree, manifest, SnapshotState(young=shown, unfit=tuple(sorted(uncovered))))
        uncovered |= dict.fromkeys(sorted(newly), "not covered until now")
        return Snapshot(name=self._last.name, began_ns=began_ns, unfit=uncovered, newly_covered=frozenset(newly))

    def _find_changed_modes(self) -> list[bytes]:
        changed: list[bytes] = []
        for path in self._last.young:
            raw = read_name(path)
            status = self._stat(raw)
            if status and stat.S_ISREG(status.st_mode):
                usual = _usual(status.st_mode)
                if self._known.modes.get(path, usual) != stat.S_IMODE(status.st_mode):
                    changed.append(os.fsencode(raw))
        return changed

    def _is_young(self, name: bytes, begun: int) -> bool:
        status = self._stat(os.fsdecode(name))
        return status is not None and int(status.st_ctime) >= begun

    def _load_state(self) -> None:
        """Another Overt may have taken a pass since."""
        state = read_state(self._git.folder)
        if not state.manifest:
            self._last, self._known = SnapshotState(), SnapshotManifest()
        elif state != self._last:
            self._last, self._known = state, _manifest.decode(self._git.run("cat-file", "blob", state.manifest))

    def _list_changes(self) -> tuple[list[bytes], list[bytes]]:
        """Files of the index that look different by now, and files that are not in it."""
        differing, others = self._git.run_both(
            ("diff-files", "-z", "--name-only", *NO_PROGRAMS), ("ls-files", "-z", "--others", "--exclude-standard")
        )
        changed = differing.split(b"\0")[:-1]
        if not self._last.tree:  # what is known of permissions was lost: look at every file again
            changed = self._git.run("ls-files", "-z").split(b"\0")[:-1]
        return changed, others.split(b"\0")[:-1]

    def _sort_new_files(self, others: Iterable[bytes], uncovered: dict[str, str]) -> list[bytes]:
        """Return the files that the next snapshot holds for the first time; what it cannot hold goes to `uncovered`."""
        sizes = self._first.listed = {}
        for name in others:
            path = os.fsdecode(name)
            if self._is_own(path):
                continue
            if name.endswith(b"/"):
                uncovered[show_name(path)] = "a repository of its own"
                continue
            status = self._stat(path)
            if status is None or protected_name(path, home="elsewhere"):
                continue
            if why := self._why_unfit(path, status):
                uncovered[show_name(path)] = why
                continue
            sizes[name] = status.st_size
        total = sum(sizes.values())
        if len(sizes) > MOST_FILES or total > MOST_BYTES:
            raise SnapshotSizeError(f"too much for a snapshot: {len(sizes)} new files, {total // 1024**2} MB")
        return list(sizes)

    def _sort_changed_files(
        self, changed: Iterable[bytes], uncovered: dict[str, str]
    ) -> tuple[list[bytes], list[bytes]]:
        """Of the files that were covered: those that still are, and those that are not."""
        keep: list[bytes] = []
        drop: list[bytes] = []
        for name in changed:
            path = os.fsdecode(name)
            status = self._stat(path)
            why = self._why_unfit(path, status) if status else ""
            if why:
                uncovered[show_name(path)] = why
            (drop if why or status is None else keep).append(name)
        return keep, drop

    def _stat(self, path: str) -> os.stat_result | None:
        """What is there, if it is something that git keeps."""
        try:
            status = os.lstat(os.path.join(self.root, path))
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode) else None

    def _why_unfit(self, path: str, status: os.stat_result) -> str:
        if stat.S_ISLNK(status.st_mode):
            return "git keeps no such link" if os.path.basename(path).lower() == ".gitmodules" else ""
        if status.st_size > self._largest:
            return f"{status.st_size // 1024**2} MB"
        return "" if os.access(os.path.join(self.root, path), os.R_OK) else "not to be read"

    def _is_own(self, path: str) -> bool:
        return any(path == own or path.startswith(f"{own}/") for own in self._own)

    def _update_index(
        self, keep: Sequence[bytes], drop: Sequence[bytes], uncovered: dict[str, str]
    ) -> tuple[str, dict[str, int]]:
        """Bring the index up to what is on disk."""
        self._git.remove("state")
        if drop:
            remove_from_index(self._git, drop)
        if keep:
            feed = b"\0".join((*keep, b""))
            many = AT_ONCE if len(keep) > MANY else {}
            self._git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", feed=feed, more=many)
        modes = dict(self._known.modes)
        for name in (*drop, *keep):
            modes.pop(show_name(os.fsdecode(name)), None)
        for path in map(os.fsdecode, keep):
            status = self._stat(path)
            self.grown += status.st_size if status else 0
            if status and stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) != _usual(status.st_mode):
                modes[show_name(path)] = stat.S_IMODE(status.st_mode)
        return write_tree(self._git, keep, uncovered), modes

    def _save_state(self, tree: str, manifest: SnapshotManifest, beside: SnapshotState) -> None:
        same = self._last.tree == tree and self._known == manifest
        besides = (beside.young, beside.unfit)
        if same and (self._last.young, self._last.unfit) == besides and os.path.exists(f"{self._git.folder}/state"):
            return
        blob = self._last.manifest
        if not blob or self._known != manifest:
            blob = self._git.put("blob", encode(manifest))
        name = self._last.name
        if not same or not name:
            both = b"40000 files\0" + bytes.fromhex(tree) + b"100644 manifest\0" + bytes.fromhex(blob)
            name = self._git.put("tree", both)
            append_recent(self._git.folder, name)
        self._last, self._known = replace(beside, name=name, tree=tree, manifest=blob), manifest
        self._git.write("state", encode(self._last))

    # ── reading states ───────────────────────────────────────────────────────────────────────────────────

    def _manifest_of(self, name: str) -> SnapshotManifest:
        if name == self._last.name:
            return self._known
        try:
            return _manifest.decode(self._git.run("cat-file", "blob", f"{name}:manifest"))
        except ValueError as error:
            raise OvertError(f"the state {name} of the workspace is damaged") from error

    def _only_modes(
        self, paths: set[str], after: str, old: SnapshotManifest, new: SnapshotManifest
    ) -> dict[str, FileChange]:
        """Files whose content and x bit stayed."""
        changes: dict[str, FileChange] = {}
        for line in self._git.run("ls-tree", "-r", "-z", f"{after}:files").split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            path = show_name(os.fsdecode(name))
            if path in paths:
                mode, _, hash = head.split(b" ")
                states = [_as_state(mode, hash, path, manifest) for manifest in (old, new)]
                changes[path] = FileChange(path=path, before=states[0], after=states[1])
        return changes


def _usual(mode: int) -> int:
    return 0o755 if mode & 0o100 else 0o644


def _as_state(mode: bytes, hash: bytes, path: str, manifest: SnapshotManifest) -> FileState | None:
    number = int(mode, 8)
    if not number:
        return None
    if stat.S_ISLNK(number):
        return FileState(hash=hash.decode(), mode=stat.S_IFLNK)
    return FileState(hash=hash.decode(), mode=manifest.modes.get(path, _usual(number)))


def _folder(manifest: SnapshotManifest, path: str) -> FileState | None:
    mode = manifest.folders.get(path)
    return None if mode is None else FileState(mode=stat.S_IFDIR | mode)


def _differing(old: dict[str, int], new: dict[str, int]) -> set[str]:
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
