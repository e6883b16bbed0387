"""Files that something went wrong leaves behind: named by their time, private, and only the newest are stored."""

import os
from time import gmtime, strftime

from overt.core.ids import new_id
from overt.lib.atomic import NEW, write_all


def now_in_name() -> str:
    return strftime("%Y%m%dT%H%M%SZ", gmtime())


def write_dated(folder: str, name: str, data: bytes, *, keep: int) -> str:
    """Write a new file, as `crash-TIME-ID.txt` for the name `crash.txt`, delete the oldest ones and return its path."""
    stem, ending = os.path.splitext(name)
    path = os.path.join(folder, f"{stem}-{now_in_name()}-{new_id()}{ending}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    fd = os.open(path, NEW, 0o600)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)
    for old in sorted(os.listdir(folder))[:-keep]:
        try:
            os.unlink(os.path.join(folder, old))
        except FileNotFoundError:
            continue  # another process was faster
    return path
