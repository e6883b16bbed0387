"""The only HTTP in the model path: one request at a time over a connection that is kept between steps.

HTTP/1.1 is spoken here directly. A library would cost start-up time, and would hand over the body chunk by
chunk as the server framed it, when one read from the socket often holds hundreds. `Transport` is the seam for
another implementation (a proxy, HTTP/2); nothing above this file knows what is below it.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from overt.core.errors import ProviderError
from overt.providers.transport.address import Address
from overt.providers.transport.connection import Pipe, Resolved, connect
from overt.providers.transport.errors import not_http, stalled, unreachable
from overt.providers.transport.framing import Framing, framing_of, persistent
from overt.providers.transport.tls import SYSTEM, Tls

MAX_HEAD = 256 * 1024
MAX_DRAIN = 16
"""Reads spent on the rest of a body before its connection is given up instead."""


class Outgoing(Struct, frozen=True, kw_only=True):
    """A request as it goes out; `target` is path and query, `body` stays in the pieces it was made of."""

    method: str
    target: str
    headers: dict[str, str]
    body: tuple[bytes, ...] = ()


class Exchange(Protocol):
    """A response whose headers have come. Names of `headers` are in small letters."""

    status: int
    headers: dict[str, str]

    async def read(self, until: float) -> bytes | None:
        """Bytes of the body, empty at its end (early or not), None when none came before `until`."""
        ...

    def finish(self) -> None:
        """The reader is satisfied: the connection may serve the next request."""
        ...

    def close(self) -> None:
        """Stop at once, whatever is still under way."""
        ...


class Transport(Protocol):
    """`resent` counts the requests that went out twice because a kept connection had died."""

    resent: int

    async def send(self, request: Outgoing, *, connect_within: float, answer_within: float) -> Exchange:
        """Seconds in both limits. A ProviderError says which one passed or why nobody answered."""
        ...

    def close(self) -> None: ...


class Client:
    """One server, one connection at most that waits for its next use.

    If `places` are given, only these addresses of the host are connected to.
    """

    def __init__(self, address: Address, tls: Tls = SYSTEM, places: Sequence[Resolved] = ()) -> None:
        self._address = address
        self._tls = tls
        self._places = places
        self._idle: Response | None = None
        self.resent = 0

    async def send(self, request: Outgoing, *, connect_within: float, answer_within: float) -> "Response":
        head = self._head(request)
        pipe = self._reusable()
        if pipe is not None:
            response = await self._ask(pipe, (head, *request.body), answer_within)
            if response is not None:
                return response
            # A kept connection may have died while it lay idle; that is nobody's failure.
            self.resent += 1
        pipe = await self._connect(connect_within)
        response = await self._ask(pipe, (head, *request.body), answer_within)
        if response is None:
            told = pipe.trouble if self._address.secure else None
            raise unreachable(self._address, told or "it closed the connection without an answer")
        return response

    def keep(self, response: "Response") -> None:
        self.close()
        self._idle = response

    def close(self) -> None:
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def _reusable(self) -> Pipe | None:
        idle, self._idle = self._idle, None
        if idle is None:
            return None
        if idle.at_rest():
            return idle.pipe
        idle.close()
        return None

    async def _connect(self, within: float) -> Pipe:
        try:
            pipe = await connect(self._address, asyncio.get_running_loop().time() + within, self._tls, self._places)
        except (OSError, UnicodeError) as error:
            raise unreachable(self._address, error) from None
        if pipe is None:
            raise stalled(self._address, within, waiting_for="connection")
        return pipe

    async def _ask(self, pipe: Pipe, message: tuple[bytes, ...], within: float) -> "Response | None":
        """The response, or None when the server closed before its first byte."""
        until = asyncio.get_running_loop().time() + within
        try:
            sent = await self._deliver(pipe, message, until)
            found = await self._read_head(pipe, until) if sent else None
        except BaseException:
            pipe.close()
            raise
        if found is None:
            pipe.close()
            raise stalled(self._address, within, waiting_for="response headers")
        if not found[0]:
            pipe.close()
            return None
        try:
            return Response(self, pipe, head=_parse_head(found[0], self._address), start=found[1])
        except ProviderError:
            pipe.close()
            raise

    async def _deliver(self, pipe: Pipe, message: tuple[bytes, ...], until: float) -> bool:
        try:
            return await pipe.send(message, until, _refuses)
        except OSError:
            return True  # the server may have answered before it stopped listening: what it said comes first

    async def _read_head(self, pipe: Pipe, until: float) -> tuple[bytes, bytes] | None:
        """Head and what followed it; an empty head when the server closed at once; None when time ran out."""
        data = b""
        searched = 0
        while True:
            end, after = _end_of_head(data, searched)
            if end >= 0:
                head, data, searched = data[:end], data[after:], 0
                if not _interim(head):
                    return head, data
                continue
            searched = max(0, len(data) - 2)
            if len(data) > MAX_HEAD or (data and not data.startswith(b"HTTP/"[: len(data)])):
                raise not_http(self._address, data)
            more = await pipe.receive(until)
            if more is None:
                return None
            if not more:
                if data:
                    raise unreachable(self._address, "it closed the connection in the middle of its headers")
                return b"", b""
            data += more

    def _head(self, request: Outgoing) -> bytes:
        lines = [f"{request.method} {request.target} HTTP/1.1", f"Host: {self._address.authority}"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        if request.body or request.method == "POST":
            lines.append(f"Content-Length: {sum(map(len, request.body))}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


class Response:
    """An Exchange over a pipe that returns to its client when the body has been read."""

    def __init__(self, client: Client, pipe: Pipe, *, head: "Head", start: bytes) -> None:
        self.status = head.status
        self.headers = head.headers
        self.pipe = pipe
        self._client = client
        self._persistent = persistent(head.version, head.headers) and not pipe.partial
        self._framing: Framing = framing_of(head.status, head.headers)
        self._start = start

    async def read(self, until: float) -> bytes | None:
        while not self._framing.done:
            if self._start:
                data, self._start = self._start, b""
            else:
                received = await self.pipe.receive(until)
                if received is None:
                    return None
                if not received:
                    self.close()
                    return b""
                data = received
            body = self._framing.feed(data)
            if body:
                return body
        return b""

    def finish(self) -> None:
        if self._persistent:
            self._client.keep(self)
        else:
            self.close()

    def close(self) -> None:
        self.pipe.close()

    def at_rest(self) -> bool:
        """Whether the body has ended just where it should, and the server still listens."""
        data = self._start or self.pipe.poll()
        try:
            for _ in range(MAX_DRAIN):
                if not data or self._framing.done:
                    break
                self._framing.feed(data)
                data = self.pipe.poll()
        except ProviderError:
            return False
        return data is None and self._framing.clean


class Head(Struct, frozen=True, kw_only=True):
    version: str
    status: int
    headers: dict[str, str]


def _end_of_head(data: bytes, start: int) -> tuple[int, int]:
    """Where the head ends and the body begins: at the first empty line, also where lines end with a bare LF."""
    bare, full = data.find(b"\n\n", start), data.find(b"\n\r\n", start)
    if full >= 0 and (bare < 0 or full < bare):
        return full, full + 3
    return bare, bare + 2


def _interim(head: bytes) -> bool:
    """Whether the real answer is still to come; 101 is one, of a kind nobody asked for."""
    _, _, code = head[:12].partition(b" ")
    return code.startswith(b"1") and code != b"101"


def _refuses(said: bytes) -> bool:
    """Whether an answer that comes before the request was all sent makes the rest of it pointless."""
    while _interim(said):
        end, after = _end_of_head(said, 0)
        if end < 0:
            return False
        said = said[after:]
    return len(said) >= 12 and not said[:12].partition(b" ")[2].startswith(b"2")


def _parse_head(head: bytes, address: Address) -> Head:
    first, *lines = head.decode("latin-1").split("\n")
    version, _, rest = first.partition(" ")
    code = rest[:3]
    if not (version.startswith("HTTP/") and code.isascii() and code.isdigit()):
        raise not_http(address, head)
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1] in (" ", "\t") and name:
            headers[name] = f"{headers[name]} {line.strip()}".strip()
            continue
        name, colon, value = line.partition(":")
        name, value = name.strip().lower() if colon else "", value.strip()
        if name:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(version=version, status=int(code), headers=headers)
