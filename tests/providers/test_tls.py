"""TLS through memory: whole replies, kept connections, and no trust in a certificate nobody vouches for."""

import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.providers.provider_kit import failure, provider, reply, request, run

from overt.core.fragments import USER
from overt.core.messages import Text, said
from overt.core.requests import Reply
from overt.providers import _pipe

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="no openssl to make a certificate with")


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_pipe, "_contexts", [])
    made = tmp_path / "pair.pem"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([OPENSSL or "openssl", "req", *options, *names, *files], check=True, capture_output=True, timeout=30)
    made.write_text((tmp_path / "key.pem").read_text() + (tmp_path / "cert.pem").read_text())
    return made


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_replies_arrive_whole_over_one_connection(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    big = "0123456789abcdef" * 60_000

    async def main(url: str) -> list[Reply]:
        source = provider(url)
        found = [await reply(source, request(said(big, origin=USER))) for _ in range(3)]
        source.close()
        return found

    with ModelServer([Turn(text=big, chunk=500)], after="repeat", tls=server_context(certificate)) as server:
        found = run(main(server.url))
        assert [reply.parts for reply in found] == [(Text(text=big),)] * 3
        assert (server.connections, len(server.posts)) == (1, 3)


def test_a_certificate_nobody_vouches_for_is_refused_at_once(certificate: Path) -> None:
    with ModelServer([Turn(text="ok")], tls=server_context(certificate)) as server:
        _, error = failure(server.url)
        assert (error.kind, error.retryable, server.posts) == ("down", False, [])
    assert "certificate is not trusted" in error.message


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
    assert error.kind == "down" and "TLS failed" in error.message
