"""What the write tracker knows of one path, and the state of the path when a command first touches it.

This runs inside the sandbox: it imports only the standard library and `overt.sandbox`.
"""

import os
import stat

from overt.sandbox.tracking.file_checks import ABSENT, name_blob, open_file

MAX_HASHED_BYTES = 10 * 1024 * 1024


class PathRecord:
    """What is known of one path. `opens` and `closes` count since the command last had it closed."""

    __slots__ = ("closes", "expected", "is_new", "is_shared", "last_open", "moves", "opens", "renames", "start")

    def __init__(self, start: bytes, signature: bytes) -> None:
        self.start = start
        """At the first call: `-` absent, `=` as in the snapshot, `?` not known, else its SHA-1 as a git blob."""
        self.expected = {signature}
        """Signatures that the path may have if only the command changed it."""
        self.is_new = False
        """The command has just changed it in a way whose outcome is not known yet."""
        self.is_shared = False
        self.opens = self.closes = 0
        self.renames = self.moves = 0
        """How often the command renamed something to this path, and how often inotify reported that."""
        self.last_open = 0.0


def read_start(path: bytes, *, since: int) -> bytes:
    """The `start` of a record; what was last changed before `since` (a time in nanoseconds) is as in the snapshot."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return ABSENT
    except OSError:
        return b"?"
    if status.st_ctime_ns < since or stat.S_ISDIR(status.st_mode):
        return b"="
    try:
        if stat.S_ISLNK(status.st_mode):
            return name_blob(os.readlink(path))
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_HASHED_BYTES:
            return b"?"
        with open(path, "rb", buffering=0, opener=open_file) as file:
            return name_blob(file.read(MAX_HASHED_BYTES + 1))
    except OSError:
        return b"?"


def is_behind_link(path: bytes) -> bool:
    """True if a link took the place of the folder, so that the path itself is gone."""
    parent = os.path.dirname(path)
    return os.path.realpath(parent) != parent
