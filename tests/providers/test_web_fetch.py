"""Pages are fetched from public addresses only, and from the very address that was checked."""

import asyncio
import gzip
import socket
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.providers.tls_kit import Authority, needs_openssl, serving
from tests.providers.web_kit import PUBLIC, FakeNames, PageReply, PageServer, html

from overt.core.capabilities import FetchedPage
from overt.core.errors import ToolError
from overt.lib.web_url import parse_web_url
from overt.providers.transport.address import Address
from overt.providers.transport.connection import Resolved
from overt.providers.transport.tls import Tls
from overt.providers.web import fetch_page
from overt.providers.web.addresses import explain_reserved
from overt.providers.web.fetch_page import MAX_FETCHED_BYTES, MAX_TEXT_CHARS, PageFetcher

HERE = frozenset({"site.example"})
"""The host of the good pages: opened, so that it may lie on loopback."""


def fetch(url: str, names: Mapping[str, Sequence[str]] | None = None, *, opened: frozenset[str] = HERE) -> FetchedPage:
    resolver = FakeNames({"site.example": ["127.0.0.1"], **(names or {})})
    fetcher = PageFetcher(opened=opened, resolver=resolver)
    return asyncio.run(asyncio.wait_for(fetcher.fetch(parse_web_url(url)), 20))


def refused(url: str, names: Mapping[str, Sequence[str]] | None = None) -> str:
    """Fetch a page that must be refused before anything is connected to. Return the error."""
    with pytest.raises(ToolError) as error:
        fetch(url, names, opened=frozenset())
    assert error.value.code in ("refused", "invalid"), error.value.message
    return error.value.message


FORMS = {
    "loopback": "127.0.0.1 127.8.9.10 [::1] localhost",
    "spelled in other ways": "2130706433 0x7f000001 0177.0.0.1 017700000001 127.1 0x7f.1 127.0.0.1. １２７.０.０.１ "
    "127。0。0。1 ①②⑦.⓪.⓪.① localhost. LOCALHOST ｌｏｃａｌｈｏｓｔ 3232235777 0xA9FEA9FE 025177524776",
    "this machine": "0.0.0.0 0 0.1.2.3 [::]",
    "private": "10.0.0.1 172.16.0.1 172.31.255.254 192.168.1.1",
    "link-local": "169.254.169.254 [fe80::1] [fe80::a9fe:a9fe]",
    "carrier-grade NAT": "100.64.0.1 100.127.255.254",
    "benchmarks": "198.18.0.1 198.19.255.255",
    "documentation": "192.0.2.1 198.51.100.7 203.0.113.9 [2001:db8::1] [3fff::1]",
    "reserved": "192.0.0.1 240.0.0.1 255.255.255.255 [5f00::1] [4000::1]",
    "multicast": "224.0.0.1 239.255.255.250 [ff02::1]",
    "unique local": "[fc00::1] [fd12:3456:789a::1]",
    "site-local": "[fec0::1]",
    "v4-mapped": "[::ffff:127.0.0.1] [::ffff:10.0.0.1] [::ffff:a9fe:a9fe]",
    "v4-compatible": "[::127.0.0.1]",
    "6to4": "[2002:7f00:1::] [2002:a00:1::1] 192.88.99.1",
    "NAT64": "[64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1]",
    "Teredo": "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "userinfo": "user@site.example user:pw@127.0.0.1 site.example@127.0.0.1",
    "names that lead there": "intern.example rebound.example mixed.example six.example hosts-file",
}
NAMES = {
    "intern.example": ["10.1.2.3"],
    "rebound.example": ["127.0.0.1"],
    "mixed.example": [PUBLIC, "192.168.0.10"],
    "six.example": ["2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::1"],
    "hosts-file": ["169.254.169.254"],
    "localhost": ["127.0.0.1", "::1"],
}
REFUSED = [host for hosts in FORMS.values() for host in hosts.split()]


def test_the_table_of_refused_forms_has_at_least_52() -> None:
    assert len(set(REFUSED)) >= 52


@pytest.mark.parametrize("host", REFUSED)
def test_addresses_that_are_not_public_are_refused_in_every_spelling(host: str) -> None:
    for url in (f"http://{host}/latest/meta-data/", f"https://{host}:8443/"):
        assert "hunter" not in refused(url, NAMES)


@pytest.mark.parametrize(
    "url", "ftp://site.example/ file:///etc/passwd gopher://site.example/ ws://site.example/".split()
)
def test_only_http_and_https_are_fetched(url: str) -> None:
    assert "http://" in refused(url)


@pytest.mark.parametrize("address", [PUBLIC, "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::5db8:d70e", "198.20.0.1"])
def test_public_addresses_are_public(address: str) -> None:
    assert explain_reserved(address) == ""


def test_a_refusal_names_the_host_its_address_and_the_rule_that_opens_it() -> None:
    message = refused("http://intern.example/x", NAMES)
    assert "intern.example (10.1.2.3)" in message and "webfetch(domain:intern.example)" in message


