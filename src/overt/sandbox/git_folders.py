"""The folders that git keeps inside a `.git`, one for each submodule and each linked worktree, and its small files.

This also runs inside the sandbox: it imports only the standard library.
"""

import os
import stat

MOST_MODULES = 200


def worktrees(git: str) -> list[str]:
    """Return the git folders of linked worktrees."""
    return [f"{git}/worktrees/{name}" for name in real_folders(f"{git}/worktrees")]


def modules(git: str) -> list[str] | None:
    """Return the git folders of submodules, nested ones included, or None if there are too many to check."""
    git_folders: list[str] = []
    remaining = MOST_MODULES
    waiting = [f"{git}/modules"]
    while waiting:
        folder = waiting.pop()
        for name in real_folders(folder):
            remaining -= 1
            if remaining < 0:
                return None
            inner = f"{folder}/{name}"
            # One of them is enough: a program could take HEAD away, but not what is protected.
            if any(os.path.lexists(f"{inner}/{each}") for each in ("HEAD", "config", "hooks", "commondir")):
                git_folders.append(inner)
                waiting.append(f"{inner}/modules")
            else:
                waiting.append(inner)
    return git_folders


def real_folders(path: str) -> list[str]:
    """Names of real folders in a real folder."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        with os.scandir(fd) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    finally:
        os.close(fd)


def read_small_file(path: str, most: int, *, missing: str = "\0") -> str:
    """Return the content of a regular file that is no link, or a NUL for what cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return missing
    except OSError:
        return "\0"
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return "\0"
        return os.read(fd, most).decode("utf-8", "surrogateescape")
    except OSError:
        return "\0"
    finally:
        os.close(fd)
