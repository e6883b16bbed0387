"""Bodies end where HTTP says they end, whatever the size of the reads."""

import asyncio
import socket
import threading
from collections.abc import Sequence

import pytest
from tests.providers.provider_kit import run

from overt.core.errors import ProviderError
from overt.providers.transport.address import Address
from overt.providers.transport.client import Client, Outgoing
from overt.providers.transport.framing import Chunked, Sized, UntilClosed, framing_of, persistent

BODY = b"5\r\nhello\r\n1;ext=1\r\n \r\n0a\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_chunks_are_joined_in_any_cut(size: int) -> None:
    framing = Chunked()
    found = b"".join(framing.feed(BODY[at : at + size]) for at in range(0, len(BODY), size))
    assert (found, framing.done, framing.clean) == (b"hello 0123456789", True, True)


def test_chunk_data_that_looks_like_a_line_end_stays_data() -> None:
    framing = Chunked()
    assert framing.feed(b"4\r\n\r\n\r\n\r\n0\r\n\r\n") == b"\r\n\r\n"
    assert framing.done


def test_bytes_behind_the_end_make_the_connection_unusable() -> None:
    framing = Chunked()
    framing.feed(BODY + b"HTTP/1.1 200 OK")
    assert (framing.done, framing.clean) == (True, False)


@pytest.mark.parametrize(
    "body",
    [
        b"xyz\r\n",
        b"-5\r\n",
        b"+5\r\n",
        b"0x5\r\n",
        b"1_0\r\n",
        b"5 5\r\n",
        b";ext\r\n",
        b"3\r\nabcdef\r\n",
        b"3\r\nabc\n",
        b"\r\n",
        b"ffffffffffffffffffff\r\n",
        b"fffffffffffffff\r\n",
        "٣\r\n".encode(),
        b"1" * 70_000,
        b"0\r\n" + b"X: y\r\n" * 20_000,
    ],
    ids=lambda body: repr(body[:20]),
)
def test_a_chunk_without_a_valid_size_is_an_error(body: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        framing = Chunked()
        framing.feed(body)
        framing.feed(b"abc\r\n")
    assert caught.value.kind == "cut"


def test_a_length_ends_a_body_and_nothing_else_does_without_one() -> None:
    sized = framing_of(200, {"content-length": "3"})
    assert (sized.feed(b"ab"), sized.done, sized.feed(b"cd"), sized.done, sized.clean) == (
        b"ab",
        False,
        b"c",
        True,
        False,
    )
    open_ended = framing_of(200, {})
    assert (open_ended.feed(b"abc"), open_ended.done) == (b"abc", False)
    assert framing_of(204, {}).done


GOOD: list[tuple[int, dict[str, str], type]] = [
    (200, {"transfer-encoding": "chunked"}, Chunked),
    (200, {"transfer-encoding": "Chunked "}, Chunked),
    (200, {"transfer-encoding": "identity, chunked"}, Chunked),
    (200, {"transfer-encoding": "chunked", "content-length": "5"}, Chunked),
    (200, {"transfer-encoding": "identity", "content-length": "5"}, Sized),
    (200, {"content-length": "5, 5"}, Sized),
    (200, {}, UntilClosed),
    (204, {"content-length": "5"}, Sized),
    (304, {"transfer-encoding": "chunked"}, Sized),
]


@pytest.mark.parametrize(("status", "headers", "kind"), GOOD)
def test_how_a_body_ends_is_told_by_status_and_headers(status: int, headers: dict[str, str], kind: type) -> None:
    found = framing_of(status, headers)
    assert (type(found), found.done) == (kind, status in (204, 304))


@pytest.mark.parametrize(
    "headers",
    [
        {"transfer-encoding": "gzip, chunked"},
        {"transfer-encoding": "chunked, gzip"},
        {"transfer-encoding": "chunked, chunked"},
        {"content-length": "5, 6"},
        {"content-length": "-1"},
        {"content-length": "five"},
        {"content-length": ""},
        {"content-length": "99999999999999999999999"},
    ],
)
def test_a_body_whose_end_cannot_be_told_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ProviderError) as caught:
        framing_of(200, headers)
    assert (caught.value.kind, caught.value.retryable) == ("not_api", False)


def test_a_connection_is_kept_only_where_nothing_speaks_against_it() -> None:
    assert persistent("HTTP/1.1", {})
    assert persistent("HTTP/1.1", {"connection": "keep-alive, x-closed"})
    assert not persistent("HTTP/1.1", {"connection": "Keep-Alive, Close"})
    assert not persistent("HTTP/1.0", {})
    assert not persistent("HTTP/1.1", {"content-length": "1", "transfer-encoding": "chunked"})


# ── over a real connection ───────────────────────────────────────────────────────────────────────────────


class RawServer:
    """Answers each request with the next bytes, one at a time; an answer of None closes the connection."""

    def __init__(self, answers: Sequence[bytes | None], *, pieces: int = 0) -> None:
        self.connections = 0
        self._answers = list(answers)
        self._pieces = pieces
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "RawServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._thread.join(5)

    @property
    def address(self) -> Address:
        return Address(secure=False, host="127.0.0.1", port=self._listener.getsockname()[1])

    def _serve(self) -> None:
        while self._answers:
            connection, _ = self._listener.accept()
            self.connections += 1
            with connection:
                connection.settimeout(20)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while self._answers and connection.recv(65536):
                    answer = self._answers.pop(0)
                    if answer is None:
                        break
                    size = self._pieces or len(answer)
                    for at in range(0, len(answer), size):
                        connection.sendall(answer[at : at + size])


