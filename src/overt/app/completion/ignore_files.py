"""Which names in one folder the ignore files of a project leave out; pathspec reads their patterns.

ripgrep knows them too, but lists no folders: to judge one it would have to walk the whole tree at a key press.
"""

import os
import re
from typing import TYPE_CHECKING

from overt.lib.read_file import read_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FILES = (".ignore", ".gitignore")
EXCLUDE = ".git/info/exclude"
LARGEST = 64 * 1024
MOST = 2000
ALWAYS = frozenset({"node_modules", "__pycache__"})


class IgnoreRules:
    """`root` is the project. What was read of an ignore file is kept as long as it does not change."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, tuple[tuple[int, int], GitIgnoreSpec]] = {}

    def __call__(self, path: str, *, folder: bool) -> bool:
        """`path` is absolute; one outside of the project is never ignored. The nearest file that names it decides."""
        if os.path.basename(path) in ALWAYS:
            return True
        above = path
        while above != self._root and above.startswith(f"{self._root.rstrip('/')}/"):
            above = os.path.dirname(above)
            below = path.removeprefix(above).lstrip("/") + "/" * folder
            for file in (*FILES, EXCLUDE) if above == self._root else FILES:
                patterns = self._read(os.path.join(above, file))
                ignored = patterns.check_file(below).include if patterns else None
                if ignored is not None:
                    return ignored
        return False

    def _read(self, path: str) -> "GitIgnoreSpec | None":
        try:
            file = os.stat(path)
            stamp = (file.st_mtime_ns, file.st_size)
            if path not in self._known or self._known[path][0] != stamp:
                data, _ = read_regular(path, LARGEST)
                self._known[path] = stamp, parse(data[:LARGEST].decode("utf-8", "replace"))
        except OSError:
            return None
        return self._known[path][1]


def parse(text: str) -> "GitIgnoreSpec":
    """The patterns of an ignore file, without the lines that git would not understand either."""
    from pathspec import GitIgnoreSpec  # late: 20 ms

    def understood(line: str) -> bool:
        try:
            return bool(GitIgnoreSpec.from_lines([line], backend="simple"))
        except (ValueError, re.error):
            return False

    return GitIgnoreSpec.from_lines(filter(understood, text.splitlines()[:MOST]), backend="simple")
