"""Event streams as the WHATWG standard defines them, fed with bytes as they come from the socket.

Only `data` matters to the wires we speak, and `feed` gives nothing else: names of events stand in their data too,
and `id` and `retry` are for clients that reconnect, which we never do. `read` gives all of it. The parser works on
bytes throughout: line ends and the colon are ASCII, which no multi-byte character contains, so where a chunk was
cut cannot change the result, and a byte that is not UTF-8 is the decoder's business.

Nearly every real event is one line `data: {…}`, or that after one line `event: …`. After line ends are made equal,
whole events are split off at blank lines in one step, and only an event of another shape is looked at line by line.
"""

from msgspec import Struct

from overt.core.errors import ProviderError

BOM = b"\xef\xbb\xbf"
MB = 1024 * 1024


class Event(Struct, frozen=True, kw_only=True):
    """One event in full; `id` is the last one that the stream has given, with this event or before it."""

    data: str
    name: str = "message"
    id: str = ""


class EventStream:
    """The state of one stream. `comments` counts the comment lines of events that are complete.

    `last_id` is what a client would send to go on from here, `retry` the milliseconds it was told to wait first.
    """

    def __init__(self, *, max_event: int = 16 * MB) -> None:
        self.comments = 0
        self.last_id = ""
        self._retry: int | None = None
        self._name = b""
        self._max_event = max_event
        self._pieces: list[bytes] = []
        self._size = 0
        self._last = b""
        self._after_return = False
        self._start: bytes | None = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The data of every event that these bytes complete, in order."""
        found: list[bytes] = []
        for block in self._blocks(data):
            if block.startswith(b"data: ") and b"\n" not in block:
                found.append(block[6:])
            elif block.startswith(b"event: ") and block.count(b"\n") == 1 and (at := block.find(b"\ndata: ")) > 0:
                found.append(block[at + 7 :])
            elif (payload := self._read_lines(block)) is not None:
                found.append(payload)
        return found

    def read(self, data: bytes) -> list[Event]:
        """Every event that these bytes complete, in order, with all that the standard has a client know of it."""
        found: list[Event] = []
        for block in self._blocks(data):
            payload = self._read_lines(block)
            if payload is not None:
                name = _text(self._name) or "message"
                found.append(Event(data=_text(payload), name=name, id=self.last_id))
        return found

    @property
    def retry(self) -> int | None:
        """It holds from its line on, also where the event around it never ends."""
        *lines, _ = b"".join(self._pieces).split(b"\n")
        waits = [wait for line in lines if (wait := _wait(line)) is not None]
        return waits[-1] if waits else self._retry

    def _blocks(self, data: bytes) -> list[bytes]:
        """The lines of every event that these bytes complete."""
        if self._start is not None:
            data = self._without_mark(data)
        if not data:
            return []
        data = self._with_plain_line_ends(data)
        if not data:
            return []
        if b"\n\n" not in data and not (self._last == b"\n" and data[:1] == b"\n"):
            self._keep(data)
            return []
        if self._pieces:
            data = b"".join([*self._pieces, data])
        *blocks, rest = data.split(b"\n\n")
        self._pieces, self._size = [], 0
        if rest:
            self._keep(rest)
        else:
            self._last = b""
        if len(data) > self._max_event and len(max(blocks, key=len)) > self._max_event:
            self._refuse()
        return blocks

    def _read_lines(self, block: bytes) -> bytes | None:
        data: list[bytes] = []
        self._name = b""
        for line in block.split(b"\n"):
            if line.startswith(b":"):
                self.comments += 1
                continue
            field, _, value = line.partition(b":")
            value = value[1:] if value.startswith(b" ") else value
            if field == b"data":
                data.append(value)
            elif field == b"event":
                self._name = value
            elif field == b"id" and b"\0" not in value:
                self.last_id = _text(value)
            elif (wait := _wait(line)) is not None:
                self._retry = wait
        return b"\n".join(data) if data else None

    def _keep(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        self._last = data[-1:]
        if self._size > self._max_event + 1:
            self._refuse()

    def _with_plain_line_ends(self, data: bytes) -> bytes:
        if self._after_return:
            self._after_return = False
            if data.startswith(b"\n"):
                data = data[1:]
        if b"\r" not in data:
            return data
        self._after_return = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _without_mark(self, data: bytes) -> bytes:
        start = (self._start or b"") + data
        if len(start) < len(BOM) and BOM.startswith(start):
            self._start = start
            return b""
        self._start = None
        return start.removeprefix(BOM)

    def _refuse(self) -> None:
        limit = f"{self._max_event / MB:.3g} MB"
        raise ProviderError(
            f"The server sent a single event larger than {limit}, so the reply was abandoned. "
            "If that is intended, raise `max_event` of this provider.",
            kind="too_large",
        )


def _wait(line: bytes) -> int | None:
    """The number of a `retry` line; one that is not all digits says nothing."""
    field, _, value = line.partition(b":")
    value = value[1:] if value.startswith(b" ") else value
    return int(value.lstrip(b"0")[:18] or b"0") if field == b"retry" and value.isdigit() else None


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
