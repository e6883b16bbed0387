"""Tell what a command changed from what others changed while it ran.

The two snapshots around a command say what differs. The record of the write tracker says which paths the
command touched, and whether somebody else touched them too. Together:

    touched by the command alone        its own change: undo puts it back
    touched by the command and others   shared: undo leaves it as it is and names it
    not touched by the command          somebody else's change: undo leaves it alone

Without a complete record nothing is certain, and undo asks.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import OvertError
from overt.core.events import TreeTaken
from overt.core.file_states import FileChange, FileState
from overt.lib.encoding import read_name, show_name
from overt.lib.logs.log import LOG
from overt.sandbox.profile import PRIVATE
from overt.workspace.contained_path import folders_above
from overt.workspace.undo.shadow_repository import Shadow, Snapshot

ANY_NAME = ".overt-any-name"


class TouchedPath(Struct, frozen=True):
    """`start` is the state at the first touch: `-` absent, `=` as in the snapshot before, `?` unknown, or the name of
    its content in git; `signature` tells whether the file is still as the command left it."""

    is_shared: bool
    start: str
    signature: str


class WriteRecord(Struct, frozen=True):
    """What a command touched below a folder, by path from there; `gap` says why the record is not complete."""

    gap: str
    moves: tuple[tuple[str, str], ...]
    """Folders that were renamed, and files renamed after somebody may have changed them: from, to."""
    paths: dict[str, TouchedPath]


def parse_record(data: bytes | None, root: str) -> WriteRecord:
    """Read a record. Paths outside `root` keep their full name."""
    if data is None:
        return WriteRecord("the command was not tracked", (), {})
    words = data.split(b"\0")
    if len(words) < 2:
        return WriteRecord(words[0].decode("utf-8", "replace") or "the record is empty", (), {})
    count = 2 + 2 * int(words[1])
    names = [_shown(word, root) for word in words[2:count]]
    rows = words[count:]
    touched = {
        _shown(path, root): TouchedPath(status == b"shared", start.decode(), signature.decode())
        for path, status, start, signature in zip(rows[::4], rows[1::4], rows[2::4], rows[3::4], strict=True)
    }
    return WriteRecord(words[0].decode("utf-8", "replace"), tuple(zip(names[::2], names[1::2], strict=True)), touched)


def attribute(
    changes: Iterable[FileChange], record: WriteRecord, *, root: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths of shared changes and of others' changes; all the rest are the command's own.

    Call it after the snapshot that found the changes was taken.
    """
    by_path = {change.path: change for change in changes}
    shared: dict[str, None] = {}
    others: list[str] = []
    for path, change in by_path.items():
        touched = record.paths.get(path)
        if touched is None:
            if not _moved_along(change, record, by_path):
                others.append(path)
        else:
            origin = by_path.get(_follow_back(path, record.moves), change)
            before = change.before or (origin.before if origin is not change else None)
            if touched.is_shared or _changed_before(before, touched) or _changed_after(path, touched, root):
                shared[path] = None
    for source, target in record.moves:  # a file that somebody had changed keeps that change under its new name
        touched, moved = record.paths.get(source), by_path.get(source)
        if touched and (source in shared or _changed_before(moved.before if moved else None, touched)):
            shared[target] = None
    inodes = {touched.signature.partition(":")[0] for touched in record.paths.values() if ":" in touched.signature}
    for path in [path for path in others if _inode(path, root) in inodes]:
        others.remove(path)  # another name of a file that the command wrote to: nobody can tell who changed it
        shared[path] = None
    return tuple(path for path in shared if path in by_path), tuple(others)


def compare_snapshots(
    start: TreeTaken, before: Snapshot, after: Snapshot, shadow: Shadow, record: WriteRecord, roots: Sequence[str]
) -> TreeTaken:
    """Complete the record of a command with what it changed, by the snapshots around it and its own record."""
    taken = replace(start, after=after.name, tracked=not record.gap)
    try:
        changes = () if before.name == after.name else shadow.changes(before.name, after.name)
    except OvertError:
        return taken  # undo says so when it is asked for them
    if record.gap:
        LOG.info("undo", f"a command was not tracked: {record.gap}")
        uncovered = () if before.name == after.name else tuple(dict.fromkeys((*before.uncovered, *after.uncovered)))
        return replace(taken, changed=_count_files(changes), uncovered=uncovered)
    shared, others = attribute(changes, record, root=shadow.root)
    own = [change for change in changes if change.path not in {*shared, *others}]
    return replace(
        taken,
        changed=_count_files(own) + len(shared),
        shared=shared,
        others=others,
        uncovered=name_uncovered(record, roots, changes, {**before.unfit, **after.unfit}, shadow),
    )


