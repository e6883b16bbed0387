"""Which files a person mentions, how often and how recently: a small private file for each project.

Two programs may write it at once; the worst that comes of it is that one use is not counted.
"""

import os
from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec import Struct

from overt.core.codec import decode, encode
from overt.lib import atomic
from overt.lib.paths import slug
from overt.lib.read_file import read_regular

MOST = 400
LARGEST = 256 * 1024
LONGEST = 1024
HALF_LIFE = 7 * 86400.0
"""Seconds after which a use counts half."""


class UseCount(NamedTuple):
    times: int
    last: float


class UsesFile(Struct):
    v: Literal[1]
    used: dict[str, UseCount]


class FileUses:
    """How often and when files were mentioned. Paths are relative to the workspace, with `/`."""

    def __init__(self, data_dir: str, workspace: str) -> None:
        self.path = os.path.join(data_dir, "projects", slug(os.path.realpath(workspace)), "used.json")
        self._known: dict[str, UseCount] | None = None
        self._folders: dict[str, float] = {}

    def score(self, path: str, now: float) -> float:
        """Return how much a path is used. A folder counts as much as the file below it that counts most."""
        if self._known is None:
            self._set(self._read(), now)
        use = (self._known or {}).get(path)
        return max(_score(use, now) if use else 0.0, self._folders.get(path, 0.0))

    def add(self, paths: Iterable[str], now: float) -> None:
        """Count mentions. If the file cannot be written, only the order of a menu suffers."""
        wanted = [path for path in paths if 0 < len(path) <= LONGEST]
        if not wanted:
            return
        known = self._read()
        for path in wanted:
            known[path] = UseCount(known[path].times + 1 if path in known else 1, now)
        best = sorted(known, key=lambda path: _score(known[path], now), reverse=True)[:MOST]
        known = {path: known[path] for path in best}
        self._set(known, now)
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            atomic.replace(self.path, encode(UsesFile(v=1, used=known)))
        except (OSError, UnicodeError):
            pass

    def _set(self, known: dict[str, UseCount], now: float) -> None:
        self._known = known
        self._folders = {}
        for path, use in known.items():
            score = _score(use, now)
            while path := path.rpartition("/")[0]:
                self._folders[path] = max(score, self._folders.get(path, 0.0))

    def _read(self) -> dict[str, UseCount]:
        try:
            data, file = read_regular(self.path, LARGEST, os.O_NOFOLLOW)
            if len(data) > LARGEST or file.st_uid != os.getuid():
                return {}
            return decode(data, type=UsesFile).used
        except (OSError, ValueError, RecursionError):
            return {}


def _score(use: UseCount, now: float) -> float:
    weight: float = 0.5 ** (max(now - use.last, 0.0) / HALF_LIFE)
    return use.times * weight
