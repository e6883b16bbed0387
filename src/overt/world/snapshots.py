"""What files held before they were changed: one private file per content, named by its SHA-256.

A content is written under another name first, so that a crash leaves a whole one or none. Nothing is synced: it would
cost more than the edit, and what a power cut spoiled is found by its name when it is read.
"""

import hashlib
import os

from overt.core.errors import OvertError
from overt.lib.atomic import NEW, discard, new_name, write_all

HEX = frozenset("0123456789abcdef")


class Store:
    """The contents of one project. Folders and files are for the owner only; nothing is ever removed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def put(self, raw: bytes, hash: str = "") -> str:
        """Keep a content; gives its name. OSError when the disk does not take it."""
        hash = hash or hashlib.sha256(raw).hexdigest()
        place = os.path.join(self.folder, hash[:2])
        try:
            if os.stat(os.path.join(place, hash)).st_size == len(raw):
                return hash
        except FileNotFoundError:
            pass
        try:
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            make_private(place)
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._write(fd, raw, hash)
        finally:
            os.close(fd)
        return hash

    def _write(self, folder: int, raw: bytes, hash: str) -> None:
        name = new_name()
        file = os.open(name, NEW, 0o600, dir_fd=folder)
        try:
            try:
                write_all(file, raw)
            finally:
                os.close(file)
            os.rename(name, hash, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            discard(folder, name)
            raise

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


def make_private(folder: str) -> None:
    """Make a folder and those above it that are missing, for the owner only, whatever the umask."""
    if not folder or os.path.isdir(folder):
        return
    make_private(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass  # another process was faster
