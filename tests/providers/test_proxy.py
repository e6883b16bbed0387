"""Which proxy is used and for what, and requests that really go through one."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.providers.provider_kit import KEY, QUICK, ask, reply, request, run
from tests.providers.proxy_kit import FakeProxy
from tests.providers.tls_kit import Authority, needs_openssl, serving

from overt.core.errors import ConfigError, ProviderError
from overt.core.messages import Text, said
from overt.core.requests import Delta, Reply, TextDelta
from overt.core.settings import ProviderEntry, Quirks, Timeouts
from overt.core.text_fragments import USER
from overt.providers import model_choice as discovering
from overt.providers.http_provider import HttpProvider
from overt.providers.model_choice import Surroundings, ask_server
from overt.providers.transport import tls as _tls
from overt.providers.transport.address import parse_address
from overt.providers.transport.client import Client
from overt.providers.transport.proxy_route import parse_proxy, proxy_for, transport_for
from overt.providers.wires.openai import OpenAIChat

HOST = "api.example.test"
LOGIN = "name:p%40ss-w0rd-1234"


def route(url: str, environ: Mapping[str, str], proxy: str = "") -> str:
    """The proxy for a URL as it is shown; empty when it is reached straight."""
    found = proxy_for(ProviderEntry(name="v", base_url=url, proxy=proxy), parse_address(url), environ)
    return found.shown if found else ""


BOTH = {"HTTP_PROXY": "http://plain:1", "HTTPS_PROXY": "http://secure:2", "ALL_PROXY": "socks5://all:3"}
ROUTES: list[tuple[str, Mapping[str, str], str]] = [
    ("http://h/v1", {}, ""),
    ("http://h/v1", BOTH, "http://plain:1"),
    ("https://h/v1", BOTH, "http://secure:2"),
    ("https://h/v1", {"ALL_PROXY": "socks5h://all"}, "socks5h://all:1080"),
    ("https://h/v1", {"all_proxy": "socks://all:3"}, "socks5://all:3"),
    ("https://h/v1", {"HTTPS_PROXY": "http://upper:1", "https_proxy": "http://lower:1"}, "http://lower:1"),
    ("https://h/v1", {"HTTPS_PROXY": " "}, ""),
    ("https://h/v1", {"HTTPS_PROXY": "proxy.corp:3128"}, "http://proxy.corp:3128"),
    ("https://h/v1", {"HTTPS_PROXY": "https://proxy.corp"}, "https://proxy.corp:443"),
    ("https://h/v1", {"HTTPS_PROXY": "http://[fd00::1]:3128/"}, "http://[fd00::1]:3128"),
    ("http://h/v1", {"HTTP_PROXY": "http://evil:1", "REQUEST_METHOD": "GET"}, ""),
    ("http://h/v1", {"http_proxy": "http://good:1", "REQUEST_METHOD": "GET"}, "http://good:1"),
    ("http://127.0.0.1:8000/v1", BOTH, ""),
    ("http://localhost:8000/v1", BOTH, ""),
    ("http://[::1]:8000/v1", BOTH, ""),
    ("http://box.localhost/v1", BOTH, ""),
]


@pytest.mark.parametrize(("url", "environ", "shown"), ROUTES)
def test_the_environment_names_the_proxy_and_this_machine_needs_none(
    url: str, environ: Mapping[str, str], shown: str
) -> None:
    assert route(url, environ) == shown


EXCEPTIONS: list[tuple[str, str, bool]] = [
    ("*", "https://any.test/v1", True),
    ("corp.test", "https://corp.test/v1", True),
    ("corp.test", "https://api.corp.test/v1", True),
    (".corp.test", "https://api.corp.test/v1", True),
    ("*.corp.test", "https://api.corp.test/v1", True),
    ("CORP.test", "https://API.corp.TEST/v1", True),
    ("corp.test", "https://notcorp.test/v1", False),
    ("corp.test:443", "https://corp.test/v1", True),
    ("corp.test:8443", "https://corp.test/v1", False),
    ("a.test, corp.test b.test", "https://corp.test/v1", True),
    ("10.0.0.0/8", "http://10.1.2.3:8000/v1", True),
    ("10.0.0.0/8", "http://11.1.2.3:8000/v1", False),
    ("10.0.0.0/8", "https://ten.test/v1", False),
    ("fd00::/8", "http://[fd12::3]:8000/v1", True),
    ("192.168.1.5", "http://192.168.1.5:8000/v1", True),
    ("192.168.1.5:8000", "http://192.168.1.5:8000/v1", True),
    ("[fd12::3]:8000", "http://[fd12::3]:8000/v1", True),
    ("fd12::3", "http://[fd12::3]:8000/v1", True),
    ("", "https://corp.test/v1", False),
    ("not/a/range, x:y", "https://corp.test/v1", False),
]


@pytest.mark.parametrize(("listed", "url", "straight"), EXCEPTIONS)
def test_no_proxy_makes_exceptions(listed: str, url: str, straight: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        assert (route(url, {"ALL_PROXY": "http://p:1", name: listed}) == "") is straight


def test_what_an_entry_names_goes_before_the_environment() -> None:
    environ = {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "h"}
    assert route("https://h/v1", environ, "socks5://own:9") == "socks5://own:9"
    assert route("https://h/v1", {"HTTPS_PROXY": "http://p:1"}, "none") == ""


def test_a_login_is_taken_along_and_never_shown() -> None:
    proxy = parse_proxy(f"http://{LOGIN}@proxy.corp:3128", place="HTTPS_PROXY")
    assert (proxy.login, proxy.shown) == (LOGIN, "http://proxy.corp:3128")
    assert "w0rd" not in f"{proxy!r} {proxy}"


ODD = "w0rd-/#?@:%://1234"
"""A password nobody has percent-encoded, although a URL wants it."""


@pytest.mark.parametrize(
    ("url", "login", "shown"),
    [
        ("http://user:s3cr/et@proxy:3128", "user:s3cr/et", "http://proxy:3128"),
        ("http://user:a#b?c@proxy:3128/", "user:a#b?c", "http://proxy:3128"),
        ("user:secret://x@h", "user:secret://x", "http://h:80"),
        (f"socks5://user:{ODD}@[fd00::1]", f"user:{ODD}", "socks5://[fd00::1]:1080"),
    ],
)
def test_a_login_ends_at_the_last_at_whatever_it_holds(url: str, login: str, shown: str) -> None:
    proxy = parse_proxy(url, place="HTTPS_PROXY")
    assert (proxy.login, proxy.shown) == (login, shown)


CANNOT_BE = [
    "socks4://u:w0rd@h:1",
    "http://u:w0rd@",
    "http://u:w0rd@h:port",
    "ftp://u:w0rd@h",
    "http://user:w0rd",
    "http://user:w0rd/et",
    "w0rd://x@h",
    "http://u:p@h:w0rd",
    "http://u:p@h#w0rd:3128",
    "http://u:p@h?w0rd",
]


@pytest.mark.parametrize("url", CANNOT_BE)
def test_a_proxy_that_cannot_be_is_refused_without_its_login(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        route("https://h/v1", {"HTTPS_PROXY": url})
    assert caught.value.message.startswith("HTTPS_PROXY: ")
    assert "w0rd" not in caught.value.message


def test_without_a_proxy_the_library_is_not_even_chosen() -> None:
    entry = ProviderEntry(name="v", base_url="https://h/v1")
    assert type(transport_for(entry, parse_address(entry.base_url), {})) is Client


def test_a_request_without_a_proxy_loads_neither_the_library_nor_a_keyring() -> None:
    script = (
        "import sys\n"
        "from overt.core.settings import ProviderEntry\n"
        "from overt.providers.registry import make\n"
        "make(ProviderEntry(name='v', base_url='https://h/v1'), 'k', 'm', {'NO_PROXY': '*', 'ALL_PROXY': 'http://p'})\n"
        "late = {'httpx', 'httpx2', 'httpcore2', 'anyio', 'keyring', 'ipaddress'}\n"
        "late.add('overt.providers.transport.classify_error')\n"
        "print(sorted(late & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


# ── through one ──────────────────────────────────────────────────────────────────────────────────────────


def through(proxy: str, url: str = f"http://{HOST}/v1", **settings: Any) -> HttpProvider:
    entry = ProviderEntry(name="far", base_url=url, api_key_env="FAKE_API_KEY", proxy=proxy, **settings)
    return HttpProvider(entry, OpenAIChat(max_answer=entry.max_answer), key=KEY, patience=QUICK)


def failed(proxy: str, url: str = f"http://{HOST}/v1", **settings: Any) -> ProviderError:
    async def main() -> tuple[list[Delta], ProviderError | None]:
        source = through(proxy, url, **settings)
        try:
            return await ask(source)
        finally:
            source.close()

    deltas, error = run(main())
    assert error is not None, deltas
    assert KEY not in error.message and "w0rd" not in error.message
    return error


BALANCE = {"currency": "USD", "total_balance": "12.34"}


@contextmanager
def lists(respond: Callable[[str], dict[str, Any]]) -> Iterator[int]:
    """A server that answers a GET with what `respond` says of its path, in its own time; the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps(respond(self.path)).encode()
            with suppress(OSError):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join(5)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    _tls.context_for.cache_clear()
    return Authority(tmp_path)


