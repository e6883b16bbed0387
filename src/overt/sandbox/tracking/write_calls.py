"""Which system calls change files, how the write tracker notes each, and how a command is started below the filter.

This runs inside the sandbox: it imports only the standard library and `overt.sandbox`.
"""

import _thread
import errno
import os
from collections.abc import Callable, Sequence

from overt.sandbox.mechanisms import seccomp
from overt.sandbox.tracking.file_checks import ABSENT, FOLDER
from overt.sandbox.tracking.name_guard import NameGuard
from overt.sandbox.tracking.notifications import install_listener
from overt.sandbox.tracking.write_tracker import CURRENT_FOLDER, UNKNOWN, Handler, WriteTracker

AT_SYMLINK_NOFOLLOW = 0x100

CALLS_BY_NAME: dict[str, tuple[int, int, Handler]] = {
    "open": (2, -1, lambda it, pid, a: it.note_open(pid, CURRENT_FOLDER, a[0], a[1])),
    "creat": (
        85,
        -1,
        lambda it, pid, a: it.note_open(pid, CURRENT_FOLDER, a[0], os.O_CREAT | os.O_WRONLY | os.O_TRUNC),
    ),
    "openat": (257, 56, lambda it, pid, a: it.note_open(pid, a[0], a[1], a[2])),
    "openat2": (437, 437, lambda it, pid, a: it.note_open(pid, a[0], a[1], it.open_flags(pid, a[2]))),
    "truncate": (76, 45, lambda it, pid, a: it.note_change(pid, CURRENT_FOLDER, a[0], UNKNOWN, follow=True)),
    "mkdir": (83, -1, lambda it, pid, a: it.note_change(pid, CURRENT_FOLDER, a[0], FOLDER)),
    "mkdirat": (258, 34, lambda it, pid, a: it.note_change(pid, a[0], a[1], FOLDER)),
    "mknod": (133, -1, lambda it, pid, a: it.note_change(pid, CURRENT_FOLDER, a[0], UNKNOWN)),
    "mknodat": (259, 33, lambda it, pid, a: it.note_change(pid, a[0], a[1], UNKNOWN)),
    "rmdir": (84, -1, lambda it, pid, a: it.note_change(pid, CURRENT_FOLDER, a[0], ABSENT)),
    "unlink": (87, -1, lambda it, pid, a: it.note_change(pid, CURRENT_FOLDER, a[0], ABSENT)),
    "unlinkat": (263, 35, lambda it, pid, a: it.note_change(pid, a[0], a[1], ABSENT)),
    "link": (86, -1, lambda it, pid, a: it.note_link(pid, (CURRENT_FOLDER, a[0]), (CURRENT_FOLDER, a[1]))),
    "linkat": (265, 37, lambda it, pid, a: it.note_link(pid, (a[0], a[1]), (a[2], a[3]), a[4])),
    "symlink": (88, -1, lambda it, pid, a: it.note_change(pid, CURRENT_FOLDER, a[1], UNKNOWN)),
    "symlinkat": (266, 36, lambda it, pid, a: it.note_change(pid, a[1], a[2], UNKNOWN)),
    "chmod": (90, -1, lambda it, pid, a: it.note_mode(pid, CURRENT_FOLDER, a[0], a[1])),
    "fchmod": (91, 52, lambda it, pid, a: it.note_descriptor_mode(pid, a[0], a[1])),
    "fchmodat": (268, 53, lambda it, pid, a: it.note_mode(pid, a[0], a[1], a[2])),
    "fchmodat2": (
        452,
        452,
        lambda it, pid, a: it.note_mode(pid, a[0], a[1], a[2], follow=not a[3] & AT_SYMLINK_NOFOLLOW),
    ),
    "rename": (82, -1, lambda it, pid, a: it.note_rename(pid, (CURRENT_FOLDER, a[0]), (CURRENT_FOLDER, a[1]))),
    "renameat": (264, 38, lambda it, pid, a: it.note_rename(pid, (a[0], a[1]), (a[2], a[3]))),
    "renameat2": (316, 276, lambda it, pid, a: it.note_rename(pid, (a[0], a[1]), (a[2], a[3]), a[4])),
}
"""Calls that change names or open files for writing: number on x86_64, on aarch64 (-1: none), how to note one.

Left out: calls that change only owners, times or extended attributes, which undo does not put back.
"""
FLAGS_ARGUMENT = {"open": 1, "openat": 2}
"""Index of the argument with the flags, so that the filter does not stop calls that open only for reading."""
CALLS: dict[int, Handler] = {}
NOTIFIED_CALLS: list[int] = []
OPEN_CALLS: dict[int, int] = {}
if seccomp.known():
    for _name, (*_numbers, _handler) in CALLS_BY_NAME.items():
        if (_number := _numbers[seccomp.MACHINES[os.uname().machine][0]]) >= 0:
            CALLS[_number] = _handler
            if _name in FLAGS_ARGUMENT:
                OPEN_CALLS[_number] = FLAGS_ARGUMENT[_name]
            else:
                NOTIFIED_CALLS.append(_number)


def can_guard() -> bool:
    """True if the kernel lets us see calls and refuse them: tried in a thread of its own, which ends with the trial."""
    listeners, _ = _run_below_filter(lambda: 0)
    for listener in listeners:
        os.close(listener)
    return bool(listeners)


def start_tracked(
    start: Callable[[], int], *, roots: Sequence[bytes], since: int, guard: NameGuard | None
) -> tuple[int, WriteTracker | None]:
    """Call `start` from a thread with the filter; without a tracker where the kernel or a debugger prevents it."""
    listeners, outcome = _run_below_filter(start, required=guard is not None)
    guard = guard or NameGuard((), ())
    tracker = WriteTracker(listeners[0], CALLS, guard, roots=roots, since=since) if listeners else None
    if isinstance(outcome, OSError):
        if tracker:
            tracker.close()
        raise outcome
    return outcome, tracker


def _run_below_filter(start: Callable[[], int], *, required: bool = False) -> tuple[list[int], int | OSError]:
    """Call `start` from a thread that has the filter, if the kernel takes it; with `required`, only then."""
    outcome: list[int | OSError] = []
    listeners: list[int] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            try:
                listeners.append(install_listener(NOTIFIED_CALLS, OPEN_CALLS))
            except OSError:
                if required:
                    raise
            outcome.append(start())
        except OSError as error:
            outcome.append(error)
        finally:
            done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError as error:
        return [], OSError(errno.EAGAIN, str(error)) if required else start()
    done.acquire()
    return listeners, outcome[0]