def _count_files(changes: Iterable[FileChange]) -> int:
    return sum(1 for each in changes if not (each.before or each.after or FileState()).folder)


def name_uncovered(
    record: WriteRecord,
    roots: Sequence[str],
    changes: Iterable[FileChange] = (),
    unfit: Mapping[str, str] = MappingProxyType({}),
    shadow: Shadow | None = None,
) -> tuple[str, ...]:
    """Name the paths that the command may have changed and that no snapshot holds, each with the reason.

    An ignored folder and a folder for temporary files are named as one. Without `shadow`, there is no snapshot.
    """
    paths = _touched_outside(record, roots, {change.path for change in changes})
    inside = [path for path in paths if not path.startswith("/")]
    above = {folder for path in inside for folder in folders_above(path)}
    # A rule such as `build/` names only folders, and this one may be gone: so a name inside is asked about.
    ignored = _ignored_paths([*inside, *sorted(f"{folder}/{ANY_NAME}" for folder in above)], shadow)
    reason = "ignored" if shadow else "no snapshot"
    names: dict[str, str] = {}
    files: Counter[str] = Counter()
    for path in paths:
        folder = next(
            (folder for folder in folders_above(path) if f"{folder}/" in unfit or f"{folder}/{ANY_NAME}" in ignored),
            "",
        )
        if path.startswith("/"):
            names[path] = "outside the workspace"
        elif folder:
            files[folder] += 1
            count = "1 file" if files[folder] == 1 else f"{files[folder]} files"
            names[f"{folder}/"] = unfit.get(f"{folder}/", f"{reason}, {count}")
        elif path in ignored:
            names[path] = reason
        elif path in unfit:
            names[path] = unfit[path]
    return tuple(f"{name} ({why})" for name, why in names.items())


def _touched_outside(record: WriteRecord, roots: Sequence[str], known: Collection[str]) -> list[str]:
    """Paths that the command may have changed although the snapshots do not differ there: not covered, or the same."""
    paths: dict[str, None] = {}
    for path, touched in record.paths.items():
        if path in known or (touched.start == "-" and touched.signature == "-"):
            continue
        temporary = next((folder for folder in PRIVATE if path.startswith(f"{folder}/")), "")
        named = any(path.startswith(f"{root}/") for root in roots)
        paths[f"{temporary}/" if temporary and not named else path] = None
    return list(paths)


def _ignored_paths(paths: Sequence[str], shadow: Shadow | None) -> set[str]:
    try:
        return shadow.ignored_paths(paths) if shadow and paths else set(paths)
    except OvertError:
        return set(paths)  # better named without need than not named


def _inode(path: str, root: str) -> str:
    try:
        return str(os.lstat(os.path.join(root, read_name(path))).st_ino)
    except OSError:
        return ""


def _changed_before(before: FileState | None, touched: TouchedPath) -> bool:
    """True if somebody else changed the file after the snapshot and before the command touched it."""
    if touched.start == "=":
        return False
    if touched.start == "-":
        return before is not None and not before.folder
    return touched.start == "?" or before is None or before.hash != touched.start


def _changed_after(path: str, touched: TouchedPath, root: str) -> bool:
    """True if the file is not as the command left it."""
    try:
        status = os.lstat(os.path.join(root, read_name(path)))
    except OSError:
        return touched.signature != "-"
    if os.path.isdir(os.path.join(root, read_name(path))):
        return False  # a folder changes with what is put into it
    return touched.signature != f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def _moved_along(change: FileChange, record: WriteRecord, by_path: dict[str, FileChange]) -> bool:
    """True if the path went along with a folder that the command renamed, and only the command changed its content."""
    if change.after is None:
        target_change = by_path.get(_follow(change.path, record.moves))
        return target_change is not None and target_change is not change
    if change.before is not None:
        return False
    source = _follow_back(change.path, record.moves)
    source_change = by_path.get(source)
    if source_change is None or source_change is change:
        return False
    touched = record.paths.get(source)
    return source_change.before == change.after or (touched is not None and not touched.is_shared)


def _follow(path: str, moves: Iterable[tuple[str, str]]) -> str:
    for source, target in moves:
        if path.startswith(f"{source}/"):
            path = target + path[len(source) :]
    return path


def _follow_back(path: str, moves: Sequence[tuple[str, str]]) -> str:
    return _follow(path, [(target, source) for source, target in reversed(moves)])


def _shown(path: bytes, root: str) -> str:
    return show_name(os.fsdecode(path)).removeprefix(f"{show_name(root)}/")
