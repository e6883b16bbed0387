"""Check places that an answer names, `path:line`, against the files of the workspace."""

import os
import stat
from typing import Literal

from overt.lib.paths import lies_in
from overt.lib.read_file import read_regular

MAX_READ = 16 << 20
MAX_KEPT = 500
UNQUOTED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~-")

CitationState = Literal["good", "broken", "elsewhere"]


class Citations:
    """Checks each place when it is drawn for good. Looks at the file's state each time, at its content once."""

    def __init__(self, workspace: str) -> None:
        self._root = os.path.realpath(workspace)
        self._roots = {self._root, os.path.abspath(workspace)}
        self._counts: dict[str, tuple[tuple[int, int, int], int]] = {}
        self._named: dict[str, str] = {}

    def check(self, path: str, line: int) -> bool:
        return self.standing(path, line) == "good"

    def standing(self, path: str, line: int) -> CitationState:
        """Return the state of a place. One that leads out of the workspace is `elsewhere` and not checked."""
        real = self._real(path)
        if real is None:
            return "elsewhere"
        lines = self._lines(real)
        if lines is None or not 1 <= line <= max(lines, 1):
            return "broken"
        if "/" in path and len(self._named) < MAX_KEPT:
            self._named[os.path.basename(real)] = real
        return "good"

    def folder(self, path: str) -> bool:
        """True if the path begins with a folder of the workspace."""
        real = self._real(path.partition("/")[0] or "/")
        return real is not None and os.path.isdir(real)

    def link(self, path: str, line: int) -> str:
        """Return an address that terminals open. Its host keeps a remote terminal from opening its own file."""
        real = self._real(path) or self._root
        quoted = "".join(chr(byte) if byte in UNQUOTED else f"%{byte:02X}" for byte in os.fsencode(real))
        return f"file://{os.uname().nodename}{quoted}#{line}"

    def _real(self, path: str) -> str | None:
        """Return the real path if it lies in the workspace. A bare name may be that of a file named before."""
        home = os.path.expanduser(path) if path.startswith("~/") else path  # of others, a directory may be asked
        wanted = os.path.normpath(os.path.join(self._root, home))
        if not any(lies_in(wanted, root) for root in self._roots):
            return None  # nothing is looked up there: a name alone can make a system call another machine
        try:
            real = os.path.realpath(wanted)
            if "/" not in path and path in self._named and not os.path.lexists(real):
                real = os.path.realpath(self._named[path])
        except (OSError, ValueError):
            return None
        return real if lies_in(real, self._root) else None

    def _lines(self, real: str) -> int | None:
        """Count the lines of a regular file; one that is too large to count has any line."""
        try:
            file = os.lstat(real)
            if not stat.S_ISREG(file.st_mode):
                return None
            state = file.st_mtime_ns, file.st_size, file.st_ino
            counted = self._counts.get(real)
            if counted and counted[0] == state:
                return counted[1]
            data, _ = read_regular(real, MAX_READ, os.O_NOFOLLOW)
        except (OSError, ValueError):
            return None
        lines = 10**9 if len(data) > MAX_READ else data.count(b"\n") + (data[-1:] not in (b"", b"\n"))
        if len(self._counts) >= MAX_KEPT:
            self._counts.clear()
        self._counts[real] = state, lines
        return lines
