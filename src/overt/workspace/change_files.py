"""Several files change together or not at all, each by a rename.

First everything is planned: places reached, old content read, guards asked, differences computed. A preview
ends there. Then every new content is staged beside its target, then renamed. A failure at any point undoes
what was done, newest first; old content waits under a second name until all renames have succeeded.
"""

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from msgspec import Struct
from msgspec.structs import replace

from overt.core.capabilities import Change
from overt.core.errors import ToolError
from overt.core.events import SnapshotTaken
from overt.core.views import FileDiff
from overt.lib.atomic import discard, new_name, stage
from overt.lib.diff import file_diff
from overt.lib.encoding import Form, NotText, decode, encode, show_name
from overt.workspace.contained_path import OpenPath, Workspace, as_tool_error, open_path, require_allowed
from overt.workspace.protected_places import require_unprotected
from overt.workspace.read_file import MAX_TEXT, OPEN, digest, read_raw

MAX_FILES = 300
ACCESS_LIST = "system.posix_acl_access"


class PlannedChange(Struct, kw_only=True):
    """One change, ready to be made. `data` None removes the file; `target` is where a moved file goes.

    `new_folders` are those that had to be made for it, with their modes.
    """

    source: OpenPath
    target: OpenPath | None = None
    raw: bytes | None = None
    status: os.stat_result | None = None
    hash: str = ""
    data: bytes | None = None
    executable: bool | None = None
    diff: FileDiff = FileDiff(path="", diff="", change="unchanged")
    new_folders: list[tuple[str, int]] = []

    @property
    def idle(self) -> bool:
        return self.target is None and self.data == self.raw and not self.changes_mode

    @property
    def changes_mode(self) -> bool:
        return (
            self.executable is not None and self.status is not None and self.mode != stat.S_IMODE(self.status.st_mode)
        )

    @property
    def mode(self) -> int | None:
        """The mode of the new file; None means that the umask decides."""
        mode = stat.S_IMODE(self.status.st_mode) if self.status else None
        if self.executable is None:
            return mode
        if mode is None:
            return 0o755 if self.executable else None
        return mode | (mode & 0o444) >> 2 if self.executable else mode & ~0o111

    def knew(self, seen: Mapping[str, str]) -> bool:
        """Whether the model knew the content that this change was made from."""
        return self.raw is None or seen.get(self.source.path) == self.hash


def plan(
    workspace: Workspace,
    changes: Sequence[Change],
    *,
    seen: Mapping[str, str],
    stack: ExitStack,
    check: Callable[[str], None] = lambda _: None,
) -> list[PlannedChange]:
    """Check everything that can be checked without touching a file. `stack` closes the descriptors, and `check` raises
    if this agent may not write a path."""
    if len(changes) > MAX_FILES:
        raise ToolError(f"{len(changes)} files at once; change at most {MAX_FILES} in one call.", code="invalid")
    planned: list[PlannedChange] = []
    named: set[str] = set()
    for change in changes:
        item = PlannedChange(source=_reach(workspace, change.path, stack))
        if change.move_to:
            item.target = _reach(workspace, change.move_to, stack)
            _require_free(item.target)
        for spot in (item.source, item.target):
            if spot is not None and spot.path in named:
                raise ToolError(f"{spot.path} is named twice; give each file once.", code="invalid")
            if spot is not None:
                named.add(spot.path)
                check(spot.path)
        _load(item)
        _guard(item, change, seen)
        _compute(item, change)
        planned.append(item)
    return planned


def _reach(workspace: Workspace, path: str, stack: ExitStack) -> OpenPath:
    spot = stack.enter_context(open_path(workspace, path, writing=True))
    require_unprotected(workspace, spot)
    if spot.stat is not None:
        require_allowed(workspace, spot, "read")  # the difference shows what was there
    if spot.stat is not None and stat.S_ISDIR(spot.stat.st_mode):
        raise ToolError(f"{spot.path} is a folder; name a file.", code="folder")
    return spot


def _require_free(spot: OpenPath) -> None:
    if spot.stat is not None:
        raise ToolError(f"{spot.path} exists already; choose another name or delete it first.", code="exists")


