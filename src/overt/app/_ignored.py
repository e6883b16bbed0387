"""Which names of a project its ignore files leave out, asked for one folder level at a time.

Only the name itself is judged, never the folders above it: whoever looks into an ignored folder wants to see it.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from overt.lib.regular import read_regular

FILES = (".gitignore", ".ignore")
EXCLUDE = ".git/info/exclude"
LARGEST = 64 * 1024
MOST = 2000
ALWAYS = frozenset({"node_modules", "__pycache__"})


class Pattern(NamedTuple):
    """One line. `whole`: matched with the path below the folder of its file, not with the name alone."""

    regex: re.Pattern[str]
    whole: bool
    folders: bool
    kept: bool


class Ignored:
    """`root` is the project. What was read of an ignore file is kept as long as it does not change."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, tuple[tuple[int, int], tuple[Pattern, ...]]] = {}

    def __call__(self, path: str, *, folder: bool) -> bool:
        """`path` is absolute; one outside of the project is never ignored."""
        name = os.path.basename(path)
        if name in ALWAYS:
            return True
        for start, pattern in self._patterns(os.path.dirname(path)):
            if pattern.folders and not folder:
                continue
            if pattern.regex.fullmatch(path[len(start) + 1 :] if pattern.whole else name):
                return not pattern.kept
        return False

    def _patterns(self, folder: str) -> Iterator[tuple[str, Pattern]]:
        """The strongest first: the last line of the nearest file."""
        root = self._root
        while folder == root or folder.startswith(f"{root.rstrip('/')}/"):
            for file in reversed(FILES):
                for pattern in self._read(os.path.join(folder, file)):
                    yield folder, pattern
            if folder == root:
                break
            folder = os.path.dirname(folder)
        for pattern in self._read(os.path.join(root, EXCLUDE)):
            yield root, pattern

    def _read(self, path: str) -> tuple[Pattern, ...]:
        try:
            found = os.stat(path)
            stamp = (found.st_mtime_ns, found.st_size)
            if path not in self._known or self._known[path][0] != stamp:
                data, _ = read_regular(path, LARGEST)
                self._known[path] = stamp, parse(data[:LARGEST].decode("utf-8", "replace"))
        except OSError:
            return ()
        return self._known[path][1]


def parse(text: str) -> tuple[Pattern, ...]:
    """The lines of an ignore file, the last first, because the last that matches decides."""
    found = [pattern for line in text.splitlines()[:MOST] if (pattern := _pattern(line)) is not None]
    return tuple(reversed(found))


def _pattern(line: str) -> Pattern | None:
    if line.startswith("#"):
        return None
    line = re.sub(r"(?<!\\)[ \t]+$", "", line)
    kept = line.startswith("!")
    line = line.removeprefix("!")
    folders = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    whole = "/" in line
    try:
        return Pattern(
            regex=re.compile(_expression(line.removeprefix("/")), re.DOTALL), whole=whole, folders=folders, kept=kept
        )
    except re.error:
        return None


def _expression(pattern: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            piece, at = "(?:.*/)?", at + 3
        elif pattern.startswith("/**", at) and at + 3 == len(pattern):
            piece, at = "/.*", at + 3
        elif pattern[at] == "*":
            while pattern.startswith("*", at):
                at += 1
            piece = "[^/]*"
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            piece, at = f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]", end + 1
        elif pattern[at] == "\\" and at + 1 < len(pattern):
            piece, at = re.escape(pattern[at + 1]), at + 2
        else:
            piece, at = ("[^/]" if pattern[at] == "?" else re.escape(pattern[at])), at + 1
        out.append(piece)
    return "".join(out)
