"""The transport for networks that are left through a proxy: httpx2 speaks to it, behind the same seam as our own.

Only its transport is used, not its client: nothing follows a redirect, keeps a cookie or reads the environment.
A reply belongs to a task that relays it, so that a deadline loses no bytes and stopping means cancelling that task.
The pool belongs to a task as well: to close it takes awaiting, and whoever lets go of a transport cannot wait.
"""

import asyncio
import ssl
from os import strerror
from socket import AF_INET
from typing import Any, Protocol
from urllib.parse import unquote

import httpx2
from msgspec.structs import replace
from socksio.exceptions import SOCKSError

from overt.core.errors import ProviderError
from overt.providers.transport.address import Address, Proxy
from overt.providers.transport.client import Outgoing
from overt.providers.transport.connection import resolve
from overt.providers.transport.errors import not_http, stalled, unreachable
from overt.providers.transport.tls import Tls, context_for

WAITING = 8
"""Pieces of a reply that may lie here unread before the server is made to wait."""
DRAIN = 1.0
"""Seconds for the rest of a body that nobody wants any more, before its connection is given up."""


LOST = (httpx2.TransportError, httpx2.StreamError, SOCKSError, OSError)


class Stream(Protocol):
    """A connection as the library's trace hands it over."""

    async def aclose(self) -> None: ...


class Proxied:
    """One server behind one proxy, one reply at a time."""

    def __init__(self, address: Address, proxy: Proxy, tls: Tls) -> None:
        self.resent = 0
        self._address = address
        self._proxy = proxy
        self._tls = tls
        self._owner: asyncio.Task[None] | None = None
        self._pool: httpx2.AsyncHTTPTransport | None = None
        self._last: Relayed | None = None

    async def send(self, request: Outgoing, *, connect_within: float, answer_within: float) -> "Relayed":
        if self._last is not None:
            await self._last.over()
        pool = await self._opened(connect_within)
        try:
            question = _request(self._address, request, connect_within)
        except httpx2.InvalidURL as error:
            raise unreachable(self._address, UnicodeError(str(error))) from None
        reply = Relayed(pool, question)
        self._last = reply
        try:
            problem = await reply.begun(connect_within + answer_within)
        except BaseException:
            reply.close()
            raise
        if problem is not None:
            self.close()
            raise self._told(problem, connect_within)
        if not reply.status:
            reply.close()
            raise stalled(self._address, answer_within, waiting_for="response headers")
        return reply

    def close(self) -> None:
        if self._last is not None:
            self._last.close()
        if self._owner is not None:
            self._owner.cancel()
        self._owner = self._pool = self._last = None

    async def _opened(self, within: float) -> httpx2.AsyncHTTPTransport:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._owner is None or self._owner.done() or self._owner.get_loop() is not loop:
            found = await self._found(loop.time() + within, within)
            try:
                self._pool = _pool(found, self._tls)
            except httpx2.InvalidURL:
                raise self._proxy_failed("no host can have this name", "Check it for a slip.") from None
            self._owner = loop.create_task(_hold(self._pool))
        return self._pool

    async def _found(self, until: float, within: float) -> Proxy:
        """The proxy by its number: the library would wait for a resolver that hangs, even when it is told to stop.

        TLS to the proxy itself needs its name, so there the library has to look it up.
        """
        if self._proxy.scheme == "https":
            return self._proxy
        place = Address(secure=False, host=self._proxy.host, port=self._proxy.port)
        try:
            known = await resolve(place, until)
        except (OSError, UnicodeError) as error:
            raise self._unmet(error) from None
        if not known:
            raise self._proxy_failed(f"its name was not found within {within:g} s", "Is there a network?", passing=True)
        _, target = min(known, key=lambda each: each[0] != AF_INET)
        return replace(self._proxy, host=target[0])

    def _told(self, problem: Exception, connect_within: float) -> ProviderError:
        """Whose failure it was decides whom to name: until TLS is spoken, only the proxy has been met."""
        cause = _cause(problem)
        if isinstance(problem, httpx2.ConnectTimeout):
            words = f"no connection within {connect_within:g} s"
            return self._proxy_failed(words, "Is it running?", passing=True)
        if isinstance(cause, ssl.SSLError) and self._proxy.scheme != "https":
            return unreachable(self._address, cause)
        if isinstance(problem, httpx2.ProxyError):
            return self._refused(str(problem))
        if isinstance(problem, httpx2.ConnectError | OSError) and cause is not None:
            return self._unmet(cause)
        if isinstance(problem, SOCKSError | httpx2.ConnectError):
            return self._proxy_failed("it does not speak SOCKS as it should", "Check its address and kind.")
        if isinstance(problem, httpx2.RemoteProtocolError) and "disconnected" not in str(problem):
            return not_http(self._address)
        return unreachable(self._address, "the connection was closed without an answer")

    def _unmet(self, cause: OSError | UnicodeError) -> ProviderError:
        if isinstance(cause, ConnectionError) and cause.errno:
            cause = OSError(cause.errno, strerror(cause.errno))  # asyncio puts words of its own into it
        from overt.providers.transport import connection_errors as unreached  # late: 0.7 ms

        why = unreached.explain_failure(cause)
        return self._proxy_failed(why.text, why.advice or "Is it running?", passing=why.passing)

    def _refused(self, said: str) -> ProviderError:
        """What it answered to CONNECT, as in `407 Proxy Authentication Required`, or through SOCKS."""
        from overt.providers.transport import connection_errors as unreached  # late: 0.7 ms

        login: str = unreached.PROXY_LOGIN
        if said.startswith("407") or "USERNAME" in said.upper() or "NO ACCEPTABLE" in said.upper():
            return self._proxy_failed("it wants a name and a password, or other ones", login)
        if said.startswith("403") or "ruleset" in said:
            return self._proxy_failed(f"it does not allow {self._address.authority}", "Ask whoever runs it.")
        passing = said[:1] == "5" or said.startswith("Proxy Server could not connect")
        text = f"it could not connect to {self._address.authority} ({said.rstrip('.').lower()})"
        return self._proxy_failed(text, "Check the address of the server, and the proxy.", passing=passing)

    def _proxy_failed(self, text: str, advice: str, *, passing: bool = False) -> ProviderError:
        words = f"The proxy {self._proxy.shown} ({self._proxy.origin}) is in the way: {text}. {advice}"
        return ProviderError(words, kind="proxy", retryable=passing)


