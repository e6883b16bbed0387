"""What files held before they were changed: one private file per content, named by its SHA-256.

A content is written under another name first, so that a crash leaves a whole one or none. Nothing is synced: it would
cost more than the edit, and what a power cut spoiled is found by its name when it is read.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable
from errno import ECANCELED

from overt.core.errors import OvertError
from overt.lib.atomic import replace_in
from overt.lib.translations import say

HEX = frozenset("0123456789abcdef")


class ContentStore:
    """The contents of one project. Folders and files are for the owner only.

    `remove_contents` removes what no session names. It holds the lock of a folder that `put` shares, and a content
    that is put again counts as new, so that nothing goes between being put and being recorded.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.grown = 0
        """Bytes of the contents that were written."""

    def put(self, raw: bytes, hash: str = "") -> str:
        """Keep a content; gives its name. OSError when the disk does not take it."""
        hash = hash or hashlib.sha256(raw).hexdigest()
        place = os.path.join(self.folder, hash[:2])
        make_private(place)
        fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            if not _is_there(fd, hash, len(raw)):
                replace_in(fd, hash, raw, mode=0o600, sync=False)
                self.grown += len(raw)
        finally:
            os.close(fd)
        return hash

    def has(self, hash: str) -> bool:
        return os.path.exists(os.path.join(self.folder, hash[:2], hash))

    def get(self, hash: str) -> bytes:
        if len(hash) != 64 or not HEX.issuperset(hash):
            raise OvertError(f"{hash!r} names no snapshot; the session was changed by hand, perhaps.")
        path = os.path.join(self.folder, hash[:2], hash)
        try:
            with open(path, "rb") as file:
                raw = file.read()
        except OSError as error:
            raise OvertError(f"A snapshot cannot be read ({path}: {error.strerror}).") from error
        if hashlib.sha256(raw).hexdigest() != hash:
            raise OvertError(f"A snapshot is damaged ({path}): it does not hold what its name says.")
        return raw


class ClosedContentStore(ContentStore):
    """Takes no content, because undo is switched off; what is there can still be read."""

    def put(self, raw: bytes, hash: str = "") -> str:
        raise OSError(ECANCELED, say("undo.disabled"))


def _is_there(folder: int, name: str, size: int) -> bool:
    """True if the content is stored already; then it is as new as one that is written now."""
    try:
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_size != size:
            return False
        os.utime(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def list_contents(folder: str) -> dict[str, int]:
    """Return the bytes on disk of each content of a store."""
    sizes: dict[str, int] = {}
    for top, _, files in os.walk(folder):
        for name in files:
            if len(name) == 64 and HEX.issuperset(name):
                try:
                    sizes[name] = os.lstat(os.path.join(top, name)).st_blocks * 512
                except FileNotFoundError:
                    continue  # removed meanwhile
    return sizes


def remove_contents(folder: str, names: Iterable[str], *, changed_before: float) -> None:
    """Remove contents of a store, unless they were put after a point in time."""
    for name in names:
        try:
            fd = os.open(os.path.join(folder, name[:2]), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime < changed_before:
                os.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            continue
        finally:
            os.close(fd)


def make_private(folder: str) -> None:
    """Make a folder and those above it that are missing, for the owner only, whatever the umask."""
    if not folder or os.path.isdir(folder):
        return
    make_private(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass  # another process was faster
