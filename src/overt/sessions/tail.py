"""What was added to a file of lines since one last looked: a growing record is never read twice."""

import os
import stat

PIECE = 1 << 20


class Tail:
    """Whole lines that hold `mark`, each once. With `end`, what stands there already is passed over."""

    def __init__(self, path: str, mark: bytes, *, end: bool = False) -> None:
        self._path = path
        self._mark = mark
        self._at = self._size() if end else 0

    def fresh(self) -> list[bytes]:
        """A file that is not there, or no file, has no lines. One that has become shorter is read from its start."""
        size = self._size()
        if size == self._at:
            return []
        if size < self._at:
            self._at = 0
        try:
            return self._read()
        except OSError:
            return []

    def _size(self) -> int:
        try:
            found = os.stat(self._path)
        except OSError:
            return 0
        return found.st_size if stat.S_ISREG(found.st_mode) else 0

    def _read(self) -> list[bytes]:
        found: list[bytes] = []
        with open(self._path, "rb", buffering=0) as file:
            rest = b""
            file.seek(self._at)
            while piece := file.read(PIECE):
                held = rest + piece
                whole = held.rfind(b"\n") + 1
                found += self._marked(held[:whole])
                rest = held[whole:]
                self._at += whole
        return found

    def _marked(self, text: bytes) -> list[bytes]:
        found: list[bytes] = []
        at = text.find(self._mark)
        while at >= 0:
            end = text.find(b"\n", at)
            found.append(text[text.rfind(b"\n", 0, at) + 1 : end])
            at = text.find(self._mark, end)
        return found
