"""Find what undo would not bring back if a command changed certain paths.

Snapshots leave out what `.gitignore` names, large files, repositories inside of this one, and protected names. Of what
is ignored, some folders can be rebuilt by the tool that made them: losing those is no loss.
"""

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from overt.core.errors import OvertError
from overt.core.protocols import CommandChange, Loss, Survey
from overt.lib.encoding import read_name, show_name
from overt.lib.protected_names import protected_name
from overt.workspace.contained_path import lies_below
from overt.workspace.git.process import NO_PROGRAMS, start_git, wait_for_git
from overt.workspace.git.state import find_repository
from overt.workspace.undo.shadow_repository import Shadow, Snapshot

PRIVATE = ("/tmp", "/var/tmp")
"""A sandbox with all walls has folders of its own there."""
NOT_IGNORED = ":not-ignored"
REVISION = ":revision:"
REBUILT = frozenset(
    """node_modules bower_components __pycache__ .venv .tox .nox .eggs .pytest_cache .mypy_cache .ruff_cache .hypothesis
    .parcel-cache .turbo .next .nuxt .svelte-kit .gradle .dart_tool .stack-work .zig-cache zig-cache elm-stuff
    .nyc_output .ccache""".split()
)
"""Folders that a tool can rebuild."""
REBUILT_IF_IGNORED = frozenset("target dist build out obj coverage htmlcov venv .coverage .DS_Store".split())
REBUILT_ENDINGS = tuple(".pyc .pyo .o .obj .a .so .dylib .class .egg-info .tsbuildinfo .gcda .gcno .swp".split())
STAGED = ("diff-index", "--cached", "-z", "--name-only", "--relative", *NO_PROGRAMS, "HEAD")
LIST_TREE = ("ls-tree", "-r", "-z", "--name-only", "--end-of-options")
MOST_MATCHES = 5000
MOST_LOSSES = 20
GIT_TIMEOUT_S = 10.0
OUTSIDE = "outside the workspace"
IGNORED_BY_GIT = "ignored by git"


class UndoCover(Struct, frozen=True, kw_only=True):
    """What undo covers now: the snapshot, or why there is none. `write` are writable folders beside the workspace."""

    root: str
    home: str
    write: tuple[str, ...] = ()
    snapshot: Snapshot | None = None
    why_not: str = ""
    shadow: Shadow | None = None
    git: str = ""

    def survey(self, change: CommandChange) -> Survey:
        """Find what a change would lose. It blocks, so call it in a thread."""
        return _Search(self).run(change)