@pytest.mark.parametrize("kind", ["http", "socks5", "socks5h"])
@pytest.mark.parametrize("login", ["", LOGIN])
def test_replies_come_whole_over_one_connection_through_a_proxy(kind: str, login: str) -> None:
    big = "0123456789abcdef" * 20_000

    async def main(proxy: str) -> list[Reply]:
        source = through(proxy)
        try:
            return [await reply(source, request(said(big, origin=USER))) for _ in range(3)]
        finally:
            source.close()

    plain = login.replace("%40", "@")
    with (
        ModelServer([Turn(text=big, chunk=500, framing="event")], after="repeat") as server,
        FakeProxy(server.port, socks=kind != "http", login=plain) as proxy,
    ):
        found = run(main(f"{kind}://{login + '@' if login else ''}127.0.0.1:{proxy.port}"))
        assert [each.parts for each in found] == [(Text(text=big),)] * 3
        assert (server.connections, len(server.posts)) == (1, 3)
        assert {post.headers["authorization"] for post in server.posts} == {f"Bearer {KEY}"}
        assert all("proxy-authorization" not in post.headers for post in server.posts) or kind == "http"
        assert proxy.asked == [f"POST http://{HOST}/v1/chat/completions" if kind == "http" else f"{HOST}:80"]


@needs_openssl
@pytest.mark.parametrize("kind", ["http", "socks5", "https"])
def test_tls_goes_through_a_tunnel_and_trusts_whom_the_entry_names(authority: Authority, kind: str) -> None:
    tls = serving(authority.pair(HOST), clients_of=authority.file)
    own = serving(authority.pair("localhost")) if kind == "https" else None
    ours = str(authority.pair("client"))

    async def main(proxy: str) -> list[Reply]:
        source = through(proxy, f"https://{HOST}/v1", ca_file=str(authority.file), client_cert=ours)
        try:
            return [await reply(source) for _ in range(2)]
        finally:
            source.close()

    with (
        ModelServer([Turn(text="safe")], after="repeat", tls=tls) as server,
        FakeProxy(server.port, socks=kind == "socks5", tls=own) as proxy,
    ):
        found = run(main(f"{kind}://localhost:{proxy.port}"))
        assert [each.parts for each in found] == [(Text(text="safe"),)] * 2
        assert server.connections == 1
        assert proxy.asked == [f"{HOST}:443" if kind == "socks5" else f"CONNECT {HOST}:443"]
        error = failed(f"{kind}://localhost:{proxy.port}", f"https://{HOST}/v1", attempts=1)
    assert "certificate is not trusted" in error.message and "`ca_file`" in error.message


