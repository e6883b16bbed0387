"""What boxes need on the host while they stand: place-holders at protected names, and a private folder.

Several boxes can stand on the same ones, of several conversations even: each holds a shared lock on them, and
who can lock one alone removes it.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable

from overt.lib.held import FILE_MODE, FOLDER_MODE, is_held

PREFIX = "overt-box-"
DIGITS = frozenset("0123456789abcdef")
LAYOUT = {"tmp": stat.S_ISDIR, "var": stat.S_ISDIR, "empty": stat.S_ISREG}
FILES = {"commondir": b".\n", "config": b"", "config.worktree": b""}
"""Names that git reads: a `commondir` that says "right here" and empty settings; it would refuse a folder there."""
PATIENCE = 0.5


def make_private(base: str) -> str:
    """A new folder that only we can enter, with what boxes see of it; those of boxes long gone are removed."""
    for name in os.listdir(base):
        if name.startswith(PREFIX) and _laid_out(f"{base}/{name}"):
            remove_private(f"{base}/{name}")
    path = f"{base}/{PREFIX}{os.urandom(8).hex()}"
    os.mkdir(path, 0o700)
    for name in ("tmp", "var"):
        os.mkdir(f"{path}/{name}")
        os.chmod(f"{path}/{name}", 0o1777)
    os.close(os.open(f"{path}/empty", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o444))
    return path


def _laid_out(path: str) -> bool:
    """Whether it looks in every way as if we had made it."""
    number = os.path.basename(path).removeprefix(PREFIX)
    if len(number) != 16 or not DIGITS.issuperset(number):
        return False
    try:
        top = os.lstat(path)
        inner = {name: os.lstat(f"{path}/{name}").st_mode for name in LAYOUT}
    except OSError:
        return False
    ours = stat.S_ISDIR(top.st_mode) and stat.S_IMODE(top.st_mode) == 0o700 and top.st_uid == os.geteuid()
    return ours and all(LAYOUT[name](mode) for name, mode in inner.items())


def remove_private(path: str) -> bool:
    """Remove it unless a box or its Overt is still there; False then."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        if os.fstat(fd).st_uid != os.geteuid() or not _alone(fd):
            return False
        if not _removed(path):
            _ran("chmod", "-R", "u+rwX", "--", path)  # a program may have locked itself out of its own folders
            _removed(path)
    except OSError:
        pass  # the next one to make a folder tries again
    finally:
        os.close(fd)
    return True


def hold_private(path: str) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


def hold(path: str) -> int:
    """Put a place-holder up, or join those who hold it; -1 where something real is or nothing can be made."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            _make(path)
        except FileExistsError:
            pass
        except OSError:
            return -1  # where we cannot make it, no program in the box can
        if not is_held(path):
            return -1
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        if _shared(fd) and _same(fd, path):
            return fd
        os.close(fd)  # its last holder removes it, or somebody keeps us from it, but not for ever
        time.sleep(0.005)
    return -1


def release(path: str, fd: int) -> None:
    """Let go of a place-holder and remove it when nobody else holds it."""
    try:
        if _alone(fd) and _same(fd, path) and is_held(path):
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                os.rmdir(path)
            elif os.pread(fd, 16, 0) == FILES.get(os.path.basename(path)):
                os.unlink(path)
    except OSError:
        pass  # filled by somebody outside: theirs now
    finally:
        os.close(fd)


def tidy(names: Iterable[str]) -> None:
    """After the one who had put them up was itself killed."""
    for path in names:
        if is_held(path):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                continue
            release(path, fd)


def _make(path: str) -> None:
    """With its mark from the first moment on, which takes a mask of nothing."""
    content = FILES.get(os.path.basename(path))
    if content is None:
        os.mkdir(path, FOLDER_MODE)
        return
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)
    try:
        os.write(fd, content)
    finally:
        os.close(fd)


def _shared(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _alone(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _same(fd: int, path: str) -> bool:
    try:
        there, ours = os.lstat(path), os.fstat(fd)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _removed(path: str) -> bool:
    """By `rm`, which no depth of folders brings down."""
    return _ran("rm", "-rf", "--one-file-system", "--", path) == 0


def _ran(*argv: str) -> int:
    nothing = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in (0, 1, 2)]
    pid = os.posix_spawnp(argv[0], argv, {"PATH": os.defpath}, file_actions=nothing)
    return os.waitpid(pid, 0)[1]
