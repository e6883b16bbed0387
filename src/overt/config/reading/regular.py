"""What stands for a file of the configuration and what does not."""

import os

from overt.lib.read_file import read_regular

__all__ = ["hollow", "read_regular"]


def hollow(path: str, depth: int = 4) -> bool:
    """Whether this is a folder without a single file: a sandbox holds the places of absent files with such ones."""
    if depth == 0 or os.path.islink(path):
        return False
    try:
        with os.scandir(path) as entries:
            return all(entry.is_dir(follow_symlinks=False) and hollow(entry.path, depth - 1) for entry in entries)
    except OSError:
        return False  # a file, or a folder nobody may look into
