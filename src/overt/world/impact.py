"""What stands at a path, in a few words, for a person who is asked whether it may be changed."""

import os
import stat

MOST = 2000


def weigh(path: str, name: str) -> str:
    """`name` is how the path was written. A folder is counted without following links, and not beyond a bound."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return f"{name}: not there yet" if not _globs(name) else name
    if stat.S_ISLNK(found.st_mode):
        return f"{name}: a link to {os.readlink(path)}"
    if not stat.S_ISDIR(found.st_mode):
        return f"{name}: a file of {_size(found.st_size)}"
    count, size = _contents(path)
    more = "more than " if count >= MOST else ""
    return f"{name}: a folder with {more}{count} {'file' if count == 1 else 'files'}, {more}{_size(size)}"


def _contents(path: str) -> tuple[int, int]:
    count = size = 0
    folders = [path]
    while folders and count < MOST:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        count += 1
                        size += entry.stat(follow_symlinks=False).st_size
                    if count >= MOST:
                        break
        except OSError:
            continue
    return count, size


def _size(size: int) -> str:
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.1f} {unit}"
    return f"{size} {'byte' if size == 1 else 'bytes'}"


def _globs(name: str) -> bool:
    return any(mark in name for mark in "*?[{$~")
