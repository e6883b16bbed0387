"""Streamable HTTP and the older SSE: the HTTP client with its headers, limits and login."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from overt.core.settings import ServerEntry
from overt.mcp.host.pipe_streams import MAX_LINE_BYTES

CONNECT_LIMIT_S = 15.0
PLAIN = {"Accept-Encoding": "identity"}


@dataclass(slots=True)
class HttpStatus:
    """What the server's answers said about the connection. `session_lost`: it does not know our session any more."""

    session_lost: bool = False
    unauthorized: bool = False
    """The last answer wanted a login. Answers of the login server itself do not count."""

    async def note_response(self, response: httpx2.Response) -> None:
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            self.session_lost = True
        if "mcp-protocol-version" in response.request.headers or response.status_code == 401:
            self.unauthorized = response.status_code == 401
        await bound_body(response)


async def bound_body(response: httpx2.Response) -> None:
    """Limit the body of an answer before it is read. Compressed ones are refused: they could unpack to any size."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        problem = f"the answer is compressed as {encoding[:40]!r}, which was not asked for"
        response.stream = _BoundedStream(response.stream, problem)
    elif "event-stream" not in response.headers.get("content-type", ""):
        response.stream = _BoundedStream(response.stream)


def open_client(headers: dict[str, str], seconds: float) -> httpx2.AsyncClient:
    """Return a client for requests of a login, whose answers are limited as those of servers are."""
    return httpx2.AsyncClient(
        headers=headers | PLAIN, timeout=httpx2.Timeout(seconds), event_hooks={"response": [bound_body]}
    )


class _BoundedStream(httpx2.AsyncByteStream):
    """Ends the body of an answer with an error when it is longer than a line of a stdio server may be.

    With a `problem` it ends at once.
    """

    def __init__(self, inner: httpx2.SyncByteStream | httpx2.AsyncByteStream | None, problem: str = "") -> None:
        self._inner = inner
        self._problem = problem

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._problem:
            raise httpx2.StreamError(self._problem)
        size = 0
        assert isinstance(self._inner, httpx2.AsyncByteStream)
        async for chunk in self._inner:
            size += len(chunk)
            if size > MAX_LINE_BYTES:
                raise httpx2.StreamError(f"the answer is too large: at most {MAX_LINE_BYTES >> 20} MB are read")
            yield chunk

    async def aclose(self) -> None:
        assert isinstance(self._inner, httpx2.AsyncByteStream)
        await self._inner.aclose()


def has_own_authorization(headers: dict[str, str]) -> bool:
    return any(name.lower() == "authorization" for name in headers)


@asynccontextmanager
async def open_http(
    server: ServerEntry, headers: dict[str, str], auth: httpx2.Auth | None, status: HttpStatus
) -> AsyncIterator[TransportStreams]:
    def make_client(
        headers: dict[str, str] | None = headers,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = auth,
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=(headers or {}) | PLAIN,
            auth=auth,
            timeout=httpx2.Timeout(CONNECT_LIMIT_S, read=None),
            event_hooks={"response": [status.note_response]},
        )

    if server.kind == "sse":
        streams: AbstractAsyncContextManager[TransportStreams] = sse_client(
            server.url, headers=headers, auth=auth, httpx_client_factory=make_client
        )
        async with streams as pair:
            yield pair
        return
    async with (
        make_client() as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES) as pair,
    ):
        yield pair
