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
        if "event-stream" not in response.headers.get("content-type", ""):
            response.stream = _BoundedStream(response.stream)


class _BoundedStream(httpx2.AsyncByteStream):
    """Ends the body of an answer with an error when it is longer than a line of a stdio server may be."""

    def __init__(self, inner: httpx2.SyncByteStream | httpx2.AsyncByteStream | None) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
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
            headers=headers,
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