def _load(item: PlannedChange) -> None:
    if item.source.stat is not None:
        item.raw, item.status = read_raw(item.source, MAX_TEXT, "change (16 MB at most); use bash.")
        item.hash = digest(item.raw)


def _guard(item: PlannedChange, change: Change, seen: Mapping[str, str]) -> None:
    path = item.source.path
    if change.base == "absent":
        return _require_free(item.source)
    if item.raw is None:
        if change.base != "seen" or change.content is None:
            raise ToolError(f"{path} does not exist (any more).", code="missing")
        return None
    if change.base != "seen":
        if change.base != item.hash:
            raise ToolError(f"{path} has changed on disk meanwhile. Read it again.", code="stale")
        return None
    if path not in seen:
        raise ToolError(f"{path} exists and has not been read. Read it first, then write.", code="unread")
    if seen[path] != item.hash:
        raise ToolError(f"{path} has changed on disk since it was read. Read it again.", code="stale")
    return None


def _compute(item: PlannedChange, change: Change) -> None:
    old, form = _text(item.raw)
    moved = item.target is not None
    if change.raw is not None:
        item.data, item.executable = change.raw, change.executable
    elif change.content is not None:
        item.data = _encoded(change.content, form, item.source.path)
    elif moved:
        item.data = item.raw
    path = item.target.path if item.target else item.source.path
    if item.data == item.raw:
        diff = FileDiff(path=path, diff="", change="updated" if item.changes_mode else "unchanged")
    elif item.data is None:
        diff = file_diff(path, old or "", None)
    else:
        diff = _diff(path, item, old)
    if moved:
        note = f"rename from {item.source.path}\nrename to {path}\n"
        diff = replace(diff, diff=note + diff.diff, change="updated")
    item.diff = diff


def _diff(path: str, item: PlannedChange, old: str) -> FileDiff:
    """Return the diff; it is empty if the new content is not text."""
    try:
        new, _ = decode(item.data or b"")
    except NotText:
        return FileDiff(path=path, diff="", change="created" if item.raw is None else "updated")
    return file_diff(path, old if item.raw is not None else None, new)


def _text(raw: bytes | None) -> tuple[str, Form]:
    """The old text for the difference; what is not text counts as empty and is replaced by UTF-8."""
    try:
        return decode(raw or b"")
    except NotText:
        return "", Form()


def _encoded(content: str, form: Form, path: str) -> bytes:
    try:
        return encode(content, form)
    except UnicodeEncodeError as error:
        letter = f"U+{ord(content[error.start]):04X}" if error.start < len(content) else "a character"
        raise ToolError(
            f"{path} is kept in {form.encoding}, which has no {letter}. Use other characters, "
            "or convert the file with bash first (iconv).",
            code="encoding",
        ) from error


def commit(
    planned: Sequence[PlannedChange], *, before_write: Callable[[PlannedChange], None], stack: ExitStack
) -> None:
    """Make every planned change; on a failure nothing has changed."""
    active = [item for item in planned if not item.idle]
    path = active[0].source.path if active else ""
    leftovers: list[tuple[int, str]] = []
    try:
        with ExitStack() as undo:
            staged: list[tuple[PlannedChange, str]] = []
            for item in active:
                path = item.diff.path
                staged.append((item, _stage(item, undo, stack)))
            for item, name in staged:
                path = item.diff.path
                before_write(item)
                _swap(item, name, undo=undo, leftovers=leftovers, alone=len(active) == 1)
            undo.pop_all()
    except OSError as error:
        raise as_tool_error(error, path) from error
    for folder, name in leftovers:
        discard(folder, name)


def snapshot_facts(item: PlannedChange, call_id: str, uncovered: str) -> list[SnapshotTaken]:
    """What a change that was made has done: folders that came to be, and each file before and after."""
    facts = [
        SnapshotTaken(call_id=call_id, path=show_name(path), existed=False, after_mode=mode)
        for path, mode in item.new_folders
    ]
    after = "" if item.data is None else digest(item.data)
    place, mode = item.target or item.source, 0
    if item.data is not None:
        mode = stat.S_IMODE(os.stat(place.name, dir_fd=place.fd, follow_symlinks=False).st_mode)
    is_moved = item.target is not None
    before = SnapshotTaken(
        call_id=call_id,
        path=item.source.path,
        existed=item.status is not None,
        hash=item.hash,
        mode=stat.S_IMODE(item.status.st_mode) if item.status else 0,
        after="" if is_moved else after,
        after_mode=0 if is_moved else mode,
        uncovered=uncovered,
    )
    facts.append(before)
    if item.target is not None:
        facts.append(SnapshotTaken(call_id=call_id, path=item.target.path, existed=False, after=after, after_mode=mode))
    return facts


