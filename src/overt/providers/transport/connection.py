"""Bytes to and from one server, on the event loop itself: no thread, no library, every wait has a deadline.

A wait is a future that the loop settles when the socket is ready or the deadline passes; the bytes are taken
only afterwards. So neither a deadline nor a cancellation can lose data, a cancelled wait ends at once, and an
idle pipe belongs to no loop and can serve the next one.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from os import strerror
from threading import Thread
from typing import Protocol, TypeVar

from overt.providers.transport.address import Address, is_loopback
from overt.providers.transport.tls import SYSTEM, Tls, context_for

T = TypeVar("T")
READ = 64 * 1024
AT_ONCE = 256
"""Pieces handed to the kernel in one call; it takes at most 1024."""

Resolved = tuple[int, tuple[object, ...]]
"""A family of addresses and an address of it, as `connect` takes it."""


Heed = Callable[[bytes], bool]
"""Given all that the other side has said while we were still sending: whether to stop sending."""

ELSEWHERE = (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""What an address of a family says that this machine does not use: nothing about the server."""


class Pipe(Protocol):
    """`partial`: sending was stopped half-way. `trouble`: why reading ended, if nobody wished it to."""

    @property
    def partial(self) -> bool: ...

    @property
    def trouble(self) -> OSError | None: ...

    async def receive(self, until: float) -> bytes | None:
        """What has come, empty when the other side has closed, None when nothing came before `until`."""
        ...

    def poll(self) -> bytes | None:
        """What is here now; None when nothing is."""
        ...

    async def send(self, pieces: Sequence[bytes], until: float, heed: Heed | None = None) -> bool:
        """Whether they went out before `until`, or `heed` stopped them. OSError when the other side has closed."""
        ...

    def close(self) -> None: ...


