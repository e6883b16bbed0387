"""Place-holders: what stands, while a box does, where a protected name has nothing yet.

An empty folder, because git does not see one and removing it can destroy nothing; the sticky bit without any
right to write marks it as ours, to every program that must take it for nothing.
"""

import os
import stat

FOLDER_MODE, FILE_MODE = 0o1555, 0o1444
STILL = b".\n"
"""A `commondir` that says: right here. Git reads it and goes on; it would refuse an empty folder or file."""


def is_held(path: str) -> bool:
    """Whether a place-holder stands there."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return held_status(found, path)


def held_status(found: os.stat_result, path: str) -> bool:
    """Anybody can set these bits, so what is in it counts too."""
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISREG(found.st_mode):
        return mode == FILE_MODE and found.st_size <= len(STILL)
    if not stat.S_ISDIR(found.st_mode) or mode != FOLDER_MODE:
        return False
    try:
        with os.scandir(path) as inside:
            return next(inside, None) is None
    except OSError:
        return False