@pytest.mark.parametrize("kind", ["http", "socks5"])
def test_a_password_that_nobody_encoded_reaches_the_proxy_as_it_is(kind: str) -> None:
    async def main(proxy: str) -> Reply:
        source = through(proxy)
        try:
            return await reply(source)
        finally:
            source.close()

    with (
        ModelServer([Turn(text="ok")]) as server,
        FakeProxy(server.port, socks=kind != "http", login=f"user:{ODD}") as proxy,
    ):
        assert run(main(f"{kind}://user:{ODD}@127.0.0.1:{proxy.port}")).parts == (Text(text="ok"),)


def test_a_host_that_the_library_cannot_spell_is_an_error_in_words() -> None:
    error = failed("https://u:w0rd@xn--ü:3128", attempts=1)
    assert (error.kind, error.retryable) == ("proxy", False)
    assert "https://xn--ü:3128" in error.message
    with FakeProxy(1) as proxy:
        error = failed(f"http://127.0.0.1:{proxy.port}", "http://xn--ü/v1", attempts=1)
        assert proxy.asked == []
    assert (error.kind, error.retryable) == ("down", False)
    assert "http://xn--ü" in error.message and "host name" in error.message


def test_a_proxy_that_refuses_is_named_and_not_its_login() -> None:
    with FakeProxy(1) as closed:
        gone = f"http://u:w0rd@127.0.0.1:{closed.port}"
    error = failed(gone, attempts=2)
    assert error.kind == "proxy" and "connection refused" in error.message and "Tried 2 times" in error.message
    nobody = f"{'x' * 70}.invalid"  # a name so long that no name server is even asked
    error = failed(f"http://u:w0rd@{nobody}:3128", attempts=1)
    assert error.kind == "proxy" and f"{nobody}:3128" in error.message, error.message
    assert "name" in error.message


