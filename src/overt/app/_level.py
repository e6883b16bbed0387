"""The names of one folder that fit what was typed, ranked: what is pointed at often and lately, then what is newest.

Everything here blocks and belongs in a thread. Nothing is opened, no link is followed to look at a name, and a
folder with a hundred thousand files costs no more than its first ten thousand.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import NamedTuple

from overt.app._ignored import Ignored
from overt.app._ranking import LOOSE, rank
from overt.app._used import Used
from overt.config.regular import hollow
from overt.lib.protected import protected_name
from overt.lib.text import visible

MOST_NAMES = 10_000
MOST_DATED = 2000
"""Beyond this many, asking each for its time takes longer than the order is worth."""
MOST_LISTED = 50
MOST_JUDGED = 2000
MOST_WALKED = 20_000
DEEPEST = 6
FRESH = 1.5
"""Seconds for which a folder is not read again."""
NEVER = frozenset({".git"})


class Found(NamedTuple):
    """`path` is as it was typed up to the last slash, and the name. `link` is where a link leads."""

    path: str
    folder: bool
    link: str = ""


class Wanted(NamedTuple):
    """`folder` is what was typed up to the last slash, `word` what follows; `loose`: letters in order are enough."""

    folder: str
    word: str
    now: float
    loose: bool = False


class Levels:
    """`roots` are the folders that may be looked into; the first is the workspace."""

    def __init__(self, roots: Sequence[str], *, ignored: Ignored, used: Used) -> None:
        self._roots = tuple(roots)
        self.ignored = ignored
        self._used = used
        self._last: tuple[str, float, list[os.DirEntry[str]]] = ("", 0.0, [])

    def find(self, wanted: Wanted) -> tuple[list[Found], int]:
        """The best names, and how many more there are. Ignored ones come where there is nothing else."""
        try:
            place = os.path.realpath(os.path.join(self._roots[0], wanted.folder))
        except ValueError:  # a NUL or half a character, which no name holds
            return [], 0
        if not self.inside(place):
            return [], 0
        fitting = self._fitting(place, wanted)
        found: list[Found] = []
        passed: list[Found] = []
        judged = 0
        for entry in fitting[:MOST_JUDGED]:
            judged += 1
            one = self._found(entry, wanted.folder)
            if one is None:
                continue
            if self.ignored(os.path.join(place, entry.name), folder=one.folder):
                passed.append(one)
            else:
                found.append(one)
            if len(found) == MOST_LISTED:
                break
        return (found, len(fitting) - judged) if found else (passed[:MOST_LISTED], 0)

    def folders(self, word: str, stop: Callable[[], bool]) -> list[str]:
        """Folders further down whose names hold the word, level by level; links and ignored ones are not entered."""
        wanted, hidden = word.lower(), word.startswith(".")
        found: list[str] = []
        level, left = [""], MOST_WALKED
        for _ in range(DEEPEST):
            below: list[str] = []
            for folder in level:
                if left <= 0 or len(found) >= MOST_LISTED or stop():
                    return found
                for entry in _scan(os.path.join(self._roots[0], folder), left):
                    left -= 1
                    if not self._entered(entry, hidden=hidden):
                        continue
                    below.append(f"{folder}{entry.name}/")
                    if wanted in entry.name.lower():
                        found.append(below[-1])
            level = below
        return found

    def _entered(self, entry: os.DirEntry[str], *, hidden: bool) -> bool:
        if entry.name in NEVER or (entry.name.startswith(".") and not hidden) or not can_be_named(entry.name):
            return False
        return entry.is_dir(follow_symlinks=False) and not self.ignored(entry.path, folder=True)

    def inside(self, real: str) -> bool:
        return any(real == root or real.startswith(f"{root.rstrip('/')}/") for root in self._roots)

    def score(self, path: str, now: float) -> float:
        return self._used.score(os.path.normpath(path), now)

    def _fitting(self, place: str, wanted: Wanted) -> list[os.DirEntry[str]]:
        hidden = wanted.word.startswith(".")
        places: list[tuple[int, os.DirEntry[str]]] = []
        for entry in self._names(place):
            if entry.name in NEVER or entry.name.startswith(".") != hidden:
                continue
            fit = rank(wanted.word, entry.name)
            if fit is not None and (wanted.loose or fit < LOOSE):
                places.append((fit, entry))
        dated = len(places) <= MOST_DATED
        base = os.path.normpath(f"{wanted.folder}x")[:-1]

        def order(pair: tuple[int, os.DirEntry[str]]) -> tuple[int, float, int, str]:
            fit, entry = pair
            used = self._used.score(base + entry.name, wanted.now)
            return fit, -used, -_changed(entry) if dated else 0, entry.name

        return [entry for _, entry in sorted(places, key=order)]

    def _names(self, place: str) -> list[os.DirEntry[str]]:
        folder, when, entries = self._last
        if folder == place and monotonic() - when < FRESH:
            return entries
        entries = _scan(place, MOST_NAMES)
        self._last = (place, monotonic(), entries)
        return entries

    def _found(self, entry: os.DirEntry[str], folder: str) -> Found | None:
        """None for what cannot be pointed at: a name that a terminal or a prompt could stumble over, a way out."""
        if not can_be_named(entry.name):
            return None
        try:
            linked = entry.is_symlink()
            if linked and not self.inside(os.path.realpath(entry.path)):
                return None
            if not (entry.is_dir() or entry.is_file()) or _held(entry):
                return None
            target = os.readlink(entry.path) if linked else ""
            return Found(folder + entry.name, entry.is_dir(), target if can_be_named(target) else "")
        except OSError:
            return None


def _held(entry: os.DirEntry[str]) -> bool:
    """Whether it is only where the sandbox keeps an absent file of the configuration from being made."""
    return bool(protected_name(entry.name)) and entry.is_dir() and hollow(entry.path)


def _scan(place: str, most: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as found:
            return list(islice(found, most))
    except OSError:
        return []


def can_be_named(path: str) -> bool:
    return '"' not in path and ((path.isascii() and path.isprintable()) or (visible(path) == path and "\n" not in path))


def best(paths: Sequence[str], word: str, score: Callable[[str], float]) -> list[str]:
    """Paths from anywhere by how their names fit, then by use, then in their order."""

    def order(pair: tuple[int, str]) -> tuple[int, float, int]:
        place, path = pair
        fit = rank(word, path.rstrip("/").rpartition("/")[2])
        return LOOSE + 1 if fit is None else fit, -score(path.rstrip("/")), place

    return [path for _, path in sorted(enumerate(paths), key=order)]


def shown(paths: Sequence[str], word: str) -> Iterator[str]:
    """Without those that hide, unless somebody looks for one that does."""
    for path in paths:
        if can_be_named(path) and "\\x" not in path and (word.startswith(".") or not _hides(path)):
            yield path


def _hides(path: str) -> bool:
    return path.startswith(".") or "/." in path


def _changed(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0
