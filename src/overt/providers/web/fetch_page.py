"""Fetch one web page from a public address.

    URL → one spelling → resolve the name → check every address → connect to a checked address → body → text

The connection goes to the addresses that were checked: the name is not resolved a second time, so a name server that
changes its mind in between (DNS rebinding) gains nothing. TLS and the `Host` header still have the name. A redirect on
the same host goes through all of this again; one to another host is returned for the model to ask for, because the
permission to fetch was given for this host. Proxies of the environment are not used: they would resolve the name.
"""

import asyncio
import codecs
import re
import zlib
from collections.abc import Awaitable, Callable
from urllib.parse import urljoin

from msgspec.structs import replace

from overt import __version__
from overt.core.capabilities import FetchedPage
from overt.core.errors import ProviderError, ToolError
from overt.lib.web_url import WebUrl, parse_web_url
from overt.providers.transport.address import Address
from overt.providers.transport.client import Client, Outgoing, Response
from overt.providers.transport.connection import Resolved, resolve
from overt.providers.transport.errors import unreachable
from overt.providers.transport.tls import SYSTEM, Tls
from overt.providers.web.addresses import explain_reserved
from overt.providers.web.page_text import page_text

FETCH_WITHIN_S = 30.0
MAX_FETCHED_BYTES = 10 * 1024 * 1024
MAX_TEXT_CHARS = 100 * 1024
MAX_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
HTML = ("text/html", "application/xhtml+xml")
TEXT_MEDIA = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml)|application/(?:x-)?"
    r"(?:javascript|ecmascript|typescript|toml|sh|ndjson|jsonlines|sql|graphql|ld\+json|x?html\+xml|yaml|www-form-urlencoded)"
)
HEADERS = {
    "User-Agent": f"Overt/{__version__}",
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)
NOT_CHARSETS = frozenset("idna punycode unicode_escape raw_unicode_escape undefined utf_7 mbcs oem".split())

Resolver = Callable[[Address, float], Awaitable[list[Resolved]]]
"""Returns the addresses of a host, none if the time of the loop passes first."""


class PageFetcher:
    """Fetches pages. Hosts in `opened` may have any address: a rule of the user names them."""

    def __init__(
        self, *, opened: frozenset[str] = frozenset(), resolver: Resolver = resolve, tls: Tls = SYSTEM
    ) -> None:
        self._opened = opened
        self._resolver = resolver
        self._tls = tls

    async def fetch(self, url: WebUrl) -> FetchedPage:
        """Return the text of a page, or the `redirect` to another host. Raise a ToolError if there is neither."""
        until = asyncio.get_running_loop().time() + FETCH_WITHIN_S
        try:
            # Each wait has this deadline; a server that never pauses makes us wait for nothing, so all of it has one.
            async with asyncio.timeout_at(until + 1):
                return await self._fetch(url, until)
        except TimeoutError:
            raise _too_slow(url) from None

    async def _fetch(self, url: WebUrl, until: float) -> FetchedPage:
        for _ in range(MAX_REDIRECTS + 1):
            response, client = await self._ask(url, until)
            try:
                location = response.headers.get("location", "") if response.status in REDIRECTS else ""
                if not location:
                    return await _read_page(url, response, until)
                target = _redirect_target(url, location)
                if target.host != url.host:
                    return FetchedPage(url=url.text(), status=response.status, redirect=target.text())
                url = target
            except ProviderError as error:
                raise ToolError(error.message) from error
            finally:
                response.close()
                client.close()
        raise ToolError(f"{url.text()} redirects more than {MAX_REDIRECTS} times.")

    async def _ask(self, url: WebUrl, until: float) -> tuple[Response, Client]:
        address = Address(secure=url.secure, host=url.host, port=url.port)
        places = await self._find_places(address, until)
        client = Client(address, self._tls, places)
        within = max(until - asyncio.get_running_loop().time(), 0.1)
        try:
            outgoing = Outgoing(method="GET", target=url.target, headers=HEADERS)
            return await client.send(outgoing, connect_within=within, answer_within=within), client
        except ProviderError as error:
            raise _too_slow(url) if error.kind == "stalled" else ToolError(error.message) from error

    async def _find_places(self, address: Address, until: float) -> list[Resolved]:
        """Resolve a host and check every address. One that is not public refuses the host, whatever the others are."""
        try:
            places = await self._resolver(address, until)
        except (OSError, UnicodeError) as error:
            raise ToolError(unreachable(address, error).message) from error
        if not places:
            raise ToolError(f"The name {address.host} could not be looked up in time. Is there a network?")
        if address.host in self._opened:
            return places
        for _, place in places:
            if why := explain_reserved(str(place[0])):
                shown = address.host if address.host == place[0] else f"{address.host} ({place[0]})"
                raise ToolError(
                    f"{shown} was refused: only public addresses are fetched, and {why}. The user can open this host "
                    f"with the rule webfetch(domain:{address.host}) in their own configuration or with --allowedTools.",
                    code="refused",
                )
        return places


