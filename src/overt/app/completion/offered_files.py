"""The names of one folder that match what was typed: first those mentioned often and recently, then the newest.

Everything here blocks and belongs in a thread. Nothing is opened, no link is followed to look at a name, and a
folder with a hundred thousand files costs no more than its first ten thousand.
"""

import os
from collections.abc import Callable, Sequence
from itertools import islice
from time import monotonic
from typing import NamedTuple, TypeVar

from overt.app.completion.frecency import FileUses
from overt.app.completion.ignore_files import IgnoreRules
from overt.app.completion.ranking import LOOSE, rank
from overt.config.paths import is_placeholder
from overt.lib.paths import lies_in
from overt.lib.protected_names import protected_name
from overt.lib.text import visible

T = TypeVar("T")

MOST_NAMES = 10_000
MOST_DATED = 2000
"""Beyond this many, asking each for its time takes longer than the order is worth."""
MOST_LISTED = 50
MOST_JUDGED = 2000
FRESH = 1.5
"""Seconds for which a folder is not read again."""
NEVER = frozenset({".git"})


class PathMatch(NamedTuple):
    """A file or folder. `path` is what was typed up to the last slash, and the name. `link` is where a link leads."""

    path: str
    folder: bool
    link: str = ""


class PathQuery(NamedTuple):
    """`folder` is what was typed up to the last slash, `word` what follows. With `loose`, letters in order match."""

    folder: str
    word: str
    now: float
    loose: bool = False


class FolderSearch:
    """Finds names in folders. `roots` are those that may be searched; the first is the workspace."""

    def __init__(self, roots: Sequence[str], *, ignored: IgnoreRules, uses: FileUses) -> None:
        self._roots = tuple(roots)
        self.ignored = ignored
        self._uses = uses
        self._last: tuple[str, float, list[os.DirEntry[str]]] = ("", 0.0, [])

    def find(self, wanted: PathQuery) -> tuple[list[PathMatch], int]:
        """Return the best names, and how many more there are. Ignored ones are returned if there are no others."""
        try:
            place = os.path.realpath(os.path.join(self._roots[0], wanted.folder))
        except ValueError:  # a NUL or half a character, which no name holds
            return [], 0
        if not self._may_show(place):
            return [], 0
        entries = self._fitting(place, wanted)
        matches: list[PathMatch] = []
        ignored: list[PathMatch] = []
        judged = 0
        into_ignored = self.ignored(place, folder=True)  # a user who looks into an ignored folder wants to see it
        for entry in entries[:MOST_JUDGED]:
            judged += 1
            match = self._match(entry, wanted.folder)
            if match is None:
                continue
            if not into_ignored and self.ignored(os.path.join(place, entry.name), folder=match.folder):
                ignored.append(match)
            else:
                matches.append(match)
            if len(matches) == MOST_LISTED:
                break
        return (matches, len(entries) - judged) if matches else (ignored[:MOST_LISTED], 0)

    def below(self, names: Sequence[str], word: str, now: float) -> list[PathMatch]:
        """Return files and folders of the workspace whose own name holds the word. `names` are all its files."""
        small = word.lower()
        paths = [path for path in names if small in path.lower()]
        if len(paths) > MOST_NAMES:
            paths = sorted(paths)[:MOST_NAMES]
        folders: dict[str, bool] = {}
        for path in paths:
            folders[path] = False
            while path := path.rpartition("/")[0]:
                folders[path] = True
        fits: list[tuple[int, str, PathMatch]] = []
        for path, folder in folders.items():
            fit = rank(word, path.rpartition("/")[2])
            if fit is not None and fit < LOOSE and can_be_named(path) and (small.startswith(".") or not _hides(path)):
                fits.append((fit, path, PathMatch(path, folder)))
        root = self._roots[0]
        return self._ordered(fits, now, lambda one: _changed(os.path.join(root, one.path)))[:MOST_LISTED]

    def _may_show(self, real: str) -> bool:
        return any(lies_in(real, root) for root in self._roots)

    def _fitting(self, place: str, wanted: PathQuery) -> list[os.DirEntry[str]]:
        hidden = wanted.word.startswith(".")
        base = os.path.normpath(f"{wanted.folder}x")[:-1]
        fits: list[tuple[int, str, os.DirEntry[str]]] = []
        for entry in self._names(place):
            if entry.name in NEVER or entry.name.startswith(".") != hidden:
                continue
            fit = rank(wanted.word, entry.name)
            if fit is not None and (wanted.loose or fit < LOOSE):
                fits.append((fit, base + entry.name, entry))
        return self._ordered(fits, wanted.now, _changed)

    def _ordered(self, fits: list[tuple[int, str, T]], now: float, changed: Callable[[T], int]) -> list[T]:
        """Sort by match, then by use, then the newest first, then by name."""
        dated = len(fits) <= MOST_DATED

        def order(each: tuple[int, str, T]) -> tuple[int, float, int, str]:
            fit, path, one = each
            return fit, -self._uses.score(path, now), -changed(one) if dated else 0, path

        return [one for _, _, one in sorted(fits, key=order)]

    def _names(self, place: str) -> list[os.DirEntry[str]]:
        folder, when, entries = self._last
        if folder == place and monotonic() - when < FRESH:
            return entries
        entries = _scan(place)
        self._last = (place, monotonic(), entries)
        return entries

    def _match(self, entry: os.DirEntry[str], folder: str) -> PathMatch | None:
        """Return None for what cannot be mentioned: an unprintable name, or a link that leads out of the folders."""
        if not can_be_named(entry.name):
            return None
        try:
            linked = entry.is_symlink()
            if linked and not self._may_show(os.path.realpath(entry.path)):
                return None
            if not (entry.is_dir() or entry.is_file()) or _is_placeholder(entry):
                return None
            target = os.readlink(entry.path) if linked else ""
            return PathMatch(folder + entry.name, entry.is_dir(), target if can_be_named(target) else "")
        except OSError:
            return None


def _is_placeholder(entry: os.DirEntry[str]) -> bool:
    """True for an empty folder that the sandbox puts where a configuration file must not be created."""
    return bool(protected_name(entry.name)) and entry.is_dir() and is_placeholder(entry.path)


def _scan(place: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as found:
            return list(islice(found, MOST_NAMES))
    except OSError:
        return []


def can_be_named(path: str) -> bool:
    return '"' not in path and ((path.isascii() and path.isprintable()) or (visible(path) == path and "\n" not in path))


def _hides(path: str) -> bool:
    return path.startswith(".") or "/." in path


def _changed(entry: os.DirEntry[str] | str) -> int:
    try:
        return (os.lstat(entry) if isinstance(entry, str) else entry.stat(follow_symlinks=False)).st_mtime_ns
    except OSError:
        return 0