class Relayed:
    """An Exchange whose body a task brings, piece by piece."""

    def __init__(self, pool: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._begun: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(WAITING)
        self._unwanted = False
        self._ended = False
        self._task = asyncio.get_running_loop().create_task(self._relay(pool, request))

    async def begun(self, within: float) -> Exception | None:
        """What stands in the way of a reply, or None: its headers have come, or the time is over."""
        await asyncio.wait((self._begun,), timeout=within)
        return self._begun.result() if self._begun.done() else None

    async def over(self) -> None:
        """Until the connection is free for another request, which takes a moment at most."""
        if not self._task.done():
            await asyncio.wait((self._task,), timeout=DRAIN)

    async def read(self, until: float) -> bytes | None:
        if self._ended:
            return b""
        try:
            async with asyncio.timeout_at(until):
                found = [await self._pieces.get()]
        except TimeoutError:
            return None
        while found[-1] and not self._pieces.empty():
            found.append(self._pieces.get_nowait())
        self._ended = not found[-1]
        return b"".join(found)

    def finish(self) -> None:
        self._unwanted = True
        while not self._pieces.empty():
            self._pieces.get_nowait()
        asyncio.get_running_loop().call_later(DRAIN, self._task.cancel)

    def close(self) -> None:
        self._task.cancel()

    async def _relay(self, pool: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> None:
        response = await self._ask(pool, request)
        if response is None:
            return
        try:
            self.status = response.status_code
            self.headers = {name.lower(): value for name, value in response.headers.items()}
            self._begun.set_result(None)
            async for piece in response.aiter_raw():
                if piece and not self._unwanted:
                    await self._pieces.put(piece)
        except LOST:
            pass  # a body that ends early ends: the wire knows whether it was whole
        finally:
            await response.aclose()
        if not self._unwanted:
            await self._pieces.put(b"")

    async def _ask(self, pool: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response | None:
        streams: list[Stream] = []

        async def trace(name: str, info: dict[str, Any]) -> None:
            if name.endswith((".connect_tcp.complete", ".start_tls.complete")):
                streams.append(info["return_value"])

        request.extensions["trace"] = trace
        answered = False
        try:
            response = await pool.handle_async_request(request)
            answered = True
            return response
        except LOST as error:
            self._begun.set_result(error)
        except AssertionError as error:
            self._begun.set_result(SOCKSError(str(error)))  # how the library meets a server that is no SOCKS proxy
        finally:
            if not answered:
                for stream in streams:
                    await stream.aclose()  # the library forgets the connection when a proxy refuses
        return None


async def _hold(pool: httpx2.AsyncHTTPTransport) -> None:
    async with pool:
        await asyncio.get_running_loop().create_future()


def _pool(proxy: Proxy, tls: Tls) -> httpx2.AsyncHTTPTransport:
    name, _, password = proxy.login.partition(":")
    login = (unquote(name), unquote(password)) if proxy.login else None
    context = context_for(tls)
    behind = context if proxy.scheme == "https" else None
    return httpx2.AsyncHTTPTransport(
        verify=context,
        trust_env=False,
        proxy=httpx2.Proxy(proxy.shown, ssl_context=behind, auth=login),
        limits=httpx2.Limits(max_connections=4, max_keepalive_connections=1, keepalive_expiry=300.0),
    )


def _request(address: Address, request: Outgoing, connect_within: float) -> httpx2.Request:
    scheme = "https" if address.secure else "http"
    return httpx2.Request(
        request.method,
        f"{scheme}://{address.authority}{request.target}",
        headers=request.headers,
        content=b"".join(request.body) if request.body else None,
        extensions={"timeout": {"connect": connect_within}},
    )


def _cause(problem: BaseException) -> OSError | None:
    """The error of the socket or of TLS that the library has wrapped, the innermost one."""
    found: OSError | None = None
    seen: BaseException | None = problem
    while seen is not None:
        if isinstance(seen, OSError):
            found = seen
        inner: tuple[BaseException, ...] = getattr(seen, "exceptions", ())
        seen = inner[0] if inner else seen.__cause__ or seen.__context__
    return found