@pytest.mark.parametrize("url", [f"http://{HOST}/v1", f"https://{HOST}/v1"])
@pytest.mark.parametrize("socks", [False, True])
def test_a_proxy_that_wants_a_login_says_so(url: str, socks: bool) -> None:
    with FakeProxy(1, socks=socks, login="a:b") as proxy:
        for login in ("", "u:w0rd@"):
            error = failed(f"{'socks5' if socks else 'http'}://{login}127.0.0.1:{proxy.port}", url)
            assert (error.kind, error.retryable) == ("proxy", False), error.message
            assert "name and a password" in error.message and "http://name:password@host:port" in error.message


ANSWERS: list[tuple[bytes, bool, bool, tuple[str, ...]]] = [
    (b"HTTP/1.1 403 Forbidden\r\n\r\n", False, False, ("does not allow api.example.test",)),
    (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", False, True, ("could not connect to api.example.test", "502")),
    (b"\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00", True, False, ("does not allow api.example.test",)),
    (b"\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00", True, True, ("could not connect", "connection refused")),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", True, False, ("does not speak SOCKS",)),
]


@pytest.mark.parametrize(("answer", "socks", "passing", "words"), ANSWERS)
def test_what_a_proxy_answers_is_put_into_words(
    answer: bytes, socks: bool, passing: bool, words: tuple[str, ...]
) -> None:
    with FakeProxy(1, socks=socks, answer=answer) as proxy:
        url = f"{'socks5' if socks else 'http'}://127.0.0.1:{proxy.port}"
        error = failed(url, f"https://{HOST}/v1", attempts=1)
    assert (error.kind, error.retryable) == ("proxy", passing), error.message
    assert [word for word in words if word not in error.message] == []


def test_a_list_that_takes_its_time_and_the_balance_come_one_after_the_other() -> None:
    """The proxy by a name (`127.1` is one to the resolver): two questions would each look it up and open a pool."""
    open_at_once = most = 0

    def respond(path: str) -> dict[str, Any]:
        nonlocal open_at_once, most
        open_at_once += 1
        most = max(most, open_at_once)
        time.sleep(1.2 if path.endswith("/models") else 0)  # longer than the transport waits for what is left over
        open_at_once -= 1
        return {"data": [{"id": "m-1"}]} if path.endswith("/models") else {"balance_infos": [BALANCE]}

    async def main(url: str) -> tuple[tuple[str, ...], str, int]:
        entry = ProviderEntry(
            name="far", base_url=f"http://{HOST}/v1", proxy=url, quirks=Quirks(balance="/user/balance")
        )
        entry, left = await ask_server(entry, Surroundings(environ={}))
        for _ in range(20):
            await asyncio.sleep(0.01)
        return entry.models, left, len(asyncio.all_tasks()) - 1

    with lists(respond) as port, FakeProxy(port) as proxy:
        found = run(main(f"http://127.1:{proxy.port}"))
    assert (found, most) == ((("m-1",), "12.34 USD", 0), 1)


def test_a_list_that_came_stays_when_the_balance_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovering, "ASKED_WITHIN", 1.0)
    over = threading.Event()

    def respond(path: str) -> dict[str, Any]:
        if not path.endswith("/models"):
            over.wait(30)
        return {"data": [{"id": "m-1"}]}

    async def main(port: int) -> tuple[tuple[str, ...], str]:
        entry = ProviderEntry(
            name="near", base_url=f"http://127.0.0.1:{port}/v1", quirks=Quirks(balance="/user/balance")
        )
        try:
            entry, left = await ask_server(entry, Surroundings(environ={}))
        finally:
            over.set()
        return entry.models, left

    with lists(respond) as port:
        assert run(main(port)) == (("m-1",), "")


