"""Files that are whole or untouched: written beside under a random name, synced, renamed into place."""

import os

from overt.core.ids import new_id

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def replace(path: str, data: bytes, *, mode: int = 0o600, sync: bool = True) -> None:
    """Put `data` at `path`; on any OSError the old file stands and nothing is left beside it.

    Without `sync`, that holds for a crash of the program but not for a power cut.
    """
    folder, name = os.path.split(path)
    fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        replace_in(fd, name, data, mode=mode, sync=sync)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def replace_in(
    folder: int, name: str, data: bytes, *, mode: int, owner: tuple[int, int] | None = None, sync: bool = True
) -> None:
    """The same for a name in an open folder, which is not synced."""
    staged = stage(folder, data, mode=mode, owner=owner, sync=sync)
    try:
        os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        discard(folder, staged)
        raise


def stage(
    folder: int, data: bytes, *, mode: int | None, owner: tuple[int, int] | None = None, sync: bool = True
) -> str:
    """Write a new file with a random name in an open folder; returns the name.

    Without a mode it gets the one the umask gives to any new file.
    """
    name = new_name()
    fd = os.open(name, NEW, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        try:
            write_all(fd, data)
            if owner is not None:
                _own(fd, owner)
            if mode is not None:
                os.fchmod(fd, mode)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
    except BaseException:
        discard(folder, name)
        raise
    return name


def new_name() -> str:
    return f".overt-{new_id(16)}.tmp"


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def discard(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:  # the caller is already reporting why it gave up
        pass


def _own(fd: int, owner: tuple[int, int]) -> None:
    made = os.fstat(fd)
    if (made.st_uid, made.st_gid) == owner:
        return
    try:
        os.fchown(fd, *owner)
    except PermissionError:  # only root may give files away; the content matters more than the owner
        pass
