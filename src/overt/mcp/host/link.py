"""The socket to Overt: commands come in, with descriptors of server processes beside them, and reports go out."""

import asyncio
import os
import socket
from collections import deque
from collections.abc import AsyncIterator

from msgspec import DecodeError, json

from overt.mcp.messages import HostCommand, HostReport, Logged

READ_BYTES = 256 * 1024
MAX_DESCRIPTORS = 16
MAX_LOG_CHARACTERS = 500
_decoder = json.Decoder(HostCommand)


class OvertLink:
    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._descriptors: deque[int] = deque()
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()

    def send(self, report: HostReport) -> None:
        self._outgoing.put_nowait(json.encode(report) + b"\n")

    def log(self, server: str, text: str) -> None:
        self.send(Logged(server=server, level="warning", text=text[:MAX_LOG_CHARACTERS]))

    def take_descriptors(self) -> tuple[int, int]:
        """Return the two descriptors that came with a `ServerStarted`: to write input to, and to read output from."""
        return self._descriptors.popleft(), self._descriptors.popleft()

    async def write_reports(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await loop.sock_sendall(self._socket, await self._outgoing.get())

    async def read_commands(self) -> AsyncIterator[HostCommand]:
        """Yield the commands until Overt closes the socket."""
        parts: list[bytes] = []
        while data := await self._receive():
            *lines, rest = data.split(b"\n")
            for line in lines:
                parts.append(line)
                text = b"".join(parts)
                parts.clear()
                try:
                    yield _decoder.decode(text)
                except DecodeError as error:
                    self.log("", f"A command was not understood: {error}")
            parts.append(rest)

    async def _receive(self) -> bytes:
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._socket, READ_BYTES, MAX_DESCRIPTORS)
            except BlockingIOError:
                await self._wait_until_readable()
                continue
            except OSError:
                return b""
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)
            self._descriptors.extend(descriptors)
            return data

    async def _wait_until_readable(self) -> None:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._socket.fileno(), readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._socket.fileno())
