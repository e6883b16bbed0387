"""One request and its reply: from the first byte out to the last event in, with every wait bounded.

Waiting is done in slices that end at the next thing to happen: a notice, a stall, or the limit for everything.
Any byte is a sign of life; but bytes that complete no event (comments, mostly) count as one only for so long.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from overt import __version__
from overt.core.codec import decode
from overt.core.errors import ProviderError
from overt.core.protocols import Decoder, Wire
from overt.core.requests import Delta, WaitDelta
from overt.core.settings import Timeouts
from overt.lib.logs.log import LOG
from overt.providers.transport.address import Address
from overt.providers.transport.client import Exchange, Outgoing, Transport
from overt.providers.transport.errors import RequestPlace, from_event, from_status, not_api, stalled
from overt.providers.transport.retry import Patience
from overt.providers.transport.sse import BOM, EventStream

MAX_ERROR_BODY = 64 * 1024
MALFORMED_IN_A_ROW = 3
MAX_RAW_BYTES = 1_000_000
"""So much of a reply is remembered, in case it cannot be decoded."""
EVENT_FIELDS = (b"data", b"event", b"id", b"retry", b":")
DENSE, MUCH, PAUSE = 8, 4096, 0.02
"""After so many reads that brought less than so many bytes each, one close behind the other, reading pauses for so
many seconds: what has come by then costs little more than one small piece of it."""


class StreamDecoder(Decoder, Protocol):
    """`finished`: the reply is whole, only its usage may follow. `done`: nothing that follows matters."""

    @property
    def finished(self) -> bool: ...
    @property
    def done(self) -> bool: ...


class HttpWire(Wire, Protocol):
    """A wire whose requests are posted to `path` below the base URL; `headers` are its own, the key among them."""

    path: str

    def headers(self, key: str | None) -> dict[str, str]: ...

    def whole(self, body: dict[str, object]) -> bool:
        """Whether a body in plain JSON, from a server that does not stream, is a reply; `feed` takes it then."""
        ...

    def decoder(self) -> StreamDecoder: ...


class AttemptLimits(Struct, frozen=True, kw_only=True):
    """Seconds for each wait of one attempt; `first` is the one before the first event, `until` a loop time."""

    connect: float
    headers: float
    first: float
    between: float
    notice: float
    comments: float
    ending: float
    until: float


class AttemptServer(Struct, frozen=True, kw_only=True):
    """What every attempt of a request shares."""

    transport: Transport
    address: Address
    place: RequestPlace
    max_event: int


def limits_of(timeouts: Timeouts, patience: Patience, *, loopback: bool, until: float) -> AttemptLimits:
    """A server on this machine may read slowly: a limit nobody has changed is raised for it."""
    usual = Timeouts()
    slow = patience.loopback if loopback else 0.0
    return AttemptLimits(
        connect=timeouts.connect,
        headers=max(timeouts.headers, slow) if timeouts.headers == usual.headers else timeouts.headers,
        first=max(timeouts.between, slow) if timeouts.between == usual.between else timeouts.between,
        between=timeouts.between,
        notice=timeouts.notice,
        comments=patience.comments,
        ending=patience.ending,
        until=until,
    )


class RequestAttempt:
    """`heard` is set by the first event: from then on there is no other attempt. `watch` is given every event."""

    def __init__(
        self,
        server: AttemptServer,
        outgoing: Outgoing,
        *,
        wire: HttpWire,
        limits: AttemptLimits,
        watch: Callable[[bytes], None] | None = None,
    ) -> None:
        self.heard = False
        self._server = server
        self._outgoing = outgoing
        self._wire = wire
        self._decoder = wire.decoder()
        self._limits = limits
        self._watch = watch
        self._events = EventStream(max_event=server.max_event)
        self._content_type = ""
        self._form = ""
        self._start = b""
        self._json = bytearray()
        self._skipped = 0
        self._malformed = 0
        self._raw: list[bytes] = []
        self._raw_bytes = 0

    async def run(self) -> AsyncGenerator[Delta, None]:
        """Deltas as they come and the whole reply last, or a ProviderError."""
        opening = asyncio.ensure_future(self._open())
        kept = False
        try:
            await asyncio.wait({opening}, timeout=self._limits.notice)
            if not opening.done():
                yield WaitDelta(seconds=self._limits.notice)
            exchange = await opening
            await self._check(exchange)
            async with aclosing(self._read(exchange)) as deltas:
                async for delta in deltas:
                    yield delta
            reply = self._decoder.end()
            exchange.finish()
            kept = True
            yield replace(reply, skipped=self._skipped) if self._skipped else reply
        except Exception as error:
            self._save_reply(error)
            raise
        finally:
            opening.cancel()
            if not opening.done():
                await asyncio.wait({opening})
            if not kept and not opening.cancelled() and opening.exception() is None:
                opening.result().close()

    async def _open(self) -> Exchange:
        left = self._limits.until - _now()
        return await self._server.transport.send(
            self._outgoing,
            connect_within=min(self._limits.connect, left),
            answer_within=min(self._limits.headers, left),
        )

    async def _check(self, exchange: Exchange) -> None:
        """Go on only with an answer that can be the stream we asked for."""
        if not 200 <= exchange.status < 300:
            body = await read_all(exchange, _now() + min(10.0, self._limits.between), limit=MAX_ERROR_BODY)
            raise from_status(exchange.status, exchange.headers, body, place=self._server.place)
        self._content_type = exchange.headers.get("content-type", "").lower()
        encoding = exchange.headers.get("content-encoding", "identity").lower()
        if encoding not in ("identity", ""):
            raise ProviderError(
                f"{self._server.place.url} compressed its reply ({encoding}) although it was asked not to.",
                kind="not_api",
            )
        if self._content_type.startswith("text/html"):
            raise self._foreign(exchange.status)

    async def _read(self, exchange: Exchange) -> AsyncGenerator[Delta, None]:
        limits = self._limits
        life = event = _now()
        noticed = False
        dense = 0
        while True:
            between = limits.between if self.heard else limits.first
            stall = min(life + between, event + max(between, limits.comments))
            if self._decoder.finished:
                stall = min(stall, event + limits.ending)
            end = min(stall, limits.until)
            data = await exchange.read(end if noticed else min(end, event + limits.notice))
            now = _now()
            if data is None and now < end:
                noticed = True
                yield WaitDelta(seconds=limits.notice)
                continue
            if data is None and not self._decoder.finished:
                raise self._late(between, now)
            if not data:
                self._finish_json(exchange.status)
                for delta in self._decoder.take():
                    yield delta
                return
            dense = dense + 1 if now - life < 2 * PAUSE and len(data) < MUCH else 0
            life = now
            if self._raw_bytes < MAX_RAW_BYTES:
                self._raw.append(data)
            self._raw_bytes += len(data)
            problem: ProviderError | None = None
            try:
                if self._take(data, exchange.status):
                    event, noticed = now, False
            except ProviderError as error:
                problem = error  # what came before it is shown first
            for delta in self._decoder.take():
                yield delta
            if problem is not None:
                raise problem
            if self._decoder.done:
                return
            if now >= limits.until and not self._decoder.finished:
                raise self._late(between, now)  # data that is always there already would never let a read time out
            if dense > DENSE and not self._decoder.finished:
                await asyncio.sleep(PAUSE)

    def _take(self, data: bytes, status: int) -> bool:
        """Whether these bytes completed an event."""
        if not self._form:
            self._start, data = b"", self._start + data
            self._form = self._form_of(data, status)
        if not self._form:
            self._start = data
            return False
        if self._form == "json":
            self._json += data
            if len(self._json) > self._server.max_event:
                raise ProviderError(f"{self._server.place.url} sent a reply that is too large.", kind="too_large")
            return True
        payloads = self._events.feed(data)
        for payload in payloads:
            if payload and not self._decoder.done:
                self._feed(payload)
        return bool(payloads)

    def _feed(self, payload: bytes) -> None:
        self.heard = True
        if self._watch is not None:
            self._watch(payload)
        try:
            self._decoder.feed(payload)
            self._malformed = 0
        except ValueError:
            self._skipped += 1
            self._malformed += 1
            if self._malformed > MALFORMED_IN_A_ROW:
                raise ProviderError(
                    f"{self._server.place.url} sent {self._malformed} events in a row that are not JSON; "
                    "the reply was abandoned.",
                    kind="malformed",
                ) from None

    def _save_reply(self, error: Exception) -> None:
        """Save the bytes of a reply that the decoder could not read, for `overt replay --raw`."""
        if not self._raw or (isinstance(error, ProviderError) and error.kind != "malformed"):
            return
        from overt.lib.logs import raw_replies, tracebacks  # late: 7 ms

        reply = raw_replies.RawReply(
            wire=self._wire.name,
            model=self._server.place.model,
            content_type=self._content_type,
            error=tracebacks.summarize(error),
            overt=__version__,
            truncated=self._raw_bytes > MAX_RAW_BYTES,
            data=b"".join(self._raw)[:MAX_RAW_BYTES],
        )
        if path := raw_replies.save_reply(reply):
            where = f"The reply was saved: `overt replay --raw {path}` shows how it is decoded."
            error.add_note(where)
            if isinstance(error, ProviderError):
                error.message = f"{error.message} {where}"
            LOG.warning("provider", f"a reply could not be decoded: {reply.error} ({path})")

    def decode(self, blocks: Iterable[bytes], content_type: str) -> Iterator[Delta]:
        """Decode a saved reply without a connection; an error leaves where the live reply would have failed."""
        self._content_type = content_type
        for block in blocks:
            if self._decoder.done:
                break
            self._take(block, 200)
            yield from self._decoder.take()
        self._finish_json(200)
        yield from self._decoder.take()
        yield self._decoder.end()

    def _form_of(self, data: bytes, status: int) -> str:
        """Events or JSON; empty as long as it could still become either."""
        start = data.removeprefix(BOM).lstrip()
        if start.startswith(b"<"):
            raise self._foreign(status)
        if self._content_type.startswith("text/event-stream") or start.startswith(EVENT_FIELDS):
            return "events"
        if start.startswith((b"{", b"[")):
            return "json"
        if BOM.startswith(data) or any(field.startswith(start) for field in EVENT_FIELDS):
            return ""
        raise self._foreign(status)

    def _finish_json(self, status: int) -> None:
        """A server that does not stream may still have answered; anything else in JSON is not an answer."""
        if self._form != "json":
            return
        self.heard = True
        try:
            body: object = decode(self._json)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or not (body.get("error") or self._wire.whole(body)):
            raise self._foreign(status)
        if body.get("error"):
            raise from_event(body["error"])
        if self._watch is not None:
            self._watch(bytes(self._json))
        self._decoder.feed(bytes(self._json))

    def _foreign(self, status: int) -> ProviderError:
        return not_api(status, self._content_type, place=self._server.place)

    def _late(self, between: float, now: float) -> ProviderError:
        if now >= self._limits.until:
            return ProviderError(
                f"{self._server.place.url} had not finished its reply when the time for the whole request was up. "
                "Raise `timeouts.total` of this provider if replies may take longer.",
                kind="stalled",
            )
        return stalled(self._server.address, between, waiting_for="event of its reply")


async def read_all(exchange: Exchange, until: float, *, limit: int) -> bytes:
    """The body, as far as it comes in time and below the limit."""
    pieces = bytearray()
    while len(pieces) < limit:
        data = await exchange.read(until)
        if not data:
            break
        pieces += data
    return bytes(pieces)


def _now() -> float:
    return asyncio.get_running_loop().time()