class PlainPipe:
    """A connected TCP socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.partial = False
        self.trouble: OSError | None = None
        self._sock = sock
        self._early = b""

    async def receive(self, until: float) -> bytes | None:
        data = self.poll()
        if data is not None:
            await asyncio.sleep(0)  # a server that never pauses must not keep the loop to itself
            return data
        while await _ready(self._sock, until, reading=True):
            data = self.poll()
            if data is not None:
                return data
        return None

    def poll(self) -> bytes | None:
        if self._early:
            data, self._early = self._early, b""
            return data
        try:
            return self._sock.recv(READ)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            self.trouble = error
            return b""

    async def send(self, pieces: Sequence[bytes], until: float, heed: Heed | None = None) -> bool:
        left = [memoryview(piece) for piece in pieces if piece]
        while left:
            try:
                sent = self._sock.sendmsg(left[:AT_ONCE])
            except (BlockingIOError, InterruptedError):
                ready = await _ready(self._sock, until, reading=heed is not None, writing=True)
                if not ready:
                    return False
                if heed is not None and ready == READABLE and self._stopped(heed):
                    self.partial = True
                    return True
                continue
            while left and sent >= len(left[0]):
                sent -= len(left.pop(0))
            if sent:
                left[0] = left[0][sent:]
        return True

    def _stopped(self, heed: Heed) -> bool:
        """A server may answer before it has read everything, and read no further."""
        before, self._early = self._early, b""
        data = self.poll()
        if data == b"":
            self._early = before
            raise ConnectionResetError(errno.ECONNRESET, "the server closed the connection")
        self._early = before + (data or b"")
        return bool(data) and heed(self._early)

    def close(self) -> None:
        self._sock.close()

    def __del__(self) -> None:
        self._sock.close()


class SecurePipe:
    """The same with TLS on top, spoken through memory so that the waits stay ours."""

    def __init__(self, raw: PlainPipe, host: str, tls: Tls = SYSTEM) -> None:
        self.trouble: OSError | None = None
        self._raw = raw
        self._early = b""
        self._want, self._closed = ssl.SSLWantReadError, (ssl.SSLZeroReturnError, ssl.SSLEOFError)
        self._inward, self._outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context_for(tls).wrap_bio(self._inward, self._outward, server_hostname=host)

    @property
    def partial(self) -> bool:
        return self._raw.partial

    async def shake_hands(self, until: float) -> bool:
        """Whether the two sides agreed before `until`. OSError says why they could not."""
        while True:
            try:
                self._tls.do_handshake()
            except self._want:
                if not await self._raw.send((self._outward.read(),), until):
                    return False
                data = await self._raw.receive(until)
                if data is None:
                    return False
                if not data:
                    words = "the server closed the connection while TLS was being set up"
                    raise ConnectionResetError(errno.ECONNRESET, words) from None
                self._inward.write(data)
                continue
            return await self._raw.send((self._outward.read(),), until)

    async def receive(self, until: float) -> bytes | None:
        while True:
            clear = self._read()
            if clear is not None:
                return clear
            data = await self._raw.receive(until)
            if data is None:
                return None
            self._take(data)

    def poll(self) -> bytes | None:
        while True:
            clear = self._read()
            if clear is not None:
                return clear
            data = self._raw.poll()
            if data is None:
                return None
            self._take(data)

    async def send(self, pieces: Sequence[bytes], until: float, heed: Heed | None = None) -> bool:
        for piece in filter(None, pieces):
            self._tls.write(piece)

        def stopped(_: bytes) -> bool:
            while data := self._raw.poll():
                self._take(data)
            clear = self._decrypted()
            self._early += clear or b""
            return clear == b"" or (clear is not None and heed is not None and heed(self._early))

        return await self._raw.send((self._outward.read(),), until, stopped if heed else None)

    def close(self) -> None:
        self._raw.close()

    def _take(self, data: bytes) -> None:
        if data:
            self._inward.write(data)
        else:
            self._inward.write_eof()

    def _read(self) -> bytes | None:
        if self._early:
            data, self._early = self._early, b""
            return data
        return self._decrypted()

    def _decrypted(self) -> bytes | None:
        try:
            data: bytes = self._tls.read(READ)
        except self._want:
            return None
        except self._closed:
            return b""
        except OSError as error:
            self.trouble = error
            return b""
        return data


async def connect(address: Address, until: float, tls: Tls = SYSTEM, places: Sequence[Resolved] = ()) -> Pipe | None:
    """A pipe to the first address of the host that answers; None when time ran out; OSError when all refuse.

    If `places` are given, only they are tried, and the name is not looked up again.
    """
    loop = asyncio.get_running_loop()
    places = places or await resolve(address, until)
    failure: OSError | None = None
    for left, place in zip(range(len(places), 0, -1), places, strict=True):
        # A silent first address (IPv6 without a route, mostly) must leave time for the others.
        share = loop.time() + (until - loop.time()) / left
        try:
            sock = await _open(place, share)
        except OSError as error:
            failure = error if failure is None or failure.errno in ELSEWHERE else failure
            continue
        if sock is None:
            continue
        return await _dress(sock, address, until, tls)
    if loop.time() >= until:
        return None
    raise failure or OSError(f"{address.host} has no address")


async def _dress(sock: socket.socket, address: Address, until: float, tls: Tls) -> Pipe | None:
    raw = PlainPipe(sock)
    if not address.secure:
        return raw
    shaken = False
    try:
        pipe = SecurePipe(raw, address.host, tls)
        shaken = await pipe.shake_hands(until)
    finally:
        if not shaken:
            raw.close()
    return pipe if shaken else None


async def _open(place: Resolved, until: float) -> socket.socket | None:
    family, target = place
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = sock.connect_ex(target)
        if code in (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR):
            if not await _ready(sock, until, writing=True):
                sock.close()
                return None
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, strerror(code))
    except BaseException:
        sock.close()
        raise
    return sock


NOTHING, READABLE, WRITABLE = 0, 1, 2


async def _ready(sock: socket.socket, until: float, *, reading: bool = False, writing: bool = False) -> int:
    """What the socket was first ready for; NOTHING when the time was over before."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()
    number = sock.fileno()  # asyncio asks a socket for its whole description at every call
    if writing:
        loop.add_writer(number, _settle, future, WRITABLE)
    if reading:
        loop.add_reader(number, _settle, future, READABLE)
    timer = loop.call_at(until, _settle, future, NOTHING)
    try:
        return await future
    finally:
        timer.cancel()
        if writing:
            loop.remove_writer(number)
        if reading:
            loop.remove_reader(number)


def _settle(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


async def resolve(address: Address, until: float) -> list[Resolved]:
    """Where a host may be found, none when the time is over first; OSError when nobody knows it."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, address.host)
        except OSError:
            continue
        return [(family, (address.host, address.port))]
    if is_loopback(address.host):
        # This name means this machine, whatever a name server says: none is asked.
        return [(socket.AF_INET, ("127.0.0.1", address.port)), (socket.AF_INET6, ("::1", address.port))]
    return await _look_up(address, until)


async def _look_up(address: Address, until: float) -> list[Resolved]:
    """Ask the resolver in a thread that nobody waits for: it cannot be interrupted, but it can be forgotten."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[Resolved] | OSError] = loop.create_future()
    name = address.host.encode("ascii" if address.host.isascii() else "idna")

    def ask() -> None:
        found: list[Resolved] | OSError
        try:
            # As bytes: a str would load the idna codec first.
            answer = socket.getaddrinfo(name, address.port, type=socket.SOCK_STREAM)
            found = [(family, place) for family, _, _, _, place in answer]
        except OSError as error:
            found = error
        try:
            loop.call_soon_threadsafe(_settle, future, found)
        except RuntimeError:
            pass  # the loop has closed: nobody wants the answer any more

    nothing: list[Resolved] = []
    timer = loop.call_at(until, _settle, future, nothing)
    try:
        Thread(target=ask, name="resolve", daemon=True).start()
        found = await future
    finally:
        timer.cancel()
    if isinstance(found, OSError):
        raise found
    return found
