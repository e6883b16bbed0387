"""One large file over HTTPS: redirects lead to the vendor's own hosts only, and what came is never fetched twice."""

import asyncio
import os
from collections.abc import Callable

from overt import __version__
from overt.core.errors import ConfigError, ProviderError
from overt.providers.transport.address import Address, parse_address
from overt.providers.transport.client import Client, Exchange, Outgoing, Transport

HOSTS = ("huggingface.co", "hf.co")
"""Redirects may lead to these and to what is below them, beside the host that was asked first."""
REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 5
PATIENCE, STALL = 10.0, 60.0
TRIES = 5
"""Failures in a row, none of which brought a byte, before a download that had begun is given up."""

Report = Callable[[int], None]
"""Bytes that are there."""
Connect = Callable[[Address], Transport]


class Download:
    """`path` grows until it holds `size` bytes; an interrupted one goes on where it stopped."""

    def __init__(self, url: str, path: str, *, size: int, report: Report, connect: Connect = Client) -> None:
        self._first = parse_address(url, place="the address of the weights")
        self._path = path
        self._size = size
        self._report = report
        self._connect = connect

    async def run(self) -> None:
        """The file is there in full, as far as its length can tell; or a ProviderError that says why not."""
        failures, had = 0, self._have()
        while self._have() < self._size:
            try:
                await self._go_on()
            except ProviderError as error:
                failures = 0 if self._have() > had else failures + 1
                if failures >= self._tries(error) or not error.retryable:
                    raise
                had = self._have()
                await asyncio.sleep(2.0**failures / 2)

    def _tries(self, error: ProviderError) -> int:
        """A server that answers may be busy for a moment; without an answer there is another source to try."""
        if self._have():
            return TRIES
        return 2 if error.status else 0

    def _have(self) -> int:
        try:
            return os.stat(self._path).st_size
        except FileNotFoundError:
            return 0

    async def _go_on(self) -> None:
        transport, exchange = await self._opened(self._have())
        try:
            with open(self._path, "ab") as file:  # noqa: ASYNC230 - the loop has nothing else to do
                if exchange.status == 200:
                    file.truncate(0)  # the server sends everything again
                have = file.tell() if exchange.status == 206 else 0
                while data := await self._next(exchange):
                    have += len(data)
                    if have > self._size:
                        os.unlink(self._path)
                        raise ProviderError(f"{self._first.host} sent more than the {self._size} bytes of the weights.")
                    file.write(data)
                    self._report(have)
        finally:
            exchange.close()
            transport.close()
        if have < self._size:
            raise ProviderError(f"{self._first.host} stopped after {have} of {self._size} bytes.", retryable=True)

    async def _next(self, exchange: Exchange) -> bytes:
        data = await exchange.read(asyncio.get_running_loop().time() + STALL)
        if data is None:
            raise ProviderError(f"{self._first.host} sent nothing for {STALL:.0f} s.", kind="stalled", retryable=True)
        return data

    async def _opened(self, have: int) -> tuple[Transport, Exchange]:
        """The answer that carries the bytes from `have` on."""
        address = self._first
        for _ in range(MOST_REDIRECTS):
            transport = self._connect(address)
            headers = {"User-Agent": f"overt/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"}
            if have:
                headers["Range"] = f"bytes={have}-"
            wrong = ""
            outgoing = Outgoing(method="GET", target=address.target(""), headers=headers)
            exchange = await transport.send(outgoing, connect_within=PATIENCE, answer_within=STALL)
            if exchange.status in (200, 206) and not (wrong := self._wrong(exchange, have)):
                return transport, exchange
            exchange.close()
            transport.close()
            if exchange.status not in REDIRECTS:
                raise self._refusal(address, exchange, wrong)
            address = self._redirected(address, exchange.headers.get("location", ""))
        raise ProviderError(f"{self._first.host} redirected more than {MOST_REDIRECTS} times.")

    def _wrong(self, exchange: Exchange, have: int) -> str:
        """Why these bytes cannot be those of the weights; a network that wants a login answers everything itself."""
        kind, told = exchange.headers.get("content-type", "").partition(";")[0].strip(), ""
        if exchange.status == 200:
            told = exchange.headers.get("content-length", "")
        else:
            begin, _, total = exchange.headers.get("content-range", "").lower().partition("/")
            if not begin.startswith(f"bytes {have}-"):
                return "another part than the one asked for"
            told = total.replace("*", "")
        if told == str(self._size) or (not told and kind != "text/html"):
            return ""
        length = f" of {told} bytes" if told else ""
        return f"a file{length} ({kind or 'of no known type'}) instead of one of {self._size} bytes"

    def _refusal(self, address: Address, exchange: Exchange, wrong: str) -> ProviderError:
        if wrong:
            advice = "If this network wants you to log in, do that first. What had come before is kept."
            return ProviderError(f"{address.host} sent {wrong}. {advice}")
        status = exchange.status
        if status == 416 and self._have():
            os.unlink(self._path)  # there is nothing to go on from
        busy = status in (416, 429) or status >= 500
        return ProviderError(f"{address.host} answered with status {status}.", retryable=busy, status=status)

    def _redirected(self, address: Address, location: str) -> Address:
        scheme = "https" if address.secure else "http"
        absolute = location if "://" in location else f"{scheme}://{address.authority}/{location.lstrip('/')}"
        try:
            found = parse_address(absolute)
        except ConfigError:
            raise ProviderError(f"{address.host} redirected to what is no address.") from None
        ours = found.host == self._first.host or any(_below(found.host, host) for host in HOSTS)
        if not ours or (self._first.secure and not found.secure):
            raise ProviderError(f"{address.host} redirected to {found.host}, which is not one of its own hosts.")
        return found


def _below(host: str, above: str) -> bool:
    return host == above or host.endswith(f".{above}")
