"""What the write tracker asks about files: their signature, who has them open, whether a call is going to fail.

This runs inside the sandbox: it imports only the standard library.
"""

import errno
import fcntl
import hashlib
import os
import stat

RENAME_EXCHANGE = 2
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


def seen_by_process(name: bytes, pid: int) -> bytes:
    """`/dev/stdout` and the like, as the process itself would see them."""
    for short, number in ((b"/dev/stdin", 0), (b"/dev/stdout", 1), (b"/dev/stderr", 2)):
        if name == short:
            return os.readlink(b"/proc/%d/fd/%d" % (pid, number))
    for prefix in (b"/proc/self/", b"/proc/thread-self/"):
        if name.startswith(prefix):
            name = b"/proc/%d/" % pid + name[len(prefix) :]
    name = name.replace(b"/dev/fd/", b"/proc/%d/fd/" % pid, 1) if name.startswith(b"/dev/fd/") else name
    if name.startswith(b"/proc/%d/fd/" % pid) and name.rpartition(b"/")[2].isdigit():
        return os.readlink(name)
    return name