def _redirect_target(url: WebUrl, location: str) -> WebUrl:
    try:
        # Headers are read as latin-1, and most servers that send more than ASCII mean UTF-8.
        location = location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        pass
    try:
        joined = urljoin(url.text(), location)
    except ValueError:
        raise ToolError(f"{url.text()} redirects to something that is not a URL.") from None
    return parse_web_url(joined)


async def _read_page(url: WebUrl, response: Response, until: float) -> FetchedPage:
    if not 200 <= response.status < 300:
        raise ToolError(f"{url.text()} answered with status {response.status}.", code="status")
    media, _, parameters = response.headers.get("content-type", "").lower().partition(";")
    media = media.strip()
    if media and not TEXT_MEDIA.fullmatch(media):
        raise ToolError(f"{url.text()} is {media}, not text. webfetch reads web pages and text only.", code="media")
    body, truncated = await _read_body(url, response, until)
    if not media:
        if b"\0" in body[:1024]:
            raise ToolError(f"{url.text()} is not text, and its server does not say what it is.", code="media")
        media = "text/html" if body[:1024].lstrip()[:1] == b"<" else "text/plain"
    text = _decode(body, parameters, is_html=media in HTML)
    page = FetchedPage(url=url.text(), status=response.status, media=media, truncated=truncated)
    if media not in HTML:
        return replace(page, text=text[:MAX_TEXT_CHARS], truncated=truncated or len(text) > MAX_TEXT_CHARS)
    readable = await asyncio.to_thread(page_text, text, base=url.text(), limit=MAX_TEXT_CHARS)
    return replace(page, title=readable.title, text=readable.text, truncated=truncated or readable.truncated)


async def _read_body(url: WebUrl, response: Response, until: float) -> tuple[bytes, bool]:
    """Return at most `MAX_FETCHED_BYTES` of the decompressed body, and whether there is more."""
    unpack = _decompressor(url, response.headers.get("content-encoding", "").strip().lower())
    body, received = bytearray(), 0
    while piece := await response.read(until):
        received += len(piece)
        room = MAX_FETCHED_BYTES + 1 - len(body)
        try:
            body += unpack(piece, room)
        except zlib.error as error:
            raise ToolError(f"{url.text()} sent a compressed body that is damaged.") from error
        if max(len(body), received) > MAX_FETCHED_BYTES:
            return bytes(body[:MAX_FETCHED_BYTES]), True
    if piece is None:
        raise _too_slow(url)
    return bytes(body), False


def _decompressor(url: WebUrl, encoding: str) -> Callable[[bytes, int], bytes]:
    """Return a function that decompresses one piece to at most so many bytes: a bomb is never unpacked whole."""
    if encoding in ("", "identity"):
        return lambda piece, room: piece[:room]
    if encoding in ("gzip", "x-gzip"):
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress
    if encoding != "deflate":
        raise ToolError(f"{url.text()} is compressed as {encoding[:40]!r}, which was not asked for.")
    wrapped, raw = zlib.decompressobj(), zlib.decompressobj(-zlib.MAX_WBITS)
    chosen: list[Callable[[bytes, int], bytes]] = []

    def inflate(piece: bytes, room: int) -> bytes:
        # Some servers leave out the zlib header that the standard asks for; its first byte ends in 8.
        if not chosen:
            chosen.append((wrapped if piece[0] & 15 == 8 else raw).decompress)
        return chosen[0](piece, room)

    return inflate


def _decode(body: bytes, parameters: str, *, is_html: bool) -> str:
    """Decode by the byte order mark, the header, the page itself, or as UTF-8."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if body.startswith(mark):
            return body.decode(name, "replace")
    stated = re.search(r"charset\s*=\s*[\"']?([\w:.-]+)", parameters)
    in_page = _META_CHARSET.search(body[:2048]) if is_html and not stated else None
    return body.decode(_charset(stated[1] if stated else in_page[1].decode() if in_page else "utf-8"), "replace")


def _charset(stated: str) -> str:
    """Return the codec for a charset as browsers choose it: pages that say latin-1 mean the Windows variant of it."""
    try:
        name = codecs.lookup(stated).name
        b" ".decode(name, "replace")
    except (LookupError, ValueError):
        return "utf-8"
    return "cp1252" if name in ("iso8859-1", "ascii") else "utf-8" if name.replace("-", "_") in NOT_CHARSETS else name


def _too_slow(url: WebUrl) -> ToolError:
    return ToolError(f"{url.text()} took longer than {FETCH_WITHIN_S:g} s.", code="timeout")