def test_the_connection_goes_to_the_address_that_was_checked_and_the_name_is_looked_up_once() -> None:
    with PageServer({"/": html("secret")}) as trap, PageServer({"/": html("public")}) as site:
        trap_place = ("127.0.0.1", trap.port)

        class Rebinding:
            """Says the checked address first and the trap from then on."""

            asked = 0

            async def __call__(self, address: Address, until: float) -> list[Resolved]:
                self.asked += 1
                return [(2, ("127.0.0.1", site.port) if self.asked == 1 else trap_place)]

        names = Rebinding()
        fetcher = PageFetcher(opened=HERE, resolver=names)
        page = asyncio.run(fetcher.fetch(parse_web_url("http://site.example/")))
        assert page.text == "public" and names.asked == 1
        assert site.requests == [("/", "site.example")] and trap.requests == []


def test_a_name_that_changes_to_a_private_address_before_a_redirect_is_refused() -> None:
    with PageServer({"/": PageReply(b"", 302, {"Location": "/next"})}) as site:

        class Changing:
            places = iter(([(2, ("127.0.0.1", site.port))], [(2, ("10.0.0.1", site.port))]))

            async def __call__(self, address: Address, until: float) -> list[Resolved]:
                return list(next(self.places))

        fetcher = PageFetcher(resolver=Changing())
        with pytest.MonkeyPatch.context() as patch, pytest.raises(ToolError) as error:
            patch.setattr(fetch_page, "explain_reserved", lambda place: "" if place == "127.0.0.1" else "it is private")
            asyncio.run(fetcher.fetch(parse_web_url("http://changing.example/")))
        assert error.value.code == "refused" and site.paths == ["/"]


def test_a_redirect_on_the_same_host_is_followed_and_one_to_another_host_is_reported() -> None:
    pages = {
        "/old": PageReply(b"", 301, {"Location": "new?x=1"}),
        "/new?x=1": html("moved"),
        "/away": PageReply(b"", 302, {"Location": "//other.example/page"}),
    }
    with PageServer(pages) as server:
        at = f"http://site.example:{server.port}"
        page, away = fetch(f"{at}/old"), fetch(f"{at}/away")
    assert (page.url, page.text, page.redirect) == (f"{at}/new?x=1", "moved", "")
    assert (away.redirect, away.status, away.text) == ("http://other.example/page", 302, "")


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{port}/in", "http://2130706433:{port}/in", "//localhost:{port}/in"]
)
def test_a_redirect_to_this_machine_is_not_followed(location: str) -> None:
    with PageServer({"/in": html("secret")}) as server:
        server.pages["/"] = PageReply(b"", 302, {"Location": location.format(port=server.port)})
        page = fetch(f"http://site.example:{server.port}/")
        assert page.text == "" and server.paths == ["/"]
        refused(page.redirect, NAMES)
        assert server.paths == ["/"]


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://me:pw@site.example/", "http://[::1", "gopher://x/"])
def test_a_redirect_to_something_else_than_a_web_page_is_refused(location: str) -> None:
    with PageServer({"/": PageReply(b"", 302, {"Location": location})}) as server, pytest.raises(ToolError):
        fetch(f"http://site.example:{server.port}/")


def test_a_page_that_redirects_in_a_circle_is_given_up() -> None:
    with PageServer({"/": PageReply(b"", 302, {"Location": "/"})}) as server:
        with pytest.raises(ToolError, match="redirects more than 5 times"):
            fetch(f"http://site.example:{server.port}/")
        assert len(server.requests) == 6


def test_an_unknown_name_a_silent_port_and_an_error_status_are_told_apart() -> None:
    with pytest.raises(ToolError, match="the host name is unknown"):
        fetch("http://nowhere.example/")
    with pytest.raises(ToolError, match="refused"):
        fetch("http://site.example:1/")
    with PageServer({}) as server, pytest.raises(ToolError, match="answered with status 404") as error:
        fetch(f"http://site.example:{server.port}/missing")
    assert error.value.code == "status"


def test_a_server_that_says_nothing_is_given_up_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_page, "FETCH_WITHIN_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ToolError) as error:
        fetch(f"http://site.example:{silent.getsockname()[1]}/")
    assert error.value.code == "timeout"


def test_a_server_that_never_comes_to_its_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_page, "FETCH_WITHIN_S", 0.2)
    endless = PageReply(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, 100, {}, repeat=10_000_000)
    with PageServer({"/": endless}) as server, pytest.raises(ToolError) as error:
        fetch(f"http://site.example:{server.port}/")
    assert error.value.code == "timeout"