Got = tuple[int, dict[str, str], bytes]


def get(server: RawServer, times: int = 1) -> list[Got]:
    async def main() -> list[Got]:
        client, found = Client(server.address), []
        try:
            for _ in range(times):
                request = Outgoing(method="GET", target="/", headers={})
                exchange = await client.send(request, connect_within=5, answer_within=5)
                body = b""
                while data := await exchange.read(asyncio.get_running_loop().time() + 5):
                    body += data
                found.append((exchange.status, exchange.headers, body))
                exchange.finish()
        finally:
            client.close()
        return found

    return run(main())


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HEADS: dict[str, tuple[bytes, Got]] = {
    "lines that end with a bare LF": (
        b"HTTP/1.1 200 OK\nContent-Length: 2\nX: y\n\nok",
        (200, {"content-length": "2", "x": "y"}, b"ok"),
    ),
    "line ends of both kinds": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\nX: y\n\r\nok",
        (200, {"content-length": "2", "x": "y"}, b"ok"),
    ),
    "a value that goes on in the next line": (
        b"HTTP/1.1 200 OK\r\nX: one\r\n  two\r\n\tthree\r\nContent-Length:2\r\n\r\nok",
        (200, {"x": "one two three", "content-length": "2"}, b"ok"),
    ),
    "names in any case, twice, and a line that is no header": (
        b"HTTP/1.1 200 OK\r\nX-A: 1\r\nnonsense\r\nx-a : 2\r\nCONTENT-LENGTH: 2\r\n\r\nok",
        (200, {"x-a": "1, 2", "content-length": "2"}, b"ok"),
    ),
    "answers on the way to the real one": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
        (200, {"content-length": "2"}, b"ok"),
    ),
    "no reason after the status": (
        b"HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n",
        (404, {"content-length": "0"}, b""),
    ),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", (204, {}, b"")),
    "both a length and chunks": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nT: 1\r\n\r\n",
        (200, {"content-length": "99", "transfer-encoding": "chunked"}, b"ok"),
    ),
}


@pytest.mark.parametrize("pieces", [0, 1])
@pytest.mark.parametrize("name", HEADS)
def test_heads_are_read_as_servers_write_them(name: str, pieces: int) -> None:
    answer, expected = HEADS[name]
    with RawServer([answer], pieces=pieces) as server:
        assert get(server) == [expected]


def test_an_old_server_ends_its_body_by_closing() -> None:
    with RawServer([b"HTTP/1.0 200 OK\r\n\r\nall of it"]) as server:
        assert get(server) == [(200, {}, b"all of it")]


@pytest.mark.parametrize(
    ("first", "connections"),
    [
        (OK, 1),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x-a, Close\r\n\r\nok", 2),
        (HEADS["both a length and chunks"][0], 2),
        (OK + b"stray", 2),
    ],
)
def test_a_connection_that_may_be_kept_is_and_no_other(first: bytes, connections: int) -> None:
    with RawServer([first, OK]) as server:
        assert [body for _, _, body in get(server, 2)] == [b"ok", b"ok"]
        assert server.connections == connections


def test_a_kept_connection_that_the_server_closes_instead_of_answering_is_replaced() -> None:
    with RawServer([OK, None, OK]) as server:
        assert [body for _, _, body in get(server, 2)] == [b"ok", b"ok"]
        assert server.connections == 2


@pytest.mark.parametrize("head", [b"HTTP/1.1 abc\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n", b"\r\n\r\n", b"HTTP/1.1\r\n\r\n"])
def test_what_is_not_http_is_said_to_be_none(head: bytes) -> None:
    with RawServer([head]) as server, pytest.raises(ProviderError) as caught:
        get(server)
    assert caught.value.kind == "not_api"


def test_a_protocol_nobody_asked_for_is_an_answer() -> None:
    with RawServer([b"HTTP/1.1 101 Switching Protocols\r\n\r\n"]) as server:
        assert [status for status, _, _ in get(server)] == [101]


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_an_answer_before_the_request_was_all_sent_ends_the_sending(start: bytes) -> None:
    """The server reads a little, refuses, and keeps the connection open without reading on."""
    refusal = start + b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            first, _ = listener.accept()
            with first:
                first.recv(1000)
                first.sendall(refusal)
                second, _ = listener.accept()
                with second:
                    second.recv(1000)
                    second.sendall(OK)
                    over.wait(20)

        async def main() -> tuple[int, bytes | None, int]:
            client = Client(Address(secure=False, host="127.0.0.1", port=listener.getsockname()[1]))
            large = Outgoing(method="POST", target="/", headers={}, body=(b"x" * 30_000_000,))
            exchange = await client.send(large, connect_within=5, answer_within=15)
            body = await exchange.read(asyncio.get_running_loop().time() + 5)
            exchange.finish()
            small = Outgoing(method="GET", target="/", headers={})
            again = await client.send(small, connect_within=5, answer_within=5)
            again.close()
            return exchange.status, body, again.status

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            assert run(main()) == (413, b"no", 200), "and what was half sent is never continued"
        finally:
            over.set()
            thread.join(5)
