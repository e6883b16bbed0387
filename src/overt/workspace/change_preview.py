"""What a command would do to a path, in one sentence, for a person who is asked about it."""

import os
import stat

from overt.lib.sizes import spell_size
from overt.lib.translations import say

MOST = 2000


def describe_impact(path: str, name: str, verb: str) -> str:
    """What a command would `delete`, `move` or `change`, in one sentence; empty if there is nothing to say.

    `name` is how the path was written. A folder is counted without following links, and not beyond a bound.
    """
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        if any(mark in name for mark in "*?[{$~"):
            return say(f"impact.{verb}", what=name)
        return say("impact.absent", what=name) if verb == "delete" else ""
    return say(f"impact.{verb}", what=_describe(path, name, status))


def _describe(path: str, name: str, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return f"{name} → {os.readlink(path)}"
    if not stat.S_ISDIR(status.st_mode):
        return f"{name} ({spell_size(status.st_size)})"
    count, size = _contents(path)
    more = "> " if count >= MOST else ""
    files = say("count.file" if count == 1 else "count.files", count=f"{more}{count}")
    return say("impact.folder", name=name.rstrip("/"), files=files, size=f"{more}{spell_size(size)}")


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
