"""Find git and ripgrep, which run outside the sandbox: only programs that nobody else can have changed."""

import os
import re
import stat
import sys
from collections.abc import Sequence

SYSTEM_FOLDERS = ("/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin", "/opt/homebrew/bin")
UNMAPPED = 65534
"""The owner that files of root show in a namespace that does not know root."""


def find_git(search_path: str, *, writable: Sequence[str]) -> str:
    """Return the real path of a git in `search_path` or of the system, or "" if there is none to trust.

    None is taken that lies below `writable`, where commands in a sandbox may write, or that another user could change.
    """
    return _find_program("git", "git", search_path, writable)


def find_rg(search_path: str, *, writable: Sequence[str] = ()) -> str:
    """The same for ripgrep. The one that came with Overt goes first: no sandbox may change what is part of Overt."""
    return _find_program("rg", "(rg|ripgrep).*", search_path, writable, own_folder=os.path.dirname(sys.executable))


def _find_program(name: str, real_name: str, search_path: str, writable: Sequence[str], *, own_folder: str = "") -> str:
    """`real_name` is a pattern: a link to a program of another name is passed over, since that needs its name."""
    for folder in (own_folder, *search_path.split(os.pathsep), *SYSTEM_FOLDERS):
        path = os.path.realpath(os.path.join(folder, name))
        if not folder.startswith("/") or not re.fullmatch(real_name, os.path.basename(path)):
            continue
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            continue
        if folder == own_folder or (lies_outside(path, writable) and only_ours(path)):
            return path
    return ""


def lies_outside(program: str, roots: Sequence[str]) -> bool:
    return not any(program.startswith(f"{root.rstrip('/')}/") for root in roots)


def only_ours(path: str) -> bool:
    """True if only root and we can change or replace a file: all of the folders above it count."""
    trusted = {0, UNMAPPED, os.geteuid()}
    while True:
        try:
            status = os.lstat(path)
        except OSError:
            return False
        open_to_all = status.st_mode & stat.S_IWOTH and not (status.st_mode & stat.S_ISVTX)
        if status.st_uid not in trusted or open_to_all:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)