def _stage(item: PlannedChange, undo: ExitStack, stack: ExitStack) -> str:
    if item.data is None:
        return ""
    place = item.target or item.source
    above = place.real.split("/")[:-1]
    for number, folder in enumerate(place.missing[:-1], 2 - len(place.missing)):
        parent = os.dup(place.fd)
        stack.callback(os.close, parent)
        if _make_folder(place, folder, parent=parent, undo=undo):
            item.new_folders.append(("/".join(above[: len(above) + number]), os.fstat(place.fd).st_mode))
    status = item.status
    name = stage(place.fd, item.data, mode=item.mode, owner=(status.st_uid, status.st_gid) if status else None)
    undo.callback(discard, place.fd, name)
    if status is not None and sys.platform == "linux":
        _keep_attributes(item.source, place.fd, name)
    return name


def _keep_attributes(source: OpenPath, folder: int, name: str) -> None:
    """Carry over what a person attached to the file: its own attributes and its access list, as far as possible."""
    with ExitStack() as stack:
        try:
            old = os.open(source.name, OPEN, dir_fd=source.fd)
            stack.callback(os.close, old)
            names = [each for each in os.listxattr(old) if each.startswith("user.") or each == ACCESS_LIST]
            if names:
                new = os.open(name, OPEN, dir_fd=folder)
                stack.callback(os.close, new)
                for each in names:
                    os.setxattr(new, each, os.getxattr(old, each))
        except OSError:  # the file system has none, or they are not ours to set: the content matters more
            pass


def _make_folder(place: OpenPath, name: str, *, parent: int, undo: ExitStack) -> bool:
    """Whether it was not there before."""
    is_new = True
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        is_new = False
    else:
        undo.callback(_remove_folder, parent, name)
    place.move_into(name)
    return is_new


def _remove_folder(parent: int, name: str) -> None:
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError:  # somebody else has put something there
        pass


def _swap(item: PlannedChange, staged: str, *, undo: ExitStack, leftovers: list[tuple[int, str]], alone: bool) -> None:
    source, place = item.source, item.target or item.source
    _require_same(source, item.status)
    if item.target is not None:
        _require_same(item.target, None)
    overwrites = staged and item.target is None and item.status is not None
    if overwrites and not alone:
        aside = _second_name(item)
        undo.callback(discard, source.fd, aside)  # a rename between two names of one file does nothing
        undo.callback(_rename, source.fd, aside, source.name)
        leftovers.append((source.fd, aside))
    if staged:
        os.rename(staged, place.name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
        if not overwrites:
            undo.callback(discard, place.fd, place.name)
    if item.target is not None or item.data is None:
        aside = new_name()
        _rename(source.fd, source.name, aside)
        undo.callback(_rename, source.fd, aside, source.name)
        leftovers.append((source.fd, aside))


def _second_name(item: PlannedChange) -> str:
    """The old content under another name: a hard link, or a copy where links are not supported."""
    aside, source, status = new_name(), item.source, item.status
    try:
        os.link(source.name, aside, src_dir_fd=source.fd, dst_dir_fd=source.fd, follow_symlinks=False)
    except OSError:
        mode = stat.S_IMODE(status.st_mode) if status else None
        return stage(source.fd, item.raw or b"", mode=mode)
    return aside


def _rename(folder: int, old: str, new: str) -> None:
    os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)


def _require_same(spot: OpenPath, status: os.stat_result | None) -> None:
    try:
        now = os.stat(spot.name, dir_fd=spot.fd, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    if _identity(now) != _identity(status):
        raise ToolError(f"{spot.path} is being changed by something else. Read it again.", code="stale")


def _identity(status: os.stat_result | None) -> tuple[int, ...]:
    return (status.st_ino, status.st_dev, status.st_size, status.st_mtime_ns) if status else ()
