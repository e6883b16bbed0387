"""What stays as it is inside a folder that programs may write: files that would run something later, outside.

Looked up again before every command, so it is a few system calls and no more. No folder is entered through a link.
A name that is itself a link is followed once: where it leads is protected, below a root; that the link itself stays
is looked at after every command (`_births.py`), because nothing can be mounted on a link.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from overt.lib.held import held_status

TOP = (".overt", "overt.toml", "overt.json", "overt.jsonc", ".envrc")
OF_GIT = ("hooks", "config", "commondir", "config.worktree")
"""`commondir` sends git to another folder for its configuration."""
YOUNG, SECOND = 100_000_000, 1_000_000_000
_read: dict[str, tuple[int, list[str]]] = {}
_empty: dict[str, tuple[int, int, int, int]] = {}
MOST_MODULES = 200
DEEPEST, MOST_FOLDERS = 3, 2000
NOT_ENTERED = frozenset({".git", "node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".mypy_cache"})


class Guards(Struct, frozen=True, kw_only=True):
    """`absent`: nothing is there yet, or one of our own place-holders."""

    protected: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def guards(
    roots: Iterable[str], *, loose: Iterable[str] = (), repositories: Iterable[str] = (), inside: bool = False
) -> Guards:
    """`roots` may be written. In those of `loose` only what exists is kept; `repositories` are git folders
    elsewhere that may be written too; `inside` says that the first root lies in a repository."""
    roots, loose = tuple(roots), tuple(loose)
    names = [name for root in roots for name in _names(root, roots, inside=inside and root == roots[0])]
    names += [name for folder in repositories for name in repository(folder)]
    found = _sorted_out(names, (*roots, *loose))
    there = dict.fromkeys(found.protected)
    for root in loose:
        there |= {path: None for name in TOP if _look(path := f"{root}/{name}") == path}
    return Guards(protected=tuple(there), absent=found.absent)


def guards_of(gits: Iterable[str], roots: Sequence[str]) -> Guards:
    """For the `.git` of repositories that lie somewhere below the roots."""
    return _sorted_out([name for git in gits for name in _of_git(git, roots)], roots)


def _sorted_out(names: Iterable[str], roots: Sequence[str]) -> Guards:
    there: dict[str, None] = {}
    absent: dict[str, None] = {}
    folders: dict[str, bool] = {}
    for path in names:
        real = _look(path)
        if real is None:
            folder = path.rpartition("/")[0]
            if folder not in folders:
                folders[folder] = os.path.isdir(folder)
            if folders[folder]:
                absent[path] = None
        elif real == path or _below_any(real, roots):
            there[real] = None
    return Guards(protected=tuple(there), absent=tuple(absent))


def _names(root: str, roots: Sequence[str], *, inside: bool) -> Iterator[str]:
    for name in TOP:
        yield f"{root}/{name}"
    git = f"{root}/.git"
    if inside:
        try:
            held = held_now(os.lstat(git), git)
        except OSError:
            held = True
        if held:
            yield git  # a second repository below the first would be the one that git finds
            return
    yield from _of_git(git, roots)


def _of_git(git: str, roots: Sequence[str]) -> Iterator[str]:
    """The names to keep for one `.git`, whatever it is."""
    try:
        found = os.lstat(git)
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode):
        yield from repository(git)
        return
    if stat.S_ISLNK(found.st_mode):
        target = os.path.realpath(git)
    else:
        yield git
        target = os.path.realpath(os.path.join(os.path.dirname(git), _line(git).removeprefix("gitdir:").strip()))
    if "/.git/" not in target and _below_any(target, roots) and os.path.isdir(target):
        yield from repository(target)


def _below_any(path: str, roots: Iterable[str]) -> bool:
    return any(path.startswith(root + "/") for root in roots)


def _look(path: str) -> str | None:
    """Where a path really lies, or None when nothing is there."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if held_now(found, path):
        return None
    if not stat.S_ISLNK(found.st_mode):
        return path
    real = os.path.realpath(path)
    return real if os.path.lexists(real) else None


def held_now(found: os.stat_result, path: str) -> bool:
    """Whether a place-holder stands there, of which `found` was just learned. One that was empty is not opened again
    while its time says that nothing has come into it since; nobody can set that time."""
    mark = (found.st_dev, found.st_ino, found.st_mode, found.st_ctime_ns)
    if _empty.get(path) == mark:
        return True
    asked = time.time_ns()
    if not held_status(found, path):
        return False
    if stat.S_ISDIR(found.st_mode) and asked - found.st_ctime_ns > _tick(found.st_ctime_ns):
        _empty[path] = mark
    return True


def _tick(changed: int) -> int:
    """Within so many nanoseconds a second change may leave the same time; a clock of whole seconds shows itself."""
    return YOUNG if changed % SECOND else 2 * SECOND


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


def worktrees(git: str) -> list[str]:
    """What git knows of linked worktrees: a folder for each."""
    return [f"{git}/worktrees/{name}" for name in _folders(f"{git}/worktrees")]


def modules(git: str) -> list[str] | None:
    """The git folders of submodules, however deep; None when there are too many to look at each."""
    found: list[str] = []
    left = MOST_MODULES
    waiting = [f"{git}/modules"]
    while waiting:
        folder = waiting.pop()
        for name in _folders(folder):
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


def nested(roots: Iterable[str]) -> list[str]:
    """Every `.git` below the roots, as far as a bounded look goes; those of the roots themselves too."""
    found: list[str] = []
    waiting = [(root, 0) for root in roots]
    for entered, (folder, depth) in enumerate(waiting):
        if entered >= MOST_FOLDERS:
            break
        if os.path.lexists(f"{folder}/.git"):
            found.append(f"{folder}/.git")
        if depth < DEEPEST:
            waiting += [(f"{folder}/{name}", depth + 1) for name in _folders(folder) if name not in NOT_ENTERED]
    return found


def first_nested(roots: Iterable[str]) -> list[str]:
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


def _folders(path: str) -> list[str]:
    """Real folders in a real folder."""
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
    """The content of a small file that git wrote; a pipe or a device in its place is not opened."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.fsdecode(os.read(fd, 4096)).strip() if stat.S_ISREG(os.fstat(fd).st_mode) else ""
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return ""
