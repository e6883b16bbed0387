"""Find the files that differ between a folder and an overlay of it, from the upper folder of the overlay.

Overlayfs stores whole changed files there, a device 0/0 for each deleted name, and an attribute on each folder that
hides the one below it. Reading that needs no mount, so it also works after Overt was killed.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from io import BufferedReader
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from overt.workspace.copies.file_origin import read_handle, read_origin

OPAQUE = "user.overlay.opaque"
GIT = ".git"
BLOCK_BYTES = 1024 * 1024


class CopyChange(Struct, frozen=True, kw_only=True):
    """A file that differs in the copy. `path` is relative to the workspace, as it is on disk.

    `source` holds the new content. `existed`: the workspace has this path too. `conflict`: it changed in the workspace
    since the copy was made. `kind` is `other` if the file cannot be read.
    """

    path: str
    kind: Literal["file", "link", "deleted", "other"]
    source: str = ""
    mode: int = 0
    size: int = 0
    existed: bool = False
    conflict: bool = False

    @property
    def executable(self) -> bool:
        return bool(self.mode & 0o100)


def find_changes(upper: str, root: str, *, since_ns: int) -> list[CopyChange]:
    """Compare a copy with the current state of its original folder. Git's own files are left out.

    `since_ns` is when the copy was made, by the clock of the file system.
    """
    return sorted(_Comparison(root, since_ns).changes(upper), key=lambda change: change.path)


def mark_deleted(
    changes: Iterable[CopyChange], missing: Collection[str], root: str, *, since_ns: int
) -> tuple[CopyChange, ...]:
    """Mark changes of files that the workspace lacks as conflicts, if those were deleted since the copy was made."""
    return tuple(
        replace(each, conflict=True) if each.path in missing and _is_folder_newer(root, each.path, since_ns) else each
        for each in changes
    )


def _is_folder_newer(root: str, path: str, since_ns: int) -> bool:
    """True if the names in the nearest folder above a path have changed since then."""
    folder = os.path.dirname(os.path.join(root, path))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return os.lstat(folder).st_ctime_ns > since_ns


class _Folder(NamedTuple):
    """A folder of the copy. `below` is what the workspace has at its path. `is_replaced`: that is not the original any
    more. `is_new`: the agent made the folder, and the workspace has a later one, with files that the agent never saw.
    """

    upper: str
    path: str
    below: os.stat_result | None
    is_replaced: bool = False
    is_new: bool = False

    def join(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name


class _Comparison:
    def __init__(self, root: str, since_ns: int) -> None:
        self._root = root
        self._since = since_ns

    def changes(self, upper: str) -> Iterator[CopyChange]:
        """Yield the changes in all folders of `upper`, however deep they are."""
        todo = [_Folder(upper, "", os.stat(self._root))]
        while todo:
            yield from self._folder(todo.pop(), todo)

    def _folder(self, folder: _Folder, todo: list[_Folder]) -> Iterator[CopyChange]:
        """Yield the changes in a folder, and add the folders in it to `todo`."""
        upper, path, below = folder.upper, folder.path, folder.below
        try:
            entries = sorted(os.scandir(upper), key=lambda entry: entry.name)
        except OSError:
            if not path:
                raise
            yield CopyChange(path=path, kind="other", existed=below is not None)
            return
        for entry in entries:
            if entry.name != GIT:
                yield from self._entry(entry, folder, todo)
        if below is None:
            return
        if not stat.S_ISDIR(below.st_mode):
            yield self._deleted(path, below)
        elif _is_opaque(upper):
            names, is_other = {entry.name for entry in entries}, folder.is_replaced or folder.is_new
            yield from self._deleted_below(path, spare=names, is_other=is_other)

    def _entry(self, entry: "os.DirEntry[str]", folder: _Folder, todo: list[_Folder]) -> Iterator[CopyChange]:
        path, status = folder.join(entry.name), entry.stat(follow_symlinks=False)
        is_folder_below = folder.below is not None and stat.S_ISDIR(folder.below.st_mode)
        below = self._below(path) if is_folder_below else None
        if stat.S_ISDIR(status.st_mode):
            todo.append(self._folder_in(folder, entry.path, path, below))
            return
        is_other = folder.is_replaced or (folder.is_new and below is not None)
        if below is not None and stat.S_ISDIR(below.st_mode):
            yield from self._deleted_below(path, is_other=is_other)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            if below is not None and not stat.S_ISDIR(below.st_mode):
                yield self._deleted(path, below, is_other=is_other)
            return
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            return  # sockets and pipes are not kept
        kind: Literal["file", "link", "other"] = "link" if stat.S_ISLNK(status.st_mode) else "file"
        if kind == "file" and not os.access(entry.path, os.R_OK):
            kind = "other"
        if below is None or not self._is_same(entry.path, status, path, below):
            was_deleted = below is None and bool(read_origin(entry.path))
            yield CopyChange(
                path=path,
                kind=kind,
                source=entry.path,
                mode=stat.S_IMODE(status.st_mode),
                size=status.st_size,
                existed=below is not None,
                conflict=is_other or was_deleted or self._is_newer(below),
            )

    def _folder_in(self, parent: _Folder, upper: str, path: str, below: os.stat_result | None) -> _Folder:
        """Return a folder of the copy, compared with the one that the workspace has now."""
        origin, is_newer = read_origin(upper), self._is_newer(below)
        is_replaced = bool(origin) and (
            below is None or (is_newer and origin != read_handle(os.path.join(self._root, path)))
        )
        return _Folder(
            upper,
            path,
            below,
            is_replaced=parent.is_replaced or is_replaced,
            is_new=parent.is_new or (not origin and is_newer),
        )

    def _deleted_below(self, path: str, spare: Collection[str] = (), *, is_other: bool = False) -> Iterator[CopyChange]:
        """Yield every file below a folder that was deleted in the copy, except the names in `spare`. `is_other`: it is
        not the folder that the agent deleted."""
        todo = [path]
        while todo:
            folder = todo.pop()
            remaining = spare if folder == path else ()
            try:
                names = sorted(os.listdir(os.path.join(self._root, folder)))
            except OSError:
                continue
            for name in names:
                below = self._below(f"{folder}/{name}")
                if below is None or name == GIT or name in remaining:
                    continue
                if stat.S_ISDIR(below.st_mode):
                    todo.append(f"{folder}/{name}")
                else:
                    yield self._deleted(f"{folder}/{name}", below, is_other=is_other)

    def _deleted(self, path: str, below: os.stat_result, *, is_other: bool = False) -> CopyChange:
        return CopyChange(path=path, kind="deleted", existed=True, conflict=is_other or self._is_newer(below))

    def _below(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(os.path.join(self._root, path))
        except OSError:
            return None

    def _is_newer(self, below: os.stat_result | None) -> bool:
        return below is not None and below.st_ctime_ns > self._since

    def _is_same(self, source: str, status: os.stat_result, path: str, below: os.stat_result) -> bool:
        whole = os.path.join(self._root, path)
        if stat.S_IFMT(status.st_mode) != stat.S_IFMT(below.st_mode):
            return False
        if stat.S_ISLNK(status.st_mode):
            return _read_link(source) == _read_link(whole) != ""
        if not stat.S_ISREG(status.st_mode) or status.st_size != below.st_size:
            return False
        return not (status.st_mode ^ below.st_mode) & 0o100 and _same_content(source, whole)


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # replaced meanwhile
        return ""


def _same_content(one: str, other: str) -> bool:
    try:
        with _open_regular(one) as first, _open_regular(other) as second:
            while (block := first.read(BLOCK_BYTES)) == second.read(BLOCK_BYTES):
                if not block:
                    return True
    except OSError:
        pass
    return False


def _open_regular(path: str) -> BufferedReader:
    """Open a regular file for reading. A link or a pipe that replaced it meanwhile is an OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return open(fd, "rb")
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    raise OSError(0, "it is not a regular file")


def _is_opaque(folder: str) -> bool:
    try:
        return os.getxattr(folder, OPAQUE) == b"y"
    except (OSError, AttributeError):
        return False
