"""One writer per session: a lock on a file beside it, which the kernel frees when its holder dies.

The lock is not on the session itself, because a repair may put a new file in its place. The lock file
holds the pid of the writer and goes when the writer closes; one left behind by `kill -9` locks nothing.
"""

import fcntl
import os
import time

from overt.core.errors import SessionError
from overt.sessions.names import id_of

_PATIENCE = 10
_PAUSE = 0.02


class Lock:
    """Held from the moment it is made until `release`."""

    def __init__(self, session: str) -> None:
        self._path = f"{session}.lock"
        self._descriptor = _acquire(session, self._path)

    def release(self) -> None:
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            os.unlink(
                self._path
            )  # while it is still held, so that a process that opened it meanwhile sees that it is gone
        except OSError:
            pass  # it was deleted, or the disk is read-only by now; the lock itself goes with the descriptor
        os.close(descriptor)


def lock_holder(session: str) -> int | None:
    """Return the id of the process that writes a session now, 0 if it is unknown, None if none does."""
    try:
        descriptor = os.open(f"{session}.lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        name = os.pread(descriptor, 32, 0).strip()
        return int(name) if name.isdigit() else 0
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _acquire(session: str, path: str) -> int:
    for _ in range(_PATIENCE):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                _sign(descriptor)
                return descriptor
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).strip().decode(errors="replace")
            if holder:
                os.close(descriptor)
                raise _locked(session, f"process {holder}") from None
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
        time.sleep(_PAUSE)
    raise _locked(session, "another process")


def _sign(descriptor: int) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    except OSError:
        pass  # on a full disk the lock holds all the same, only without a name


def _is_at(descriptor: int, path: str) -> bool:
    """False when the last holder removed the file between our opening and locking it."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def _locked(session: str, holder: str) -> SessionError:
    return SessionError(
        f"Session {id_of(session)} is being written by {holder}, and only one may write. Wait until that one ends, "
        f"read it with `overt sessions show {id_of(session)}`, go on in a copy with "
        f"`overt -r {id_of(session)} --fork-session`, or start a new session.",
        code="locked",
    )
