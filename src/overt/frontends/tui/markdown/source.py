"""The text that is not drawn yet: its whole lines, and the line that is being written."""

from collections.abc import Iterator
from itertools import islice

from overt.frontends.tui.markdown.block_boundaries import may_end

WINDOW = 4000
"""Characters read at once; more only when one block is longer."""
TABLE_ROWS = 200
MAX_DROPPED = 2000


class PendingText:
    """`kind` is that of the unfinished block at its head, once it was read; `version` changes with the text."""

    def __init__(self) -> None:
        self.kind = ""
        self.version = 0
        self._lines: list[str] = []
        self._at = 0
        self._part: list[str] = []
        self._return = False
        self._seen = 0
        self._size = 0
        self._read = 0
        self._maybe = False

    def feed(self, text: str) -> None:
        if not text:
            return
        self.version += 1
        if self._return:
            text, self._return = "\r" + text, False
        if "\r" in text:
            if text.endswith("\r"):
                text, self._return = text[:-1], True
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        first, *others = text.split("\n")
        self._part.append(first)
        if others:
            added = [self.part, *others[:-1]]
            self._lines += added
            self._size += sum(map(len, added)) + len(added)
            self._part = [others[-1]]

    @property
    def part(self) -> str:
        if len(self._part) > 1:
            self._part = ["".join(self._part)]
        return self._part[0] if self._part else ""

    def close(self) -> None:
        """There will be no more: the last line is whole."""
        if self.part:
            self.feed("\n")

    def __len__(self) -> int:
        return len(self._lines) - self._at

    def lines(self) -> Iterator[str]:
        return islice(self._lines, self._at, None)

    def drop(self, count: int) -> None:
        self.version += 1
        self._size -= sum(map(len, islice(self._lines, self._at, self._at + count))) + count
        self._at += count
        if self._at > MAX_DROPPED or not len(self):
            del self._lines[: self._at]
            self._at = 0
        self.kind, self._seen, self._read, self._maybe = "", self._at, 0, False

    def put_back(self, lines: list[str]) -> None:
        self._size += sum(map(len, lines)) + len(lines)
        self._lines[self._at : self._at] = lines

    def skip_blank(self) -> bool:
        """Drops the blank lines at the head; whether there were any."""
        count = 0
        for line in self.lines():
            if line.strip():
                break
            count += 1
        if count:
            self.drop(count)
        return count > 0

    def window(self, size: int) -> tuple[list[str], bool]:
        """The first lines, and whether these are all.

        The first try ends where code may begin, for what follows would be read again behind it.
        """
        taken = 0
        for count, line in enumerate(self.lines(), 1):
            taken += len(line) + 1
            if taken >= size or (size == WINDOW and line.lstrip().startswith(("```", "~~~"))):
                return self._lines[self._at : self._at + count], count == len(self)
        return self._lines[self._at :], True

    def read_as(self, kind: str) -> None:
        """All lines were read and make one unfinished block."""
        self.kind, self._seen, self._read, self._maybe = kind, len(self._lines), self._size, False

    def worth_reading(self) -> bool:
        """Whether a new line may have ended the block; a long block is read again only when it grew by half."""
        self._maybe = (
            self._maybe
            or any(may_end(self.kind, line) for line in islice(self._lines, self._seen, None))
            or (self.kind == "table" and len(self) > TABLE_ROWS + 2)
        )
        self._seen = len(self._lines)
        return self._maybe and (self._size <= WINDOW or self._size * 2 >= self._read * 3)

    def last(self, size: int) -> list[str]:
        """The end of the text; of a table also its head, for without it the rest is none."""
        part = self.part[-size:]
        if len(part) < len(self.part):
            return [part.partition(" ")[2] or part]
        kept = [part]
        taken = len(part)
        count = len(self._lines)
        while count > self._at and taken < size:
            count -= 1
            taken += len(self._lines[count]) + 1
            kept.append(self._lines[count][-size:])
        head = self._lines[self._at : min(count, self._at + 2)] if self.kind == "table" else []
        return [*head, *reversed(kept)]
