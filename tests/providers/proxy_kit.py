"""A proxy on loopback that is one: CONNECT, absolute URLs, SOCKS 5. Whatever host is asked for, one port is reached."""

import base64
import contextlib
import socket
import ssl
import struct
import threading
from typing import Any, Self


class FakeProxy:
    """`asked` holds what each connection asked for; `login` is `name:password` when one is demanded.

    `answer` replaces what follows a request to connect; `silent` lets it hang instead.
    """

    def __init__(
        self,
        port: int,
        *,
        socks: bool = False,
        login: str = "",
        answer: bytes = b"",
        silent: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.asked: list[str] = []
        self._port = port
        self._socks = socks
        self._login = login
        self._answer = answer
        self._silent = silent
        self._tls = tls
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()

    @property
    def port(self) -> int:
        found: int = self._listener.getsockname()[1]
        return found

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._spawn(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(5)

    def _spawn(self, target: Any, *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            first = self._greet_socks(connection) if self._socks else self._greet_http(connection)
            if first is not None:
                self._join(connection, first)
        connection.close()

    def _greet_http(self, connection: socket.socket) -> bytes | None:
        head = b""
        while b"\r\n\r\n" not in head:
            more = connection.recv(65536)
            if not more:
                return None
            head += more
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        self.asked.append(f"{method} {target}")
        if self._silent:
            self._stopping.wait()
            return None
        expected = b"proxy-authorization: basic " + base64.b64encode(self._login.encode()).lower()
        if self._login and expected not in head.lower():
            connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return None
        if self._answer:
            connection.sendall(self._answer)
            return None
        if method != "CONNECT":
            return head
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return b""

    def _greet_socks(self, connection: socket.socket) -> bytes | None:
        version, count = _exactly(connection, 2)
        methods = _exactly(connection, count)
        wanted = 2 if self._login else 0
        if version != 5 or wanted not in methods:
            connection.sendall(b"\x05\xff")
            return None
        connection.sendall(bytes((5, wanted)))
        if self._login:
            _, length = _exactly(connection, 2)
            name = _exactly(connection, length).decode()
            password = _exactly(connection, _exactly(connection, 1)[0]).decode()
            right = f"{name}:{password}" == self._login
            connection.sendall(bytes((1, 0 if right else 1)))
            if not right:
                return None
        _, _, _, kind = _exactly(connection, 4)
        host = _exactly(connection, _exactly(connection, 1)[0]).decode() if kind == 3 else f"address of kind {kind}"
        (port,) = struct.unpack("!H", _exactly(connection, 2))
        self.asked.append(f"{host}:{port}")
        connection.sendall(self._answer or b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
        return None if self._answer else b""

    def _join(self, connection: socket.socket, first: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            self._open.append(server)
            server.sendall(first)
            self._spawn(_copy, server, connection)
            _copy(connection, server)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # closing alone would not wake the thread that reads from it


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError, ValueError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ValueError("closed")
        data += more
    return data
