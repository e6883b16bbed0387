"""Keep only the newest files of a folder."""

import os


def remove_oldest(folder: str, keep: int) -> None:
    """Delete all but the newest files; their names begin with the time, so they sort by age."""
    for name in sorted(os.listdir(folder))[:-keep]:
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue  # another process was faster
