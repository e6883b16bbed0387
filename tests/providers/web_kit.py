"""A web server on loopback that plays pages, and name servers that say that public names lead to it."""

import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from overt.providers.transport.address import Address
from overt.providers.transport.connection import Resolved

PUBLIC = "93.184.215.14"


class PageReply(NamedTuple):
    """What the server answers to one path."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {"Content-Type": "text/html; charset=utf-8"}
    repeat: int = 1
    """How often the body is sent."""


class PageServer:
    """Answers each GET with the page of its path. `requests` are the paths and hosts that were asked for."""

    def __init__(
        self,
        pages: Mapping[str, PageReply],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.pages = dict(pages)
        self._tls = tls
        self.requests: list[tuple[str, str]] = []
        self.heads: list[str] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                try:
                    self._serve(self._tls.wrap_socket(connection, server_side=True) if self._tls else connection)
                except OSError:
                    pass  # the reader had enough

    def _serve(self, connection: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return
            data += more
        head = data.decode("latin-1")
        path = head.split(" ")[1]
        host = next(line[6:] for line in head.split("\r\n") if line.lower().startswith("host: "))
        self.requests.append((path, host))
        self.heads.append(head)
        page = self.pages.get(path, PageReply(b"nothing here", 404, {"Content-Type": "text/plain"}))
        lines = [f"HTTP/1.1 {page.status} X", *(f"{name}: {value}" for name, value in page.headers.items())]
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"))
        for _ in range(page.repeat):
            connection.sendall(page.body)
        if isinstance(connection, ssl.SSLSocket):
            connection.close()


class FakeNames:
    """A resolver under the control of a test. `asked` are the names that were looked up."""

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self.asked: list[str] = []
        self._answers = {name: list(addresses) for name, addresses in answers.items()}

    async def __call__(self, address: Address, until: float) -> list[Resolved]:
        self.asked.append(address.host)
        if is_address(address.host):
            return [_place(address.host, address.port)]
        if address.host not in self._answers:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [_place(each, address.port) for each in self._answers[address.host]]


def is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def _place(address: str, port: int) -> Resolved:
    return (socket.AF_INET6 if ":" in address else socket.AF_INET, (address, port))


def html(body: str, *, title: str = "A page") -> PageReply:
    return PageReply(f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>".encode())