@needs_openssl
def test_tls_checks_the_name_although_the_connection_goes_to_an_address(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    names = FakeNames({"site.example": ["127.0.0.1"], "other.example": ["127.0.0.1"]})
    fetcher = PageFetcher(opened=HERE | {"other.example"}, resolver=names, tls=Tls(ca_file=str(authority.file)))
    with PageServer({"/": html("over TLS")}, tls=serving(authority.pair("site.example"))) as server:
        page = asyncio.run(fetcher.fetch(parse_web_url(f"https://site.example:{server.port}/")))
        assert page.text == "over TLS" and server.requests == [("/", f"site.example:{server.port}")]
        with pytest.raises(ToolError, match="certificate was made for another host"):
            asyncio.run(fetcher.fetch(parse_web_url(f"https://other.example:{server.port}/")))


def test_of_a_page_that_ends_early_what_came_counts() -> None:
    headers = {"Content-Type": "text/plain", "Content-Length": "1000"}
    with PageServer({"/": PageReply(b"x", 200, headers)}) as server:
        page = fetch(f"http://site.example:{server.port}/")
    assert page.text == "x"


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────


def body(content: bytes, **headers: str) -> FetchedPage:
    """Fetch a body with these headers; `_` in their names stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with PageServer({"/": PageReply(content, 200, named)}) as server:
        return fetch(f"http://site.example:{server.port}/")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
def test_a_compressed_page_is_read(encoding: str) -> None:
    raw = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(b"packed"),
        "deflate": zlib.compress(b"packed"),
        "raw deflate": raw.compress(b"packed") + raw.flush(),
    }[encoding]
    page = body(packed, Content_Type="text/plain", Content_Encoding=encoding.removeprefix("raw "))
    assert page.text == "packed" and not page.truncated


def test_a_bomb_is_unpacked_to_the_limit_and_no_further() -> None:
    page = body(gzip.compress(b"a" * (200 * 1024 * 1024)), Content_Type="text/plain", Content_Encoding="gzip")
    assert page.truncated and len(page.text) == MAX_TEXT_CHARS


def test_an_endless_page_is_cut_at_ten_megabytes() -> None:
    reply = PageReply(b"b" * 65536, 200, {"Content-Type": "text/plain"}, repeat=100_000)
    with PageServer({"/": reply}) as server:
        page = fetch(f"http://site.example:{server.port}/")
    assert page.truncated and len(page.text) == MAX_TEXT_CHARS < MAX_FETCHED_BYTES


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_a_compression_that_was_not_asked_for_is_refused(encoding: str) -> None:
    with pytest.raises(ToolError, match="which was not asked for"):
        body(b"x", Content_Type="text/plain", Content_Encoding=encoding)


def test_a_damaged_compressed_body_is_an_error() -> None:
    with pytest.raises(ToolError, match="damaged"):
        body(b"\x1f\x8b" + b"no gzip at all", Content_Type="text/plain", Content_Encoding="gzip")


@pytest.mark.parametrize(
    "media", ["image/png", "application/pdf", "application/octet-stream", "video/mp4", "font/woff2"]
)
def test_what_is_not_text_is_refused_by_its_type(media: str) -> None:
    with pytest.raises(ToolError, match=f"is {media}, not text") as error:
        body(b"%PDF", Content_Type=media)
    assert error.value.code == "media"


@pytest.mark.parametrize(
    "media", ["application/json", "application/ld+json", "text/markdown", "application/atom+xml", "text/x-python"]
)
def test_text_of_other_kinds_comes_as_it_is(media: str) -> None:
    page = body(b"<a>1</a>", Content_Type=media)
    assert (page.text, page.media, page.title) == ("<a>1</a>", media, "")


def test_a_body_without_a_type_is_looked_at() -> None:
    assert body(b"<p>hello</p>").text == "hello"
    assert body(b"plain").text == "plain"
    with pytest.raises(ToolError, match="is not text"):
        body(b"\x7fELF\0\0")


@pytest.mark.parametrize(
    ("content", "media"),
    [
        ("ünïcode".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
        ("ünïcode".encode("utf-16"), "text/plain"),
        ("ünïcode".encode(), 'text/plain; charset="utf-8"'),
        (b"\xef\xbb\xbf" + "ünïcode".encode(), "text/plain; charset=latin-1"),
        ("<meta charset=windows-1252>ünïcode".encode("cp1252"), "text/html"),
        ("ünïcode".encode(), "text/plain; charset=no-such-charset"),
        ("ünïcode".encode(), "text/plain; charset=idna"),
        ("ünïcode".encode(), "text/plain; charset=zlib_codec"),
        ("ünïcode".encode(), "text/plain; charset=unicode_escape"),
        ("ünïcode".encode(), "text/plain; charset=raw-unicode-escape"),
        ("ünïcode".encode(), "text/plain; charset=utf-7"),
    ],
)
def test_the_charset_is_found_in_the_bytes_the_header_or_the_page(content: bytes, media: str) -> None:
    assert body(content, Content_Type=media).text == "ünïcode"


def test_the_request_names_the_program_and_carries_no_cookie_or_credential() -> None:
    with PageServer({"/": html("x")}) as server:
        fetch(f"http://site.example:{server.port}/")
    head = server.heads[0].lower()
    assert "user-agent: overt/" in head and "cookie" not in head and "authorization" not in head
