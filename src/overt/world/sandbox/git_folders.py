"""The folders that git keeps inside a `.git`: one for each submodule and for each linked worktree.

This also runs inside the sandbox: it imports only the standard library.
"""

import os

MOST_MODULES = 200


def worktrees(git: str) -> list[str]:
    """What git knows of linked worktrees: a folder for each."""
    return [f"{git}/worktrees/{name}" for name in real_folders(f"{git}/worktrees")]


def modules(git: str) -> list[str] | None:
    """The git folders of submodules, however deep; None when there are too many to look at each."""
    found: list[str] = []
    left = MOST_MODULES
    waiting = [f"{git}/modules"]
    while waiting:
        folder = waiting.pop()
        for name in real_folders(folder):
            left -= 1
            if left < 0:
                return None
            inner = f"{folder}/{name}"
            # One of them is enough: a program could take HEAD away, but not what is protected.
            if any(os.path.lexists(f"{inner}/{each}") for each in ("HEAD", "config", "hooks", "commondir")):
                found.append(inner)
                waiting.append(f"{inner}/modules")
            else:
                waiting.append(inner)
    return found


def real_folders(path: str) -> list[str]:
    """Names of real folders in a real folder."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        with os.scandir(fd) as found:
            return sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    finally:
        os.close(fd)
