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


def list_tree(workspace: Workspace, spot: OpenPath, *, depth: int, limit: int) -> tuple[tuple[FolderEntry, ...], bool]:
    """Level by level until `limit` entries are found, so a deep folder cannot hide its neighbours.

    Names are shown whatever the rules say; a folder that may not be read is shown and not entered.
    """
    found: list[tuple[tuple[str, ...], FolderEntry]] = []
    level: list[tuple[str, ...]] = [()]
    more = False
    for below in range(1, depth + 1):
        folders: list[tuple[str, ...]] = []
        for parts in level:
            entries, cut = _entries(spot, parts)
            more = more or cut
            for name, kind in entries:
                if len(found) >= limit:
                    return _ordered(found), True
                here = (*parts, name)
                real = workspace.place(spot.root, *spot.parts, *here)
                found.append((here, FolderEntry(path=show_name(real), kind=kind, depth=below)))
                if kind == "folder" and name not in HEAVY and _may_enter(workspace, spot, here, real):
                    folders.append(here)
        level = folders
    return _ordered(found), more


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


def _ordered(found: list[tuple[tuple[str, ...], FolderEntry]]) -> tuple[FolderEntry, ...]:
    """Tree order: a folder is followed by what it holds, folders before files."""
    folders = {parts for parts, entry in found if entry.kind == "folder"}

    def place(item: tuple[tuple[str, ...], FolderEntry]) -> list[tuple[int, str]]:
        parts = item[0]
        return [(0 if parts[: n + 1] in folders else 1, parts[n]) for n in range(len(parts))]

    return tuple(entry for _, entry in sorted(found, key=place))


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
