"""What stays as it is inside a folder that programs may write: files that would run something later, outside.

Looked up again before every command, so it is a few system calls and no more. No folder is entered through a link.
A name that is itself a link is followed once: where it leads is protected, below a root; that the link itself stays
is looked at after every command (`launch/new_repositories.py`), because nothing can be mounted on a link.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from overt.sandbox.git_folders import modules, read_small_file, real_folders, worktrees
from overt.sandbox.git_targets import configured_targets

TOP = (".overt", "overt.toml", "overt.json", "overt.jsonc", ".envrc")
OF_GIT = ("hooks", "config", "commondir", "config.worktree")
"""`commondir` sends git to another folder for its configuration."""
YOUNG = 100_000_000
_read: dict[str, tuple[int, list[str]]] = {}
DEEPEST, MOST_FOLDERS = 3, 2000
NOT_ENTERED = frozenset({".git", "node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".mypy_cache"})


class ProtectedNames(Struct, frozen=True, kw_only=True):
    """`protected` exist; `absent` do not, or are links, on which nothing can be mounted."""

    protected: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def find_protected_names(
    roots: Iterable[str], *, loose: Iterable[str] = (), repositories: Iterable[str] = (), inside: bool = False
) -> ProtectedNames:
    """`roots` may be written. In those of `loose` only what exists is kept; `repositories` are git folders
    elsewhere that may be written too; `inside` says that the first root lies in a repository."""
    roots, loose = tuple(roots), tuple(loose)
    names = [name for root in roots for name in _names(root, roots, inside=inside and root == roots[0])]
    names += [name for folder in repositories for name in repository(folder)]
    found = _sorted_out(names, (*roots, *loose))
    there = dict.fromkeys(found.protected)
    for root in loose:
        there |= {path: None for name in TOP if _look(path := f"{root}/{name}") == path}
    return ProtectedNames(protected=tuple(there), absent=found.absent)


def find_names_of(gits: Iterable[str], roots: Sequence[str]) -> ProtectedNames:
    """For the `.git` of repositories that lie somewhere below the roots."""
    return _sorted_out([name for git in gits for name in _of_git(git, roots)], roots)


def _sorted_out(names: Iterable[str], roots: Sequence[str]) -> ProtectedNames:
    there: dict[str, None] = {}
    absent: dict[str, None] = {}
    for path in names:
        real = _look(path)
        if real != path:
            absent[path] = None
            if real is None or path.endswith("/.git") or not _below_any(real, roots):
                continue  # what is in a `.git` is named one by one
        there[real] = None
    return ProtectedNames(protected=tuple(there), absent=tuple(absent))


def _names(root: str, roots: Sequence[str], *, inside: bool) -> Iterator[str]:
    for name in TOP:
        yield f"{root}/{name}"
    git = f"{root}/.git"
    if inside and not os.path.lexists(git):
        yield git  # a second repository below the first would be the one that git finds
        return
    yield from _of_git(git, roots)


def _of_git(git: str, roots: Sequence[str]) -> Iterator[str]:
    """The names to keep for one `.git`, whatever it is."""
    try:
        found = os.lstat(git)
    except OSError:
        return
    yield from targets_in_work_tree(git, roots)
    if stat.S_ISDIR(found.st_mode):
        yield from repository(git)
        return
    yield git
    if stat.S_ISLNK(found.st_mode):
        target = os.path.realpath(git)
    else:
        target = os.path.realpath(os.path.join(os.path.dirname(git), _line(git).removeprefix("gitdir:").strip()))
    if "/.git/" not in target and _below_any(target, roots) and os.path.isdir(target):
        yield from repository(target)


def targets_in_work_tree(git: str, roots: Sequence[str]) -> list[str]:
    """What the settings of a repository name that lies below a root: hooks, included settings and the like."""
    top = os.path.dirname(git)
    folder = git
    if not os.path.isdir(git):
        own = os.path.join(top, _line(git).removeprefix("gitdir:").strip())
        folder = worktree(top) or os.path.normpath(own)
    targets = [
        target for name in ("config", "config.worktree") for target in configured_targets(f"{folder}/{name}", top)
    ]
    return [path for path in targets if _below_any(path, roots) and not _below_any(top + "/", (path,))]


def is_below(path: str, place: str) -> bool:
    """Return True if a path is a place or lies in it."""
    return (path.rstrip("/") + "/").startswith(place.rstrip("/") + "/")


def _below_any(path: str, roots: Iterable[str]) -> bool:
    return any(path.startswith(root + "/") for root in roots)


def _look(path: str) -> str | None:
    """Where a path really lies, or None when nothing is there."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISLNK(found.st_mode):
        return path
    real = os.path.realpath(path)
    return real if os.path.lexists(real) else None


def repository(git: str) -> Iterator[str]:
    """The names to keep in a folder of git's, complete or not: what is missing could be put there later."""
    for name in OF_GIT:
        yield f"{git}/{name}"
    for folder in worktrees(git):
        yield f"{folder}/commondir"
        yield f"{folder}/config.worktree"
        if os.path.lexists(f"{folder}/gitdir"):
            yield f"{folder}/gitdir"
    inner = modules(git)
    if inner is None:
        yield f"{git}/modules"
        return
    for folder in inner:
        yield from (f"{folder}/{name}" for name in OF_GIT)


def find_repositories(roots: Iterable[str]) -> list[str]:
    """Every `.git` below the roots, as far as a bounded look goes; those of the roots themselves too."""
    found: list[str] = []
    waiting = [(root, 0) for root in roots]
    for entered, (folder, depth) in enumerate(waiting):
        if entered >= MOST_FOLDERS:
            break
        if os.path.lexists(f"{folder}/.git"):
            found.append(f"{folder}/.git")
        if depth < DEEPEST:
            waiting += [(f"{folder}/{name}", depth + 1) for name in real_folders(folder) if name not in NOT_ENTERED]
    return found


def find_near_repositories(roots: Iterable[str]) -> list[str]:
    """The same for the roots and the folders in them, quick enough for every command."""
    found: list[str] = []
    for root in roots:
        found.append(f"{root}/.git")
        # One call that fails without an exception; a link to nothing is no repository yet.
        found += [path for folder in _inner(root) if os.access(path := f"{folder}/.git", os.F_OK)]
    return found


def _inner(root: str) -> list[str]:
    """The folders in a root, read again when it has changed. Times are coarse, so a young one proves nothing."""
    try:
        changed = os.stat(root).st_mtime_ns
        before, folders = _read.get(root, (0, []))
        if before != changed or time.time_ns() - changed < YOUNG:
            with os.scandir(root) as entries:
                folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            _read[root] = (changed, folders)
    except OSError:
        return []
    return folders


def worktree(workspace: str) -> str:
    """The shared git folder of a linked worktree, or an empty string.

    A `.git` file can name any folder; it is believed only where that folder names this worktree in turn.
    """
    git = f"{workspace}/.git"
    first = _line(git)
    if not first.startswith("gitdir:"):
        return ""
    own = os.path.realpath(os.path.join(workspace, first.removeprefix("gitdir:").strip()))
    back, shared = _line(f"{own}/gitdir"), _line(f"{own}/commondir")
    if not back or not shared or os.path.realpath(os.path.join(own, back)) != os.path.realpath(git):
        return ""
    shared = os.path.realpath(os.path.join(own, shared))
    return shared if os.path.dirname(own) == f"{shared}/worktrees" else ""


def _line(path: str) -> str:
    """The content of a small file that git wrote; empty for anything else."""
    return read_small_file(path, 4096).strip("\0").strip()
