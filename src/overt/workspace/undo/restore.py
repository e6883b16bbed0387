"""Put files back: every place is looked at first, then each is changed by one step that is whole or not at all.

Folders are entered the way file tools do, never through a link; the last name is taken as it stands, so a link is put
back as a link. When a change fails, those before it are taken back.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from overt.core.errors import OvertError, ToolError
from overt.core.file_states import FileChange, FileState
from overt.lib.atomic import discard, new_name, replace_in
from overt.lib.encoding import read_name
from overt.lib.protected_names import protected_name
from overt.workspace.contained_path import (
    FOLDER,
    OpenPath,
    Workspace,
    as_tool_error,
    folders_above,
    open_path,
    require_allowed,
)
from overt.workspace.protected_places import require_unprotected
from overt.workspace.read_file import OPEN

LARGEST = 64 * 1024 * 1024

Content = Callable[[FileState], bytes]


class RestoreError(OvertError):
    """A change failed. Those before it were taken back, except the ones in `done`."""

    def __init__(self, path: str, why: str, *, done: tuple[FileChange, ...]) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why
        self.done = done


def state_of(workspace: Workspace, path: str) -> tuple[FileState | None, bytes]:
    """What stands at a place now, and its content; ToolError where it cannot be looked at."""
    with _parent(workspace, path) as (spot, name):
        if spot is None:
            return None, b""
        try:
            return _look(spot.fd, name)
        except OSError as error:
            raise as_tool_error(error, path) from error


def is_state(now: FileState | None, raw: bytes, wanted: FileState | None) -> bool:
    """Whether what stands there is this state, whichever store names its content."""
    if now is None or wanted is None:
        return now is wanted
    if now.mode != wanted.mode:
        return False
    return now.folder or now.hash == wanted.hash or name_in_git(raw) == wanted.hash


def name_in_git(raw: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def require_restorable(workspace: Workspace, path: str, *, cleared: bool = False) -> None:
    """ToolError where file tools would not write either. `cleared`: what stands in the way makes room before."""
    meant = read_name(path)
    if reason := protected_name(meant, home="elsewhere"):
        raise ToolError(f"protected: {reason}", code="protected")
    if cleared:
        place = OpenPath(root=workspace.root, fd=-1, parts=tuple(meant.split("/")), real=meant)
        require_unprotected(workspace, place)
        require_allowed(workspace, place, "write")
        return
    with _parent(workspace, path) as (spot, name):
        if spot is not None:
            require_unprotected(workspace, spot)
            status = _stat(spot.fd, name)
            if status and stat.S_ISLNK(status.st_mode):  # the link itself is what is put back, wherever it leads
                rule = workspace.forbid("write", meant) if workspace.forbid else ""
                if rule:
                    raise ToolError(f"the rule {rule} denies it", code="denied")
                return
    with open_path(workspace, meant, writing=True) as target:
        require_unprotected(workspace, target)


def _stat(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def restore(workspace: Workspace, changes: Sequence[FileChange], content: Content) -> None:
    """Make all of these changes, or none; RestoreError if some could neither be made nor taken back."""
    done: list[FileChange] = []
    change = None
    try:
        for change in _ordered(changes):
            _apply(workspace, change, content)
            done.append(change)
        _set_folder_modes(workspace, changes)
    except (OSError, OvertError) as error:
        why = error.message if isinstance(error, OvertError) else error.strerror or "input/output error"
        left = _take_back(workspace, changes, done, content)
        raise RestoreError(change.path if change else "", why, done=left) from error
    except KeyboardInterrupt:
        _take_back(workspace, changes, done, content)
        raise


def _take_back(
    workspace: Workspace, changes: Sequence[FileChange], done: Sequence[FileChange], content: Content
) -> tuple[FileChange, ...]:
    """Return those that could not be taken back."""
    left: list[FileChange] = []
    for change in _ordered([_reverse(each) for each in done]):
        try:
            _apply(workspace, change, content)
        except (OSError, OvertError):
            left.append(_reverse(change))
    for each in changes:
        with suppress(OSError, OvertError):  # it stays one that its owner may write
            _set_folder_modes(workspace, [_reverse(each)])
    return tuple(left)


def _reverse(change: FileChange) -> FileChange:
    return FileChange(path=change.path, before=change.after, after=change.before)


def _ordered(changes: Sequence[FileChange]) -> list[FileChange]:
    """First what goes, files before folders and deep before high; then what comes, folders first and high before deep.

    Where a file takes the place of a folder, or the other way round, one change becomes two.
    """
    goes: list[FileChange] = []
    comes: list[FileChange] = []
    for each in sorted(changes, key=lambda change: change.path.count("/")):
        before, after = each.before, each.after
        if before and (after is None or after.folder != before.folder):
            goes.insert(0, FileChange(path=each.path, before=before, after=None))
            before = None
        if after and not (after.folder and before):
            comes.append(FileChange(path=each.path, before=before, after=after))
    goes.sort(key=lambda change: bool(change.before and change.before.folder))
    comes.sort(key=lambda change: not (change.after and change.after.folder))
    return [*goes, *comes]


def _apply(workspace: Workspace, change: FileChange, content: Content) -> None:
    if change.after is not None:
        _make_parents(workspace, change.path)
    with _parent(workspace, change.path) as (spot, name):
        if spot is None:
            if change.after is not None:
                raise ToolError("its folder is gone", code="missing")
        elif change.after is None and change.before and change.before.folder:
            with suppress(OSError):  # a folder in which something is stays
                os.rmdir(name, dir_fd=spot.fd)
        elif change.after is None:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=spot.fd)
        elif change.after.folder:
            os.mkdir(name, change.after.permissions | 0o700, dir_fd=spot.fd)
        else:
            _put(spot.fd, name, change, content)


def _make_parents(workspace: Workspace, path: str) -> None:
    """Folders above a place that somebody has removed meanwhile."""
    for above in folders_above(path):
        with _parent(workspace, above) as (spot, name):
            if spot is not None:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=spot.fd)


def _put(folder: int, name: str, change: FileChange, content: Content) -> None:
    state = change.after
    assert state is not None
    same_content = change.before and not change.before.link and not state.link and change.before.hash == state.hash
    if same_content and _chmod(folder, name, state):
        return
    if not state.link:
        old = _stat(folder, name)
        owner = (old.st_uid, old.st_gid) if old else None
        replace_in(folder, name, content(state), mode=state.permissions, owner=owner, sync=False)
        return
    staged = new_name()
    os.symlink(os.fsdecode(content(state)), staged, dir_fd=folder)
    try:
        os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        discard(folder, staged)
        raise


def _chmod(folder: int, name: str, state: FileState) -> bool:
    """False where the file cannot even be opened; then it is written anew."""
    try:
        fd = os.open(name, OPEN, dir_fd=folder)
    except OSError:
        return False
    try:
        os.fchmod(fd, state.permissions)
    finally:
        os.close(fd)
    return True


def _set_folder_modes(workspace: Workspace, changes: Sequence[FileChange]) -> None:
    """Last of all, deep ones first: a folder that nobody may write would have kept the others out."""
    for change in sorted(changes, key=lambda each: each.path.count("/"), reverse=True):
        if change.after and change.after.folder:
            _set_folder_mode(workspace, change.path, change.after.permissions)


def _set_folder_mode(workspace: Workspace, path: str, mode: int) -> None:
    """Of a folder that is there, be it one that nobody may open."""
    with _parent(workspace, path) as (spot, name):
        if spot is None:
            return
        fd = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=spot.fd)
        try:
            if sys.platform == "linux":
                os.chmod(f"/proc/self/fd/{fd}", mode)
            else:
                os.fchmod(fd, mode)
        finally:
            os.close(fd)


@contextmanager
def unlock_folders(workspace: Workspace, paths: Iterable[str]) -> "Iterator[dict[str, int]]":
    """Folders above these places that their owner cannot enter or change are opened meanwhile; gives their modes.

    Whoever gives one another mode takes it out of what was given.
    """
    opened: dict[str, int] = {}
    try:
        for path in sorted({above for each in paths for above in folders_above(each)}):
            if not protected_name(read_name(path), home="elsewhere"):
                with suppress(OSError, ToolError):  # whoever wants something in it is told
                    _unlock(workspace, path, opened)
        yield opened
    finally:
        for path in reversed(opened):
            with suppress(OSError, ToolError):  # it is gone
                _set_folder_mode(workspace, path, opened[path])


def _unlock(workspace: Workspace, path: str, opened: dict[str, int]) -> None:
    with _parent(workspace, path) as (spot, name):
        status = _stat(spot.fd, name) if spot else None
    if status and stat.S_ISDIR(status.st_mode) and status.st_mode & 0o700 != 0o700:
        _set_folder_mode(workspace, path, stat.S_IMODE(status.st_mode) | 0o700)
        opened[path] = stat.S_IMODE(status.st_mode)


def _look(folder: int, name: str) -> tuple[FileState | None, bytes]:
    status = _stat(folder, name)
    if status is None:
        return None, b""
    if stat.S_ISDIR(status.st_mode):
        return FileState(mode=stat.S_IFDIR | stat.S_IMODE(status.st_mode)), b""
    if stat.S_ISLNK(status.st_mode):
        raw = os.fsencode(os.readlink(name, dir_fd=folder))
        return FileState(hash=hashlib.sha256(raw).hexdigest(), mode=stat.S_IFLNK), raw
    if not stat.S_ISREG(status.st_mode):
        raise ToolError("something else than a file stands there", code="special")
    if status.st_size > LARGEST:
        raise ToolError(f"a file of {status.st_size // 1024**2} MB stands there, too large to be kept", code="large")
    fd = os.open(name, OPEN, dir_fd=folder)
    with open(fd, "rb") as file:
        raw = file.read()
    return FileState(hash=hashlib.sha256(raw).hexdigest(), mode=stat.S_IMODE(status.st_mode)), raw


@contextmanager
def _parent(workspace: Workspace, path: str) -> "Iterator[tuple[OpenPath | None, str]]":
    """The folder of a place, held, and the name in it; None when the folder is not there."""
    above, name = os.path.split(read_name(path).rstrip("/"))
    if name in ("", ".", ".."):
        raise ToolError(f"{path} is not a place in the workspace", code="invalid")
    try:
        spot = open_path(workspace, above or ".", writing=True)
    except ToolError as error:
        if error.code != "invalid":
            raise
        yield None, name  # a file stands where a folder was on the way
        return
    with spot:
        if spot.stat is None or not stat.S_ISDIR(spot.stat.st_mode):
            yield None, name
            return
        if os.path.normpath(above or ".") != os.path.normpath(spot.real):
            raise ToolError("a link stands on the way to it now", code="outside")
        yield spot, name