def test_a_redirect_behind_a_proxy_is_not_followed_with_the_key() -> None:
    turn = Turn(fault=Fault(status=307, headers={"Location": "http://elsewhere.test/v1/chat/completions"}))
    with ModelServer([turn], after="repeat") as server, FakeProxy(server.port) as proxy:
        error = failed(f"http://127.0.0.1:{proxy.port}")
        assert (error.kind, len(server.requests)) == ("redirect", 1)


def test_waits_have_their_limits_and_a_stop_is_at_once_behind_a_proxy() -> None:
    async def stopped(proxy: str) -> list[Delta]:
        source, found = through(proxy), []
        async with aclosing(source.stream(request())) as deltas:
            async for delta in deltas:
                found.append(delta)
                if isinstance(delta, TextDelta):
                    break
        source.close()
        return found

    quick = Timeouts(connect=0.2, headers=0.2, between=0.3)
    stalling = Turn(text="half", chunk=2, fault=Fault(stall_after=2))
    with ModelServer([stalling], after="repeat") as server, FakeProxy(server.port) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        error = failed(url, timeouts=quick)
        assert (error.kind, "event" in error.message) == ("stalled", True)
        assert run(stopped(url), within=10)[-1] == TextDelta(text="ha")
    with ModelServer() as server, FakeProxy(server.port, silent=True) as proxy:
        error = failed(f"http://127.0.0.1:{proxy.port}", timeouts=quick, attempts=1)
        assert (error.kind, "headers" in error.message) == ("stalled", True)


def test_a_reply_that_is_cut_behind_a_proxy_is_cut() -> None:
    turn = Turn(text="half of it", chunk=2, fault=Fault(cut_after=3))
    with ModelServer([turn], after="repeat") as server, FakeProxy(server.port) as proxy:
        error = failed(f"http://127.0.0.1:{proxy.port}")
        assert (error.kind, len(server.posts)) == ("cut", 1)


def test_a_transport_serves_one_loop_after_another() -> None:
    with ModelServer([Turn(text="ok")], after="repeat") as server, FakeProxy(server.port) as proxy:
        source = through(f"http://127.0.0.1:{proxy.port}")

        async def main() -> Reply:
            return await reply(source)

        async def last() -> Reply:
            try:
                return await reply(source)
            finally:
                source.close()
                await asyncio.sleep(0)

        assert run(main()).parts == run(last()).parts == (Text(text="ok"),)
