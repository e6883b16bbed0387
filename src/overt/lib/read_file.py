"""Read regular files up to a limit, and detect changes of files without reading them.

Pipes and devices are refused, so that the program never waits for them.
"""

import os
import stat
from collections.abc import Sequence
from hashlib import sha256

from msgspec import json

SETTLED_NS = 2_000_000_000
"""The coarsest resolution of change times in file systems that are in use."""
ABSENT = (0, 0, 0, 0, 0)


def read_regular(path: str, limit: int, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """Read at most `limit` + 1 bytes, so that the caller sees if there are more. Anything but a file is an OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is not a regular file")
        chunks: list[bytes] = []
        left = limit + 1
        while left > 0 and (chunk := os.read(fd, left)):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks), found
    finally:
        os.close(fd)


def stamp_files(root: str, paths: Sequence[str]) -> tuple[str, int]:
    """Return the stamp of files and folders below a folder, absent ones included, and the latest change time in ns.

    The stamp is a hash of their inode data; links are not followed. Each change of content, mode, owner or modification
    time sets the change time, which programs cannot set themselves, so the stamp differs even if size and modification
    time were restored. A replaced file has another inode. `is_settled` tells whether a stamp can be trusted later.
    Raise OSError if one of the paths cannot be checked.
    """
    marks: list[int] = []
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for path in paths:
            try:
                status = os.lstat(path, dir_fd=folder)  # relative to a folder it takes half the time
            except (FileNotFoundError, NotADirectoryError):
                marks += ABSENT
                continue
            marks += (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    finally:
        os.close(folder)
    return sha256(json.encode(marks)).hexdigest(), max(marks[4::5], default=0)


def is_settled(newest_ns: int, looked_at_ns: int) -> bool:
    """True if the last change is old enough that any later change has another change time.

    Two changes within one tick of the file system's clock have the same change time.
    """
    return looked_at_ns - newest_ns > SETTLED_NS
