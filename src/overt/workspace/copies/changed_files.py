"""Find the files that differ between a folder and an overlay of it, from the upper folder of the overlay.

Overlayfs stores whole changed files there, a device 0/0 for each deleted name, and an attribute on each folder that
hides the one below it. Reading that needs no mount, so it also works after Overt was killed.
"""

import os
import stat
from collections.abc import Collection, Iterator
from typing import Literal

from msgspec import Struct

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
    return sorted(_Comparison(root, since_ns).folder(upper, ""), key=lambda change: change.path)


class _Comparison:
    def __init__(self, root: str, since_ns: int) -> None:
        self._root = root
        self._since = since_ns

    def folder(self, upper: str, path: str) -> Iterator[CopyChange]:
        """Yield the changes in a folder of `upper`, which is `path` in the workspace."""
        below = self._below(path) if path else os.stat(self._root)
        names: set[str] = set()
        try:
            entries = sorted(os.scandir(upper), key=lambda entry: entry.name)
        except OSError:
            yield CopyChange(path=path, kind="other", existed=below is not None)
            return
        for entry in entries:
            if entry.name == GIT:
                continue
            names.add(entry.name)
            yield from self._entry(entry, f"{path}/{entry.name}" if path else entry.name)
        if below is None:
            return
        if not stat.S_ISDIR(below.st_mode):
            yield self._deleted(path, below)
        elif _is_opaque(upper):
            yield from self._deleted_below(path, spare=names)

    def _entry(self, entry: "os.DirEntry[str]", path: str) -> Iterator[CopyChange]:
        status = entry.stat(follow_symlinks=False)
        below = self._below(path)
        if stat.S_ISDIR(status.st_mode):
            yield from self.folder(entry.path, path)
            return
        if below is not None and stat.S_ISDIR(below.st_mode):
            yield from self._deleted_below(path)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            if below is not None and not stat.S_ISDIR(below.st_mode):
                yield self._deleted(path, below)
            return
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            return  # sockets and pipes are not kept
        kind: Literal["file", "link", "other"] = "link" if stat.S_ISLNK(status.st_mode) else "file"
        if kind == "file" and not os.access(entry.path, os.R_OK):
            kind = "other"
        if below is None or not self._is_same(entry.path, status, path, below):
            yield CopyChange(
                path=path,
                kind=kind,
                source=entry.path,
                mode=stat.S_IMODE(status.st_mode),
                size=status.st_size,
                existed=below is not None,
                conflict=self._is_newer(below),
            )

    def _deleted_below(self, path: str, spare: Collection[str] = ()) -> Iterator[CopyChange]:
        """Yield every file below a folder that was deleted in the copy, except the names in `spare`."""
        for folder, folders, files in os.walk(os.path.join(self._root, path)):
            top = os.path.relpath(folder, self._root)
            remaining = spare if top == path else ()
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            folders[:] = sorted(name for name in folders if name not in (GIT, *remaining, *links))
            for name in sorted((*files, *links)):
                if name not in (GIT, *remaining) and (below := self._below(f"{top}/{name}")) is not None:
                    yield self._deleted(f"{top}/{name}", below)

    def _deleted(self, path: str, below: os.stat_result) -> CopyChange:
        return CopyChange(path=path, kind="deleted", existed=True, conflict=self._is_newer(below))

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
            return os.readlink(source) == os.readlink(whole)
        if not stat.S_ISREG(status.st_mode) or status.st_size != below.st_size:
            return False
        return not (status.st_mode ^ below.st_mode) & 0o100 and _same_content(source, whole)


def _same_content(one: str, other: str) -> bool:
    try:
        with open(one, "rb", buffering=0) as first, open(other, "rb", buffering=0) as second:
            while (block := first.read(BLOCK_BYTES)) == second.read(BLOCK_BYTES):
                if not block:
                    return True
    except OSError:
        pass
    return False


def _is_opaque(folder: str) -> bool:
    try:
        return os.getxattr(folder, OPAQUE) == b"y"
    except (OSError, AttributeError):
        return False
