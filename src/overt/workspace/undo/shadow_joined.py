"""Files that a pass sees for the first time although they were there: nobody made them, so nothing may remove them.

That is so when the file was too large, not to be read or in a repository of its own until now, and when it was ignored
by rules that have changed.
"""

import os
from collections.abc import Iterable, Sequence

from overt.core.errors import OvertError
from overt.lib.encoding import show_name
from overt.workspace.undo.shadow_git import Git

RULES = b".gitignore"


class Before:
    """What the last pass knew: its tree, and what it did not cover, folders with a slash behind them."""

    def __init__(self, git: Git, root: str, *, tree: str, unfit: Iterable[str]) -> None:
        self._git = git
        self._root = root
        self._tree = tree
        self._unfit = frozenset(unfit)
        self._repositories = tuple(name for name in self._unfit if name.endswith("/"))

    def joined(self, new: Sequence[bytes], changed: Iterable[bytes]) -> set[str]:
        """Of the files that are `new` to the index, those that were there."""
        if not self._tree or not new:
            return set()
        shown = {name: show_name(os.fsdecode(name)) for name in new}
        found = {path for path in shown.values() if path in self._unfit or path.startswith(self._repositories)}
        places = {os.path.dirname(name) for name in (*changed, *new) if os.path.basename(name) == RULES}
        looked: set[bytes] = set()
        for place in sorted(places):
            for folder in _upwards(place):
                if folder not in looked:
                    looked.add(folder)
                    found |= {shown[name] for name in self._ignored(folder) if name in shown}
        return found

    def _ignored(self, folder: bytes) -> list[bytes]:
        """What the rules of a folder kept out at the last pass."""
        below = os.fsdecode(folder)
        whole = os.path.normpath(os.path.join(self._root, below))
        if os.path.realpath(whole) != whole or not os.path.isdir(whole):
            return []
        path = os.path.join(folder, RULES)
        try:
            rules = self._git.run("cat-file", "blob", os.fsdecode(self._tree.encode() + b":" + path))
        except OvertError:
            return []  # there were none
        return [os.path.join(folder, name) for name in self._git.ignored(rules, below)]


def _upwards(folder: bytes) -> list[bytes]:
    found = [folder]
    while found[-1]:
        found.append(os.path.dirname(found[-1]))
    return found
