"""Which files a person points at, how often and how lately: a small private file for each project.

Two programs may write it at once; the worst that comes of it is that one use is not counted.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

from overt.core.codec import decode, encode
from overt.lib import atomic
from overt.lib.paths import slug
from overt.lib.read_file import read_regular

MOST = 400
LARGEST = 256 * 1024
LONGEST = 1024
HALF_LIFE = 7 * 86400.0
"""Seconds after which a use counts half."""


class Use(NamedTuple):
    times: int
    last: float


class Used:
    """Paths are relative to the workspace, with `/`."""

    def __init__(self, data_dir: str, workspace: str) -> None:
        self.path = os.path.join(data_dir, "projects", slug(os.path.realpath(workspace)), "used.json")
        self._known: dict[str, Use] | None = None
        self._folders: dict[str, float] = {}

    def score(self, path: str, now: float) -> float:
        """A folder counts as much as the file below it that counts most."""
        if self._known is None:
            self._take(self._read(), now)
        use = (self._known or {}).get(path)
        return max(_score(use, now) if use else 0.0, self._folders.get(path, 0.0))

    def add(self, paths: Iterable[str], now: float) -> None:
        """A file that cannot be written costs only the order of a menu."""
        wanted = [path for path in paths if 0 < len(path) <= LONGEST]
        if not wanted:
            return
        known = self._read()
        for path in wanted:
            known[path] = Use(known[path].times + 1 if path in known else 1, now)
        best = sorted(known, key=lambda path: _score(known[path], now), reverse=True)[:MOST]
        known = {path: known[path] for path in best}
        self._take(known, now)
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            atomic.replace(self.path, encode({"v": 1, "used": {path: list(use) for path, use in known.items()}}))
        except (OSError, UnicodeError):
            pass

    def _take(self, known: dict[str, Use], now: float) -> None:
        self._known = known
        self._folders = {}
        for path, use in known.items():
            score = _score(use, now)
            while path := path.rpartition("/")[0]:
                self._folders[path] = max(score, self._folders.get(path, 0.0))

    def _read(self) -> dict[str, Use]:
        try:
            data, found = read_regular(self.path, LARGEST, os.O_NOFOLLOW)
            content: object = decode(data) if len(data) <= LARGEST and found.st_uid == os.getuid() else None
        except (OSError, ValueError, RecursionError):
            return {}
        listed = content.get("used") if isinstance(content, dict) and content.get("v") == 1 else None
        return {path: use for path, item in listed.items() if (use := _use(item))} if isinstance(listed, dict) else {}


def _use(item: object) -> Use | None:
    match item:
        case [int(times), int(last) | float(last)] if times > 0:
            return Use(times, float(last))
        case _:
            return None


def _score(use: Use, now: float) -> float:
    weight: float = 0.5 ** (max(now - use.last, 0.0) / HALF_LIFE)
    return use.times * weight
