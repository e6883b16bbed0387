"""Commands that were read as harmless cannot write: Landlock binds the thread that starts them, and so them.

The judgement about a command may be wrong; this makes it harmless in fact. It works inside every box, because each
layer of Landlock only takes away. Modes, owners and times of files are not for Landlock to keep.
"""

import _thread
import errno
import os
import stat
from collections.abc import Callable, Sequence

from overt.sandbox.mechanisms import landlock

READING = landlock.READING | landlock.IOCTL_DEV


def start_reading(start: Callable[[], int], writable: Sequence[str]) -> int:
    """Call `start` from a thread that may write only there; where the kernel has no Landlock, as it is."""
    places = tuple(writable)
    if places not in _readers:
        _readers[places] = Reader(places)
    return _readers[places].start(start)


class Reader:
    """A thread that was bound once: binding one for every command would cost more than the command."""

    def __init__(self, places: tuple[str, ...]) -> None:
        self._places = places
        self._order, self._done = _thread.allocate_lock(), _thread.allocate_lock()
        self._order.acquire()
        self._done.acquire()
        self._start: Callable[[], int] = _nothing
        self._result: int | OSError = 0
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, str(error)) from error

    def start(self, start: Callable[[], int]) -> int:
        self._start = start
        self._order.release()
        self._done.acquire()
        if isinstance(self._result, OSError):
            raise self._result
        return self._result

    def _run(self) -> None:
        unbound: OSError | None = None
        try:
            _bind(self._places)
        except OSError as error:
            unbound = error
        while True:
            self._order.acquire()
            try:
                self._result = unbound or self._start()
            except OSError as error:
                self._result = error
            self._done.release()


_readers: dict[tuple[str, ...], Reader] = {}


def _nothing() -> int:
    return 0


def _own(path: str) -> bool:
    """A link at a name that anybody can make could lead into the workspace."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return not path.startswith("/tmp/") or (stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid())


def _bind(writable: Sequence[str]) -> None:
    for path in writable:
        if path.startswith("/tmp/") and not os.path.lexists(path):
            os.mkdir(path, 0o700)  # a part of the temporary folder that is left to readers
    found = landlock.version()
    if found < 1:
        return
    rights = landlock.RIGHTS[min(found, max(landlock.RIGHTS))] & ~READING
    rules = landlock.Ruleset(found, rights)
    try:
        for path in writable:
            if _own(path):
                rules.allow(path, rights)
        landlock.no_new_privileges()
        rules.bind()
    finally:
        rules.close()
