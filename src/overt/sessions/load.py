"""Reading a session file whatever happened to it: what is sound is kept, what is not is named.

A line is sound when its sum follows from the line before. When it does not, the numbers decide: the next
number with a wrong sum is a changed line, which is left out; a later number means that lines before it are
gone, and the line stays. After a line that is no JSON at all the chain starts afresh. A line that repeats what was
already read is left out. So one damaged line never costs more than itself.
"""

import gc
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, Literal
from zlib import crc32

from msgspec import Struct

from overt.core.errors import SessionError
from overt.core.events import Event, SessionOpened
from overt.sessions.entries import (
    READERS,
    SUM_SIZE,
    VERSION,
    Entry,
    decode_line,
    expected_sum,
    matching_sum,
    restore_envelope,
    stated_sum,
)
from overt.sessions.names import created_of, id_of

FaultKind = Literal["torn", "changed", "missing", "repeated", "newer", "header"]


class Fault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong at a line. `first` and `last` number the entries concerned, `type` and `turn` are those of a
    line that could still be read."""

    line: int
    kind: FaultKind
    text: str
    first: int = 0
    last: int = 0
    type: str = ""
    turn: int = 0


class Loaded(Struct, frozen=True, kw_only=True):
    """What a file holds. `torn` are the byte ranges that are no entries; a writer moves them aside.

    `opened` is rebuilt from the file's name when no header could be read, and `headless` says so.
    `unended` means that the last good line lacks only its line end.
    """

    entries: tuple[Entry[Event], ...]
    opened: SessionOpened
    faults: tuple[Fault, ...] = ()
    torn: tuple[tuple[int, int], ...] = ()
    good_length: int = 0
    last_sum: int = 0
    next_seq: int = 1
    headless: bool = False
    unended: bool = False

    @property
    def id(self) -> str:
        return self.opened.id

    @property
    def damage(self) -> tuple[str, ...]:
        """The faults in words."""
        return tuple(f"line {fault.line}: {fault.text}" if fault.line else fault.text for fault in self.faults)


class _Reading:
    """The state of one pass over a file. `anchors` are the sums the next line may stand on; none: any.

    `before_torn` is where the file stood at the last line that was torn, or the first of several in a row.
    """

    def __init__(self) -> None:
        self.entries: list[Entry[Event]] = []
        self.faults: list[Fault] = []
        self.torn: list[tuple[int, int]] = []
        self.anchors: tuple[int, ...] = (0,)
        self.next_seq = 1
        self.top = 0
        self.length = 0
        self.number = 0
        self.before_torn = (0, 1, 0)
        self.unended = False
        self.newer: SessionError | None = None

    def read(self, lines: Iterator[bytes]) -> None:
        while line := self._stride(lines):
            self.number += 1
            self._take(line)
        if self.newer:
            raise self.newer

    def _stride(self, lines: Iterator[bytes]) -> bytes:
        """Take lines as long as each is sound and simply comes next; gives the first that does not, empty at the end.

        This is where the time of a large file goes, so it is one loop over local names.
        """
        if not self.anchors or self.next_seq <= self.top:
            return next(lines, b"")
        entries, readers, seq, chain, length = self.entries, READERS, self.next_seq, self.anchors[0], 0
        before = len(entries)
        line = b""
        for line in lines:
            start = line.find(b'"type":"') + 8
            known = readers.get(line[start : line.find(b'"', start)])
            if known is None:
                break
            try:
                entry = known[0](line)
            except ValueError:
                break
            next_sum = crc32(line[:-SUM_SIZE], chain)
            if entry.sum != f"{next_sum:08x}" or entry.seq != seq or entry.type != known[1] or entry.v > VERSION:
                break
            entries.append(entry if entry.agent == "main" and not entry.odd else restore_envelope(entry))
            seq, chain, length = seq + 1, next_sum, length + len(line)
        else:
            line = b""
        if count := len(entries) - before:
            self.next_seq, self.anchors, self.top = seq, (chain,), seq - 1
            self.number += count
            self.length += length
            self.unended, self.newer = False, None
        return line

    def _take(self, line: bytes) -> None:
        cut = not line.endswith(b"\n")
        try:
            entry = decode_line(line)
        except SessionError as newer:
            if self.number == 1:
                raise
            self._pass_newer(newer)
        except ValueError:
            self._tear(line, cut=cut)
            return
        else:
            self.newer = None
            whole = line + b"\n" if cut else line
            next_sum = matching_sum(whole, self.anchors[0]) if self.anchors else None
            if next_sum is not None and entry.seq == self.next_seq > self.top:
                self._accept(entry, next_sum)
            else:
                self._judge(whole, entry)
        self.length += len(line)
        self.unended = cut

    def end(self) -> tuple[int, int, int]:
        """Where a writer goes on: length, number and sum after the last line that is not torn."""
        if self.torn and sum(self.torn[-1]) == self.length:
            return self.before_torn
        return self.length, self.next_seq, self.anchors[0] if self.anchors else 0

    def _accept(self, entry: Entry[Event], next_sum: int) -> None:
        self.entries.append(entry)
        self.top = entry.seq
        self.next_seq = entry.seq + 1
        self.anchors = (next_sum,)

    def _judge(self, line: bytes, entry: Entry[Event]) -> None:
        """A line that does not simply come next."""
        seq, claim = entry.seq, stated_sum(line)
        if claim is not None and seq > self.top and claim in [expected_sum(line, anchor) for anchor in self.anchors]:
            self._accept(entry, claim)
            return
        if seq <= self.top:
            self._fault("repeated", f"entry {seq} stands out of its place and was left out", entry=entry)
            return
        if not self.anchors or seq > self.next_seq:
            if seq > self.next_seq:
                self._fault("missing", f"before it {_missing(self.next_seq, seq - 1)} missing", last=seq - 1)
            self.entries.append(entry)
            self.next_seq = seq + 1
        else:
            self._fault("changed", f"entry {seq} was changed (its sum does not fit) and was left out", entry=entry)
            self.next_seq = seq + 1
        # Either the content of a line or its sum was changed: the next one stands on what was not.
        computed = [expected_sum(line, anchor) for anchor in self.anchors[:1]]
        self.anchors = () if claim is None else (claim, *computed)

    def _tear(self, line: bytes, *, cut: bool) -> None:
        what = "ends in the middle" if cut else "cannot be read"
        self._fault("torn", f"{what} and was left out ({len(line)} bytes)")
        self.before_torn = self.end()
        self.torn.append((self.length, len(line)))
        self.length += len(line)
        self.next_seq += 1
        self.anchors = ()

    def _pass_newer(self, newer: SessionError) -> None:
        """One such line among ours is a changed digit; at the end of the file it is a newer Overt."""
        self._fault("newer", f"claims a newer format than {VERSION} and was left out")
        self.newer = newer
        self.next_seq += 1
        self.anchors = ()

    def _fault(self, kind: FaultKind, text: str, *, entry: Entry[Event] | None = None, last: int = 0) -> None:
        first = entry.seq if entry else self.next_seq
        kind_of, turn = (entry.type, entry.turn) if entry else ("", 0)
        self.faults.append(
            Fault(line=self.number, kind=kind, text=text, first=first, last=last or first, type=kind_of, turn=turn)
        )


def load(path: str) -> Loaded:
    """Read a session file. Damage is told in the answer; only a file that is not ours to read raises."""
    reading = _Reading()
    collecting = gc.isenabled()
    gc.disable()  # nothing here becomes garbage, and looking for it takes longer than reading
    try:
        with open_regular(path) as file:
            reading.read(iter(file))
    except OSError as error:
        raise SessionError(
            f"The session {path} cannot be read: {error.strerror}. Check its disk and its mode."
        ) from error
    finally:
        if collecting:
            gc.enable()
    opened = next((entry.data for entry in reading.entries if isinstance(entry.data, SessionOpened)), None)
    if opened is None:
        text = "no header could be read; id and time come from the name of the file"
        reading.faults.append(Fault(line=0, kind="header", text=text))
    length, next_seq, last_sum = reading.end()
    return Loaded(
        entries=tuple(reading.entries),
        opened=opened or header_from_name(path),
        faults=tuple(reading.faults),
        torn=tuple(reading.torn),
        good_length=length,
        last_sum=last_sum,
        next_seq=next_seq,
        headless=opened is None,
        unended=reading.unended,
    )


def open_regular(path: str, *, buffering: int = 1 << 16) -> BinaryIO:
    """Open a regular file for reading. A pipe at its place is refused instead of waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise SessionError(f"There is no session {path}. `overt sessions` lists them.", code="missing") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SessionError(f"{path} is not a file, so it is not a session. `overt sessions` lists them.")
    return open(descriptor, "rb", buffering=buffering)


def header_from_name(path: str) -> SessionOpened:
    """A header made of what the name of the file says."""
    return SessionOpened(id=id_of(path), format=VERSION, overt="", workspace="", project="", created=created_of(path))


def _missing(first: int, last: int) -> str:
    return f"entry {first} is" if first == last else f"entries {first} to {last} are"
