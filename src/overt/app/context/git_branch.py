"""Which branch a folder is on, read from git's own file: no program is run for it."""

import os

from overt.lib.read_file import read_regular

MOST = 4096
SHORT = 8
HEX = frozenset("0123456789abcdef")


class Branch:
    """The branch of one folder. Its file is read again only when it is another than before."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._head = ""
        self._known: tuple[tuple[int, int, int], str] | None = None

    def name(self) -> str:
        """The branch, a short commit where none is checked out, or nothing outside of a repository."""
        stamp = _stamp(self._head) if self._head else None
        if stamp is None:
            self._head = _head_of(self._folder)
            stamp = _stamp(self._head) if self._head else None
            if stamp is None:
                return ""
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, _read(self._head))
        return self._known[1]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_ino, facts.st_size


def _head_of(folder: str) -> str:
    """The file HEAD of the repository that a folder lies in; a worktree has its own, elsewhere."""
    while True:
        place = os.path.join(folder, ".git")
        if os.path.isdir(place):
            return os.path.join(place, "HEAD")
        if os.path.lexists(place):
            key, _, there = _text(place).partition(":")
            return os.path.join(folder, there.strip(), "HEAD") if key == "gitdir" else ""
        if folder == (folder := os.path.dirname(folder)):
            return ""


def _read(head: str) -> str:
    key, colon, rest = _text(head).partition(":")
    if colon and key == "ref":
        name = rest.strip().removeprefix("refs/heads/")
        return "" if name == ".invalid" else name
    return key[:SHORT] if len(key) in (40, 64) and HEX.issuperset(key) else ""


def _text(path: str) -> str:
    try:
        data, _ = read_regular(path, MOST)
    except OSError:
        return ""
    return "" if len(data) > MOST else data.decode("utf-8", "replace").strip()
