"""TLS through memory: whole replies, kept connections, trust in whom the user names, and every failure in words."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.providers.provider_kit import QUICK, failure, provider, reply, request, run
from tests.providers.tls_kit import Authority, needs_openssl, serving

from overt.core.errors import ConfigError
from overt.core.messages import Text, said
from overt.core.requests import Reply
from overt.core.settings import ProviderEntry
from overt.core.text_fragments import USER
from overt.providers.http_provider import HttpProvider
from overt.providers.transport import tls as _tls
from overt.providers.wires.openai import OpenAIChat

pytestmark = needs_openssl
BIG = "0123456789abcdef" * 60_000


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    _tls.context_for.cache_clear()
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Authority(tmp_path)


@pytest.mark.parametrize("way", ["SSL_CERT_FILE", "ca_file"])
def test_replies_arrive_whole_over_one_connection(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    settings: dict[str, Any] = {"ca_file": str(authority.file)} if way == "ca_file" else {}
    if way == "SSL_CERT_FILE":
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def main(url: str) -> list[Reply]:
        source = provider(url, **settings)
        found = [await reply(source, request(said(BIG, origin=USER))) for _ in range(3)]
        source.close()
        return found

    tls = serving(authority.pair("localhost"))
    with ModelServer([Turn(text=BIG, chunk=500)], after="repeat", tls=tls) as server:
        found = run(main(server.url))
        assert [reply.parts for reply in found] == [(Text(text=BIG),)] * 3
        assert (server.connections, len(server.posts)) == (1, 3)


def test_a_certificate_nobody_vouches_for_is_refused_at_once_with_a_remedy(authority: Authority) -> None:
    with ModelServer([Turn(text="ok")], tls=serving(authority.pair("localhost"))) as server:
        _, error = failure(server.url)
        assert (error.kind, error.retryable, server.posts) == ("down", False, [])
    assert "certificate is not trusted" in error.message
    assert "`ca_file` of this provider" in error.message and "SSL_CERT_FILE" in error.message


def test_one_provider_trusts_its_authority_and_another_does_not(authority: Authority) -> None:
    with ModelServer([Turn(text="ok")], tls=serving(authority.pair("localhost"))) as server:

        async def main() -> Reply:
            source = provider(server.url, ca_file=str(authority.file))
            try:
                return await reply(source)
            finally:
                source.close()

        assert run(main()).parts == (Text(text="ok"),)
        _, error = failure(server.url)
    assert "certificate is not trusted" in error.message


@pytest.mark.parametrize(
    ("name", "made", "words"),
    [
        ("localhost", "2020-01-01", ("certificate has expired", "clock")),
        ("localhost", "2090-01-01", ("not valid yet", "clock")),
        ("elsewhere.test", "", ("made for another host", "Check the address")),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said(
    authority: Authority, name: str, made: str, words: tuple[str, ...]
) -> None:
    with ModelServer([Turn(text="ok")], tls=serving(authority.pair(name, made=made))) as server:
        _, error = failure(server.url, ca_file=str(authority.file))
    assert (error.kind, error.retryable) == ("down", False)
    assert [word for word in words if word not in error.message] == []


def test_a_client_certificate_is_shown_to_a_server_that_wants_one(authority: Authority) -> None:
    tls = serving(authority.pair("localhost"), clients_of=authority.file)
    ours = authority.pair("client")
    settings: dict[str, Any] = {"ca_file": str(authority.file), "client_cert": str(ours)}

    async def main(url: str) -> Reply:
        source = provider(url, **settings)
        try:
            return await reply(source)
        finally:
            source.close()

    with ModelServer([Turn(text="known")], tls=tls) as server:
        assert run(main(server.url)).parts == (Text(text="known"),)
        settings = {
            "ca_file": str(authority.file),
            "client_cert": str(ours.with_suffix(".crt")),
            "client_key": str(ours.with_suffix(".key")),
        }
    with ModelServer([Turn(text="known")], tls=tls) as server:
        assert run(main(server.url)).parts == (Text(text="known"),)
        _, error = failure(server.url, ca_file=str(authority.file), attempts=1)
        assert "`client_cert`" in error.message, error.message


def test_a_file_that_is_missing_or_no_certificate_is_named(authority: Authority, tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("no certificate")

    def made(environ: dict[str, str] | None = None, **settings: str) -> HttpProvider:
        entry = ProviderEntry(name="v", base_url="https://localhost:1/v1", **settings)  # type: ignore[arg-type]
        return HttpProvider(entry, OpenAIChat(), key=None, patience=QUICK, environ=environ)

    with pytest.raises(ConfigError, match=r"provider v: ca_file: /none\.pem cannot be read"):
        made(ca_file="/none.pem")
    with pytest.raises(ConfigError, match="provider v: client_key needs client_cert"):
        made(client_key=str(rubbish))
    with pytest.raises(ConfigError, match=r"SSL_CERT_FILE: /none\.pem cannot be read"):
        made({"SSL_CERT_FILE": "/none.pem"})
    made({"HOME": str(tmp_path)}, ca_file="~/rubbish.pem")
    with ModelServer([Turn(text="ok")], tls=serving(authority.pair("localhost"))) as server:
        _, error = failure(server.url, ca_file=str(rubbish))
        assert error.kind == "tls" and f"ca_file: {rubbish} cannot be used" in error.message
        _, error = failure(server.url, client_cert=str(rubbish))
        assert error.kind == "tls" and f"client_cert: {rubbish} cannot be used" in error.message


def test_tls_to_a_server_without_it_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        _, error = failure(f"https://127.0.0.1:{listener.getsockname()[1]}/v1")
        thread.join(5)
    assert error.kind == "down" and "does not speak TLS" in error.message and "http://" in error.message


@pytest.mark.parametrize(
    "answer",
    [
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
    ],
)
def test_plain_http_to_a_server_with_tls_is_named(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        _, error = failure(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        thread.join(5)
    assert error.kind == "not_api" and "speaks TLS" in error.message and "https://" in error.message


def test_an_answer_that_comes_before_the_request_was_all_sent_is_read(authority: Authority) -> None:
    """The server refuses a large request after its first bytes and reads no further."""
    context = serving(authority.pair("localhost"))
    body = b'{"error": {"message": "request too large"}}'
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            raw, _ = listener.accept()
            with context.wrap_socket(raw, server_side=True) as connection:
                connection.recv(1000)
                connection.sendall(
                    b"HTTP/1.1 100 Continue\r\n\r\n"
                    b"HTTP/1.1 413 Too Large\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
                )
                done.wait(20)

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        wanted = request(said("x" * 30_000_000, origin=USER))
        url = f"https://localhost:{listener.getsockname()[1]}/v1"
        _, error = failure(url, wanted, ca_file=str(authority.file))
        done.set()
        thread.join(5)
    assert (error.kind, error.status) == ("overflow", 413)