class _Search:
    def __init__(self, cover: UndoCover) -> None:
        self._cover = cover
        self._losses: dict[str, str] = {}
        self._rebuilt: dict[str, None] = {}
        self._undone = False

    def run(self, change: CommandChange) -> Survey:
        paths = [path for path in change.paths if path != NOT_IGNORED and not path.startswith(REVISION)]
        if change.scope == "everything":
            self._everything()
        if change.scope == "tracked":
            revisions = [path.removeprefix(REVISION) for path in change.paths if path.startswith(REVISION)]
            self._tracked(tuple(self._expand(paths)), revisions)
        if NOT_IGNORED in change.paths:
            self._below("", ignored=False)
        if change.scope != "tracked":
            for path in self._expand(paths):
                self._path(path, change)
        losses = [Loss(path=path, why=why) for path, why in self._losses.items()][:MOST_LOSSES]
        return Survey(losses=tuple(losses), undone=self._undone, rebuilt=tuple(self._rebuilt))

    def _expand(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield absolute paths. A glob yields the paths that it matches now."""
        for path in paths:
            if path == "~" or path.startswith("~/"):
                path = self._cover.home + path[1:]
            elif path.startswith("~"):
                yield f"/home/{path[1:]}"  # of another user, so outside whatever it is
                continue
            whole = self._resolve(path)
            if not path.startswith("/") and lies_below(whole, self._cover.root) is None:
                self._lose(whole, OUTSIDE)  # even where that is the folder for temporary files
                continue
            if not any(mark in path for mark in "*?["):
                yield whole
                continue
            if os.path.lexists(whole):
                yield whole
            hidden = "**" in path  # `find` looks at hidden names, the shell does not
            matches = glob.iglob(whole, recursive=True, include_hidden=hidden)
            for count, match in enumerate(matches):
                if count == MOST_MATCHES:
                    self._everything()
                    return
                yield match
            fixed = whole[: min(whole.index(mark) for mark in "*?[" if mark in whole)]
            if not self._is_writable(os.path.dirname(fixed)):
                yield os.path.dirname(fixed)  # it cannot be told what it matches there later

    def _resolve(self, path: str) -> str:
        """Behind a link, `..` and what ends in a slash lie where the link leads."""
        joined = os.path.join(self._cover.root, path)
        if ".." in path.split("/")[:-1]:
            folder, name = os.path.split(joined.rstrip("/"))
            joined = os.path.join(os.path.realpath(folder), name)
        whole = os.path.normpath(joined)
        return os.path.realpath(whole) if path.endswith(("/", "..")) and not whole.endswith("*") else whole

    def _is_writable(self, path: str) -> bool:
        return _lies_in(os.path.realpath(path), (self._cover.root, *self._cover.write, *PRIVATE))

    def _path(self, path: str, change: CommandChange) -> None:
        spot = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        spots = [spot]
        if os.path.islink(spot) and change.follows:
            spots.append(os.path.realpath(spot))
        for place in spots:
            below = lies_below(place, self._cover.root)
            private = PRIVATE if lies_below(place, self._cover.home) is None else ()
            if below is not None:
                self._inside(below, place, change)
            elif _lies_in(place, self._cover.write):
                if os.path.lexists(place):
                    self._lose(place, OUTSIDE)
            elif not _lies_in(place, private):
                self._lose(place, OUTSIDE)

    def _inside(self, below: str, place: str, change: CommandChange) -> None:
        if protected := protected_name(below, home="elsewhere") if below else "":
            self._lose(below, protected)
            return
        try:
            status = os.lstat(place)
        except (OSError, ValueError):
            return  # nothing is there to be lost
        if (
            change.follows
            and stat.S_ISREG(status.st_mode)
            and status.st_nlink > 1
            and not _is_rebuilt(below, ignored=True)
        ):
            self._lose(below, "it has another name elsewhere (a hard link)")
        if change.scope == "paths" and stat.S_ISDIR(status.st_mode) and os.path.lexists(os.path.join(place, ".git")):
            self._lose(os.path.join(below, ".git"), "git's own files")
        self._below(below, ignored=change.scope != "unignored")

    def _everything(self) -> None:
        cover = self._cover
        if os.path.lexists(os.path.join(cover.root, ".git")):
            self._lose(".git", "git's own files")
        for folder in cover.write:
            self._lose(folder, OUTSIDE)
        self._below("", ignored=True)

    def _tracked(self, paths: Sequence[str], revisions: Sequence[str] = ()) -> None:
        """Work that was not committed, in files that git has and undo does not cover; only at `paths`, if any.

        Files of `revisions` are written over what lies in their place, ignored or not.
        """
        cover = self._cover
        for path in paths:
            if path != cover.root and not self._is_writable(os.path.dirname(path)):
                self._lose(path, OUTSIDE)
        if cover.snapshot is None or cover.shadow is None:
            self._lose("uncommitted work", cover.why_not)
            return
        self._undone = True
        try:
            changed = self._names_from_git("diff-files", "-z", "--name-only", "--relative", *NO_PROGRAMS)
            with suppress(OvertError):  # without a first commit
                changed += self._names_from_git(*STAGED)
            if revisions:
                tracked = set(self._names_from_git("ls-files", "-z"))
                others = {name for each in revisions for name in self._names_from_git(*LIST_TREE, each)}
                changed += sorted(others - tracked)
            ignored = cover.shadow.ignored_paths(changed) if changed else set()
        except OvertError as error:
            self._lose("uncommitted work", error.message)
            return
        uncovered = _uncovered(cover.snapshot) | dict.fromkeys(ignored, IGNORED_BY_GIT)
        for path in paths:
            for name in uncovered:
                if name.endswith("/") and _lies_in(path, [os.path.join(cover.root, read_name(name.rstrip("/")))]):
                    self._losses[name] = uncovered[name]
        for name in changed:
            whole = os.path.join(cover.root, read_name(name))
            if name in uncovered and (not paths or _lies_in(whole, paths)):
                self._lose(name, uncovered[name])

    def _names_from_git(self, *words: str) -> list[str]:
        """File names that a git command prints, counted from the workspace, of what is there."""
        cover = self._cover
        repository = find_repository(cover.root)
        if repository is None or not cover.git:
            return []
        child = start_git(cover.git, words, repository.places(cover.root))
        out = wait_for_git(child, timeout_s=GIT_TIMEOUT_S)
        names = [os.fsdecode(name) for name in out.split(b"\0")[:-1]]
        return [show_name(name) for name in names if os.path.lexists(os.path.join(cover.root, name))]

    def _below(self, below: str, *, ignored: bool) -> None:
        """Judge a file, or all that lies in a folder, by what the snapshot left out."""
        cover = self._cover
        if below and _is_rebuilt(below, ignored=False):
            self._rebuilt[below] = None
            return
        if cover.snapshot is None or cover.shadow is None:
            self._lose(below or ".", cover.why_not)
            return
        self._undone = True
        left_out = {path: why for path, why in _uncovered(cover.snapshot).items() if ignored or not path.endswith("/")}
        try:
            by_git = cover.shadow.list_ignored(below) if ignored else ()
        except OvertError as error:
            self._lose(below or ".", error.message)
            return
        left_out |= dict.fromkeys(by_git, IGNORED_BY_GIT)
        for path, why in left_out.items():
            bare = path.rstrip("/")
            if below and lies_below(bare, below) is None and lies_below(below, bare) is None:
                continue
            if _is_rebuilt(bare, ignored=path in by_git):
                self._rebuilt[path] = None
            else:
                self._lose(path, why)
        if below and below in (path.rstrip("/") for path in self._rebuilt):
            self._undone = False

    def _lose(self, path: str, why: str) -> None:
        self._losses.setdefault(path, why)


def _lies_in(path: str, folders: Iterable[str]) -> bool:
    return any(lies_below(path, folder) is not None for folder in folders)


def _uncovered(snapshot: Snapshot) -> dict[str, str]:
    return {path: why for path, why in snapshot.unfit.items() if path not in snapshot.newly_covered}


def _is_rebuilt(path: str, *, ignored: bool) -> bool:
    parts = path.split("/")
    if not REBUILT.isdisjoint(parts):
        return True
    return ignored and (not REBUILT_IF_IGNORED.isdisjoint(parts) or parts[-1].endswith(REBUILT_ENDINGS))
