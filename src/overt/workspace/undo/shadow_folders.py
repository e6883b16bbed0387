"""The folders that a state of the workspace knows, with their permissions: those of its files, and empty ones."""

import os
import stat
from collections.abc import Iterable

from overt.lib.encoding import show_name
from overt.lib.protected_names import protected_name

MOST_EMPTY = 1000


class FolderModes:
    """Remembers what is in each, and reads again only those that have changed."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._tree = ""
        self._covered: dict[str, None] = {}
        self._inside: dict[str, tuple[tuple[int, int, int], tuple[str, ...]]] = {}

    def known(self, tree: str) -> bool:
        return tree != "" and tree == self._tree

    def learn(self, tree: str, listed: bytes) -> None:
        """All folders of a tree, as git lists them."""
        self._covered = dict.fromkeys(os.fsdecode(name) for name in listed.split(b"\0")[:-1])
        self._tree = tree

    def extend(self, tree: str, files: Iterable[bytes]) -> None:
        """The same tree with more files in it."""
        for name in files:
            above = os.path.dirname(os.fsdecode(name))
            while above and above not in self._covered:
                self._covered[above] = None
                above = os.path.dirname(above)
        self._tree = tree

    def now(self) -> dict[str, int]:
        covered = self._covered
        found: dict[str, int] = {}
        inside: dict[str, tuple[tuple[int, int, int], tuple[str, ...]]] = {}
        for path in ("", *self._covered):
            try:
                seen = os.lstat(os.path.join(self._root, path))
            except OSError:
                continue
            if not stat.S_ISDIR(seen.st_mode):
                continue
            if path:
                found[show_name(path)] = stat.S_IMODE(seen.st_mode)
            stamp = (seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns)
            before = self._inside.get(path)
            below = before[1] if before and before[0] == stamp else self._below(path)
            inside[path] = (stamp, below)
            for name in below:
                if (whole := os.path.join(path, name)) not in covered:
                    found |= self._empty(whole)
        self._inside = inside
        return dict(sorted(found.items()))

    def _below(self, path: str) -> tuple[str, ...]:
        try:
            with os.scandir(os.path.join(self._root, path) if path else self._root) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return ()
        return tuple(name for name in names if not protected_name(name, home="elsewhere"))

    def _empty(self, path: str) -> dict[str, int]:
        """The folder and those in it, when there is no file anywhere below."""
        found: dict[str, int] = {}
        todo = [path]
        while todo:
            each = todo.pop()
            whole = os.path.join(self._root, each)
            try:
                found[show_name(each)] = stat.S_IMODE(os.lstat(whole).st_mode)
                with os.scandir(whole) as entries:
                    for entry in entries:
                        if not entry.is_dir(follow_symlinks=False) or len(found) > MOST_EMPTY:
                            return {}
                        todo.append(os.path.join(each, entry.name))
            except OSError:
                return {}
        return found
