"""Reading a session file whatever happened to it: what is sound is kept, what is not is named.

A line is sound when its sum follows from the line before. When it does not, the numbers decide: the next
number with a wrong sum is a changed line, which is left out; a later number means that lines before it are
gone, and the line stays. After a line that is no JSON at all the chain starts afresh. A line that repeats what was
already read is left out. So one damaged line never costs more than itself.
"""

import gc
import os
import stat
from collections.abc import Iterable
from typing import BinaryIO

from msgspec import Struct

from overt.core.errors import SessionError
from overt.core.events import Event, SessionOpened
from overt.sessions.entries import VERSION, Entry, chained, decode_line, follows, stated
from overt.sessions.names import created_of, id_of


class Loaded(Struct, frozen=True, kw_only=True):
    """What a file holds. `torn` are the byte ranges that are no entries; a writer moves them aside.

    `opened` is rebuilt from the file's name when no header could be read, and `headless` says so.
    `unended` means that the last good line lacks only its line end.
    """

    entries: tuple[Entry[Event], ...]
    opened: SessionOpened
    damage: tuple[str, ...] = ()
    torn: tuple[tuple[int, int], ...] = ()
    good_length: int = 0
    last_sum: int = 0
    next_seq: int = 1
    headless: bool = False
    unended: bool = False

    @property
    def id(self) -> str:
        return self.opened.id


class _Reading:
    """The state of one pass over a file. `anchors` are the sums the next line may stand on; none: any.

    `before_torn` is where the file stood at the last line that was torn, or the first of several in a row.
    """

    def __init__(self) -> None:
        self.entries: list[Entry[Event]] = []
        self.damage: list[str] = []
        self.torn: list[tuple[int, int]] = []
        self.anchors: tuple[int, ...] = (0,)
        self.next_seq = 1
        self.top = 0
        self.length = 0
        self.before_torn = (0, 1, 0)
        self.unended = False
        self.newer: SessionError | None = None

    def read(self, lines: Iterable[bytes]) -> None:
        for number, line in enumerate(lines, 1):
            cut = not line.endswith(b"\n")
            try:
                entry = decode_line(line)
            except SessionError as newer:
                if number == 1:
                    raise
                self._pass_newer(number, newer)
            except ValueError:
                self._tear(number, line, cut=cut)
                continue
            else:
                self.newer = None
                whole = line + b"\n" if cut else line
                found = follows(whole, self.anchors[0]) if self.anchors else None
                if found is not None and entry.seq == self.next_seq > self.top:
                    self._accept(entry, found)
                else:
                    self._judge(number, whole, entry)
            self.length += len(line)
            self.unended = cut
        if self.newer:
            raise self.newer

    def end(self) -> tuple[int, int, int]:
        """Where a writer goes on: length, number and sum after the last line that is not torn."""
        if self.torn and sum(self.torn[-1]) == self.length:
            return self.before_torn
        return self.length, self.next_seq, self.anchors[0] if self.anchors else 0

    def _accept(self, entry: Entry[Event], found: int) -> None:
        self.entries.append(entry)
        self.top = entry.seq
        self.next_seq = entry.seq + 1
        self.anchors = (found,)

    def _judge(self, number: int, line: bytes, entry: Entry[Event]) -> None:
        """A line that does not simply come next."""
        seq, claim = entry.seq, stated(line)
        if claim is not None and seq > self.top and claim in [chained(line, anchor) for anchor in self.anchors]:
            self._accept(entry, claim)
            return
        if seq <= self.top:
            self.damage.append(f"line {number}: entry {seq} stands out of its place and was left out")
            return
        if not self.anchors or seq > self.next_seq:
            if seq > self.next_seq:
                self.damage.append(f"line {number}: before it {_missing(self.next_seq, seq - 1)} missing")
            self.entries.append(entry)
            self.next_seq = seq + 1
        else:
            self.damage.append(f"line {number}: entry {seq} was changed (its sum does not fit) and was left out")
            self.next_seq = seq + 1
        # Either the content of a line or its sum was changed: the next one stands on what was not.
        computed = [chained(line, anchor) for anchor in self.anchors[:1]]
        self.anchors = () if claim is None else (claim, *computed)

    def _tear(self, number: int, line: bytes, *, cut: bool) -> None:
        what = "ends in the middle" if cut else "cannot be read"
        self.damage.append(f"line {number}: {what} and was left out ({len(line)} bytes)")
        self.before_torn = self.end()
        self.torn.append((self.length, len(line)))
        self.length += len(line)
        self.next_seq += 1
        self.anchors = ()

    def _pass_newer(self, number: int, newer: SessionError) -> None:
        """One such line among ours is a changed digit; at the end of the file it is a newer Overt."""
        self.damage.append(f"line {number}: claims a newer format than {VERSION} and was left out")
        self.newer = newer
        self.next_seq += 1
        self.anchors = ()


def load(path: str) -> Loaded:
    """Read a session file. Damage is told in the answer; only a file that is not ours to read raises."""
    reading = _Reading()
    collecting = gc.isenabled()
    gc.disable()  # nothing here becomes garbage, and looking for it takes longer than reading
    try:
        with open_regular(path) as file:
            reading.read(file)
    except OSError as error:
        raise SessionError(
            f"The session {path} cannot be read: {error.strerror}. Check its disk and its mode."
        ) from error
    finally:
        if collecting:
            gc.enable()
    opened = next((entry.data for entry in reading.entries if isinstance(entry.data, SessionOpened)), None)
    if opened is None:
        reading.damage.append("no header could be read; id and time come from the name of the file")
    length, next_seq, last_sum = reading.end()
    return Loaded(
        entries=tuple(reading.entries),
        opened=opened or rebuilt(path),
        damage=tuple(reading.damage),
        torn=tuple(reading.torn),
        good_length=length,
        last_sum=last_sum,
        next_seq=next_seq,
        headless=opened is None,
        unended=reading.unended,
    )


def open_regular(path: str, *, buffering: int = 1 << 16) -> BinaryIO:
    """Open for reading, never waiting on a pipe somebody put there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise SessionError(f"There is no session {path}. `overt sessions` lists them.", code="missing") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SessionError(f"{path} is not a file, so it is not a session. `overt sessions` lists them.")
    return open(descriptor, "rb", buffering=buffering)


def rebuilt(path: str) -> SessionOpened:
    """A header made of what the name of the file says."""
    return SessionOpened(id=id_of(path), format=VERSION, overt="", workspace="", project="", created=created_of(path))


def _missing(first: int, last: int) -> str:
    return f"entry {first} is" if first == last else f"entries {first} to {last} are"
