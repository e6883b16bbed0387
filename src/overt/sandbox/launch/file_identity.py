"""Whether a box still keeps what it has to: a file that is replaced outside takes the mount on it away."""

import os
import stat
from collections.abc import Iterable, Mapping

from overt.sandbox.mechanisms.bubblewrap import between
from overt.sandbox.profile import AccessRules

FileIdentity = tuple[int, int]
OFTEN = frozenset(
    ".bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history "
    "fish_history .lesshst .viminfo".split()
)
"""Replaced by everyday programs whenever they end: the next command gets a new box, nothing is ended for them."""


def mounted_paths(rules: AccessRules) -> list[str]:
    """Every path that is a mount of its own because of what must not happen there."""
    places = (*rules.protected, *rules.hidden)
    return [*between(rules.write, places), *places]


def identify(paths: Iterable[str]) -> dict[str, FileIdentity]:
    """What lies there now: a device and a number; paths where nothing is are left out."""
    return {path: mark for path in paths if (mark := _mark(path)) is not None}


def _mark(path: str) -> FileIdentity | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class HeldFiles:
    """Keeps what is marked from being freed: the number of a freed file is given to the next one that is made."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def hold(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                continue
            before = self._held.get(path)
            self._held[path] = fd
            if before is not None:
                os.close(before)

    def let_go(self) -> None:
        for fd in self._held.values():
            os.close(fd)
        self._held.clear()


def replaced_paths(before: Mapping[str, FileIdentity]) -> list[str]:
    return [path for path, mark in before.items() if _mark(path) != mark]


def newly_protected(before: AccessRules, now: AccessRules) -> list[str]:
    """What has to be kept now and was not."""
    held = {*before.protected, *before.absent, *before.hidden}
    return [path for path in (*now.protected, *now.absent, *now.hidden) if path not in held]


def is_worth_ending(path: str) -> bool:
    """Whether programs are ended for it: not for sockets and histories, which come and go all day."""
    try:
        socket = stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        socket = False
    return not socket and os.path.basename(path) not in OFTEN
