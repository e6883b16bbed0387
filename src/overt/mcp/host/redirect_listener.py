"""Waits on a loopback port for the browser to come back from a login page."""

import asyncio

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

PATH = "/callback"
PAGE = "<!doctype html><title>Overt</title><p>You can close this page and go back to Overt."
REQUEST_LIMIT_S = 10.0


class LoginRefused(Exception):
    """The login page came back with an error."""


class RedirectListener:
    """Listens on `port` of the loopback interface, or on a free port if it is 0 or taken and `strict` is not set."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._result: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def start(self, port: int, *, strict: bool) -> str:
        """Return the address to redirect to."""
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        except OSError:
            if strict:
                raise
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def wait(self) -> AuthorizationCodeResult:
        return await self._result

    def close(self) -> None:
        if self._server:
            self._server.close()
        self._result.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_LIMIT_S):
                request = await reader.readuntil(b"\r\n\r\n")
            target = request.split(b" ", 2)[1].decode("ascii", "replace")
            found = self._receive(httpx2.URL(f"http://127.0.0.1{target}"))
            status, page = ("200 OK", PAGE) if found else ("404 Not Found", "")
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\nConnection: close"
            writer.write(f"{head}\r\n\r\n{page}".encode())
            await writer.drain()
        except (OSError, TimeoutError, ValueError, IndexError, EOFError, asyncio.LimitOverrunError, httpx2.InvalidURL):
            pass  # not a browser that comes back; the next one may be
        finally:
            writer.close()

    def _receive(self, url: httpx2.URL) -> bool:
        """Take the result of the login from a request. Return False if it is none."""
        query = url.params
        if url.path != PATH or not ("code" in query or "error" in query):
            return False
        if not self._result.done():
            if "code" in query:
                result = AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))
                self._result.set_result(result)
            else:
                reason = query.get("error_description") or query["error"]
                self._result.set_exception(LoginRefused(reason[:200]))
        return True
