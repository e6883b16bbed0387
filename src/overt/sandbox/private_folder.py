"""The private folder of boxes on the host. Several boxes share it, and each holds a shared lock on it: who can lock it
alone removes it."""

import errno
import fcntl
import os
import stat

PREFIX = "overt-box-"
DIGITS = frozenset("0123456789abcdef")
LAYOUT = {"tmp": stat.S_ISDIR, "var": stat.S_ISDIR, "empty": stat.S_ISREG}


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


def _alone(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _removed(path: str) -> bool:
    """By `rm`, which no depth of folders brings down."""
    return _ran("rm", "-rf", "--one-file-system", "--", path) == 0


def _ran(*argv: str) -> int:
    nothing = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in (0, 1, 2)]
    pid = os.posix_spawnp(argv[0], argv, {"PATH": os.defpath}, file_actions=nothing)
    return os.waitpid(pid, 0)[1]
