"""What a folder holds, as a tree; links are shown and never followed."""

import os
import stat
from typing import Literal

from overt.core.capabilities import FolderEntry
from overt.lib.encoding import show_name
from overt.workspace.contained_path import FOLDER, OpenPath, Workspace, as_tool_error

Kind = Literal["file", "folder", "link", "other"]

HEAVY = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
SCAN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
MAX_ENTRIES = 50_000
RANK = {"file": 1, "link": 1, "other": 1, "folder": 0}
Place = tuple[tuple[int, str], ...]
"""The names on the way to an entry, each with the rank of its kind."""


def list_tree(workspace: Workspace, spot: OpenPath, *, depth: int, limit: int) -> tuple[tuple[FolderEntry, ...], bool]:
    """List a folder level by level until there are `limit` entries, so a deep folder cannot hide its neighbours.

    A folder is followed by what it holds, folders before files. Names are shown whatever the rules say; a folder that
    may not be read is shown and not entered. The flag says that there is more.
    """
    entries: list[tuple[Place, FolderEntry]] = []
    level: list[Place] = [()]
    more = False
    for below in range(1, depth + 1):
        folders: list[Place] = []
        for place in level:
            names, truncated = _entries(spot, tuple(name for _, name in place))
            more = more or truncated
            for name, kind in names:
                if len(entries) >= limit:
                    return _in_order(entries), True
                here = (*place, (RANK[kind], name))
                parts = tuple(name for _, name in here)
                real = workspace.place(spot.root, *spot.parts, *parts)
                entries.append((here, FolderEntry(path=show_name(real), kind=kind, depth=below)))
                if kind == "folder" and name not in HEAVY and _may_enter(workspace, spot, parts, real):
                    folders.append(here)
        level = folders
    return _in_order(entries), more


def _in_order(entries: "list[tuple[Place, FolderEntry]]") -> tuple[FolderEntry, ...]:
    return tuple(entry for _, entry in sorted(entries, key=lambda each: each[0]))


def _may_enter(workspace: Workspace, spot: OpenPath, below: tuple[str, ...], real: str) -> bool:
    denied = workspace.forbid and workspace.forbid("read", real)
    return not denied and not workspace.refusal(spot.root, spot.parts + below)


def _entries(spot: OpenPath, parts: tuple[str, ...]) -> tuple[list[tuple[str, Kind]], bool]:
    """Names and kinds in one folder, folders first. One that cannot be read or was swapped shows as empty."""
    fd = os.dup(spot.fd)
    try:
        for part in parts:
            below = os.open(part, FOLDER | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = below
        names = _scan(fd)
    except OSError as error:
        if not parts:
            raise as_tool_error(error, spot.path) from error
        return [], False
    finally:
        os.close(fd)
    names.sort(key=lambda entry: (RANK[entry[1]], entry[0]))
    return names[:MAX_ENTRIES], len(names) > MAX_ENTRIES


def _scan(fd: int) -> list[tuple[str, Kind]]:
    readable = os.open(".", SCAN, dir_fd=fd)
    try:
        with os.scandir(readable) as entries:
            return [(entry.name, _kind(entry)) for entry in entries if entry.name != ".git"]
    finally:
        os.close(readable)


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def near_names(workspace: Workspace, spot: OpenPath) -> list[str]:
    """Up to three names in the same folder that look like the missing one."""
    if len(spot.missing) != 1:
        return []
    try:
        names = [name for name, _ in _scan(spot.fd)]
    except OSError:
        return []
    wanted = spot.name.casefold()
    same = [name for name in names if name.casefold() == wanted]
    import difflib  # late: 0.7 ms

    close = difflib.get_close_matches(spot.name, names[:5000], n=3, cutoff=0.6)
    parent = spot.parts[:-1]
    return [workspace.show(spot.root, (*parent, name)) for name in dict.fromkeys([*same, *close])][:3]


def missing_folder(workspace: Workspace, spot: OpenPath) -> str:
    """The first folder on the way that is not there; empty when only the file is missing."""
    known = len(spot.parts) - len(spot.missing)
    return workspace.show(spot.root, spot.parts[: known + 1]) if len(spot.missing) > 1 else ""


def is_folder(spot: OpenPath) -> bool:
    return spot.stat is not None and stat.S_ISDIR(spot.stat.st_mode)
