"""Event streams as the WHATWG standard defines them, fed with bytes as they come from the socket.

Only `data` is read: the wires we speak repeat the names of events in their data, and `id` and `retry` are for
clients that reconnect, which we never do. The parser works on bytes throughout: line ends and the colon are ASCII,
which no multi-byte character contains, so where a chunk was cut cannot change the result, and a byte that is not
UTF-8 is the decoder's business.

Nearly every real event is one line `data: {…}`, or that after one line `event: …`. After line ends are made equal,
whole events are split off at blank lines in one step, and only an event of another shape is looked at line by line.
"""

from overt.core.errors import ProviderError

BOM = b"\xef\xbb\xbf"
MB = 1024 * 1024


class EventStream:
    """The state of one stream."""

    def __init__(self, *, max_event: int = 16 * MB) -> None:
        self._max_event = max_event
        self._pieces: list[bytes] = []
        self._size = 0
        self._last = b""
        self._after_return = False
        self._start: bytes | None = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The data of every event that these bytes complete, in order."""
        payloads: list[bytes] = []
        for block in self._blocks(data):
            if block.startswith(b"data: ") and b"\n" not in block:
                payloads.append(block[6:])
            elif block.startswith(b"event: ") and block.count(b"\n") == 1 and (at := block.find(b"\ndata: ")) > 0:
                payloads.append(block[at + 7 :])
            elif (payload := _data_lines(block)) is not None:
                payloads.append(payload)
        return payloads

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


def _data_lines(block: bytes) -> bytes | None:
    """The data of one event, or None if it has no line of data."""
    fields = (line.partition(b":") for line in block.split(b"\n"))
    data = [value[1:] if value.startswith(b" ") else value for field, _, value in fields if field == b"data"]
    return b"\n".join(data) if data else None
