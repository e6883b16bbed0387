"""What the write tracker asks about files: their signature, who has them open, whether a call is going to fail.

This runs inside the sandbox: it imports only the standard library.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import stat
import struct

RENAME_EXCHANGE = 2
MOST_LINKS = 40
EVENT = struct.Struct("=iIII")
EVENT_BUFFER_BYTES = 256 * 1024
_idle_inotify: list[int] = []
ABSENT, FOLDER = b"-", b"folder"


def read_signature(path: bytes, *, with_ctime: bool = False) -> bytes:
    """What tells two states of a file apart without reading it: `-` for none. Folders are all the same.

    A rename changes the ctime, so it counts only once the command has ended.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return ABSENT
    if stat.S_ISDIR(status.st_mode):
        return FOLDER
    signature = b"%d:%d:%d" % (status.st_ino, status.st_size, status.st_mtime_ns)
    return b"%b:%d" % (signature, status.st_ctime_ns) if with_ctime else signature


def has_writer(path: bytes) -> bool:
    """True if somebody has the file open for writing; False also where the kernel does not tell us."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        file = open_file(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(file)
    return False


def take_inotify(libc: ctypes.CDLL) -> int:
    """An inotify instance, -1 where there is none. Closing one that watches folders takes the kernel milliseconds, so
    the last one is used again."""
    if not _idle_inotify:
        return int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    while read_reports(_idle_inotify[0]):
        pass  # what happened between two commands
    return _idle_inotify.pop()


def give_inotify_back(inotify: int, *, is_reusable: bool) -> None:
    """`is_reusable`: it watches nothing but what the next command watches, too."""
    if inotify >= 0 and is_reusable and not _idle_inotify:
        _idle_inotify.append(inotify)
    elif inotify >= 0:
        os.close(inotify)


def read_reports(inotify: int) -> list[tuple[int, int, bytes]]:
    """What inotify has reported since the last call: the number of the watch, the kind of event and the name."""
    try:
        data = os.read(inotify, EVENT_BUFFER_BYTES)
    except BlockingIOError:
        return []
    reports = []
    at = 0
    while at < len(data):
        watch, mask, _, length = EVENT.unpack_from(data, at)
        reports.append((watch, mask, data[at + EVENT.size : at + EVENT.size + length].rstrip(b"\0")))
        at += EVENT.size + length
    return reports


def name_blob(data: bytes) -> bytes:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest().encode()


def open_file(path: str | bytes, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def is_exclusive(flags: int) -> bool:
    return flags & (os.O_CREAT | os.O_EXCL) == os.O_CREAT | os.O_EXCL


def can_open(path: bytes, flags: int) -> bool:
    """False when opening for writing is going to fail."""
    if not os.path.lexists(path):
        return bool(flags & os.O_CREAT)
    return not is_exclusive(flags) and not os.path.isdir(path) and os.access(path, os.W_OK, effective_ids=True)


def can_rename(old: bytes, new: bytes, flags: int) -> bool:
    """False when the call is going to fail."""
    try:
        if os.lstat(old).st_dev != os.lstat(os.path.dirname(new)).st_dev:
            return False
        target = os.lstat(new)
    except FileNotFoundError:
        return os.path.lexists(old) and not flags & RENAME_EXCHANGE
    except OSError:
        return False
    if flags:
        return bool(flags & RENAME_EXCHANGE)
    if stat.S_ISDIR(target.st_mode) != (os.path.isdir(old) and not os.path.islink(old)):
        return False
    return not (stat.S_ISDIR(target.st_mode) and os.listdir(new))


def resolve_for_process(path: bytes, pid: int, *, follow: bool) -> bytes:
    """The real path of what an absolute path means to a process: `/proc/self` is the process, and links that the kernel
    keeps for its descriptors and folders are followed. A name at the end that does not exist stays."""
    steps = path.split(b"/")[::-1]
    current, links = b"", 0
    while steps:
        step = steps.pop()
        if step in (b"", b"."):
            continue
        if step == b"..":
            current = current.rpartition(b"/")[0]
            continue
        if current == b"/proc" and step in (b"self", b"thread-self"):
            step = b"%d" % pid
        whole = current + b"/" + step
        try:
            target = os.readlink(whole) if follow or any(steps) else b""
        except OSError:
            target = b""
        if not target or (current.startswith(b"/proc/") and not target.startswith(b"/")):
            current = whole  # no link, or one to a pipe
            continue
        links += 1
        if links > MOST_LINKS:
            raise FileNotFoundError(errno.ELOOP, "too many links", path)
        current = b"" if target.startswith(b"/") else current
        steps += target.split(b"/")[::-1]
    return current or b"/"
