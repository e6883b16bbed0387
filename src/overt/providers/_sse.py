"""Event streams as the WHATWG standard defines them, fed with bytes as they come from the socket.

Only `data` matters to the wires we speak: `event`, `id` and `retry` are understood and left aside, because we
never reconnect to a stream. The parser works on bytes throughout: line ends and the colon are ASCII, which no
multi-byte character contains, so where a chunk was cut cannot change the result, and a byte that is not UTF-8
is the decoder's business.

Nearly every real event is one line `data: {…}`. After line ends are made equal, whole events are split off at
blank lines in one step, and only an event of another shape is looked at line by line.
"""

from overt.core.errors import ProviderError

BOM = b"\xef\xbb\xbf"
MB = 1024 * 1024


class EventStream:
    """The state of one stream. `comments` counts the comment lines of events that are complete."""

    def __init__(self, *, max_event: int = 16 * MB) -> None:
        self.comments = 0
        self._max_event = max_event
        self._pieces: list[bytes] = []
        self._size = 0
        self._last = b""
        self._after_return = False
        self._start: bytes | None = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The data of every event that these bytes complete, in order."""
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
        self._pieces.append(data)
        *blocks, rest = b"".join(self._pieces).split(b"\n\n")
        self._pieces, self._size = [], 0
        if rest:
            self._keep(rest)
        else:
            self._last = b""
        return self._payloads(blocks)

    def _payloads(self, blocks: list[bytes]) -> list[bytes]:
        found: list[bytes] = []
        for block in blocks:
            if len(block) > self._max_event:
                self._refuse()
            if block.startswith(b"data: ") and b"\n" not in block:
                found.append(block[6:])
            elif (payload := self._read_lines(block)) is not None:
                found.append(payload)
        return found

    def _read_lines(self, block: bytes) -> bytes | None:
        data: list[bytes] = []
        for line in block.split(b"\n"):
            if line.startswith(b":"):
                self.comments += 1
                continue
            field, _, value = line.partition(b":")
            if field == b"data":
                data.append(value[1:] if value.startswith(b" ") else value)
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
