"""Messages of a stdio server over its two pipes, read line by line with a limit.

The SDK's own reader hangs on one invalid byte and takes 83 s for a line of 100 MB. This one replaces invalid UTF-8,
skips what is not JSON-RPC, and drops a line above the limit while it comes in: it keeps only the two ends of the line,
in which it looks for the id of the request that the line answers.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

from anyio import BrokenResourceError
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, RequestId, jsonrpc_message_adapter
from pydantic import ValidationError

MAX_LINE_BYTES = 16 * 1024 * 1024
READ_BYTES = 256 * 1024
END_BYTES = 4096
MAX_SHOWN_CHARACTERS = 200
_ID = rb'"id"\s*:\s*(?:(\d+)|"([^"\\]*)")\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_ID_AT_START = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb"[,}]")
_ID_AT_END = re.compile(rb",\s*" + _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*$")
_NO_ANSWER = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb',\s*)?(?:"id"\s*:\s*[^,]+,\s*)?"method"')


class LineSplitter:
    """Splits chunks into lines in linear time. Of a line above `limit` only its ends and its size are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self.size = 0
        self.head = b""
        self.tail = b""

    @property
    def too_long(self) -> bool:
        return self.size > self._limit

    def add(self, data: bytes) -> None:
        if not self.too_long:
            self._parts.append(data)
        self.size += len(data)
        if self.too_long:
            if self._parts:
                self.head = b"".join(self._parts)[:END_BYTES]
                self.tail = b"".join(self._parts)[-END_BYTES:]
                self._parts.clear()
            else:
                self.tail = (self.tail + data)[-END_BYTES:]

    def take(self) -> bytes:
        """Return the line and begin the next; an empty one if it was too long."""
        line = b"".join(self._parts)
        self._parts.clear()
        self.size, self.head, self.tail = 0, b"", b""
        return line


class PipeReader:
    """The read stream of the SDK's session. `pending` returns the ids of the requests that wait for an answer."""

    def __init__(
        self, reader: asyncio.StreamReader, *, pending: Callable[[], tuple[RequestId, ...]], log: Callable[[str], None]
    ) -> None:
        self._reader = reader
        self._pending = pending
        self._log = log
        self._messages = self._read()

    async def receive(self) -> SessionMessage | Exception:
        return await anext(self._messages)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self.receive()

    async def aclose(self) -> None:
        await self._messages.aclose()  # type: ignore[attr-defined]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _read(self) -> AsyncIterator[SessionMessage]:
        splitter = LineSplitter(MAX_LINE_BYTES)
        answered = False
        while data := await self._read_chunk():
            *ends, rest = data.split(b"\n")
            for end in ends:
                splitter.add(end)
                if splitter.too_long:
                    failure = None if answered else self._fail_request(splitter, complete=True)
                else:
                    failure = self._parse(splitter.take())
                splitter.take()
                answered = False
                if failure:
                    yield failure
            splitter.add(rest)
            if splitter.too_long and not answered and (failure := self._fail_request(splitter, complete=False)):
                answered = True
                yield failure

    async def _read_chunk(self) -> bytes:
        try:
            return await self._reader.read(READ_BYTES)
        except OSError:
            return b""

    def _parse(self, line: bytes) -> SessionMessage | None:
        text = line.decode("utf-8", "replace").strip()
        if not text:
            return None
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
        except ValidationError:
            self._log(f"Skipped a line that is not JSON-RPC: {text[:MAX_SHOWN_CHARACTERS]!r}")
        match = _ID_AT_START.match(line[:END_BYTES]) or _ID_AT_END.search(line[-END_BYTES:])
        request = self._pending_request(match) if match and not _NO_ANSWER.match(line[:END_BYTES]) else None
        return _error(request, "The answer is not valid JSON-RPC.") if request is not None else None

    def _fail_request(self, line: LineSplitter, *, complete: bool) -> SessionMessage | None:
        """Return an error for the request that the over-long line answers, or None if that is not known (yet)."""
        if _NO_ANSWER.match(line.head):
            return None
        request = self._find_request(line, complete=complete)
        if request is None:
            return None
        size = f"{line.size / 1e6:.0f} MB" if complete else f"more than {MAX_LINE_BYTES >> 20} MB"
        self._log(f"Dropped an answer of {size}.")
        text = f"The answer is too large: {size}, at most {MAX_LINE_BYTES >> 20} MB are read. Ask for less."
        return _error(request, text)

    def _find_request(self, line: LineSplitter, *, complete: bool) -> RequestId | None:
        pending = self._pending()
        match = _ID_AT_START.match(line.head) or (_ID_AT_END.search(line.tail) if complete else None)
        if match:
            return self._pending_request(match)
        return pending[0] if len(pending) == 1 else None

    def _pending_request(self, match: re.Match[bytes]) -> RequestId | None:
        id: RequestId = int(match[1]) if match[1] else match[2].decode("utf-8", "replace")
        return id if id in self._pending() else None


def _error(request: RequestId, text: str) -> SessionMessage:
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=PARSE_ERROR, message=text)))


class PipeWriter:
    """The write stream of the SDK's session. A message has reached the pipe when `send` returns."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, item: SessionMessage) -> None:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            if self._writer.is_closing():
                raise BrokenResourceError
            self._writer.write(text.encode() + b"\n")
            # A notification does not wait: it may tell a server that has stopped reading that its call was cancelled.
            if isinstance(item.message, JSONRPCRequest):
                await self._writer.drain()
        except OSError:
            raise BrokenResourceError from None

    async def aclose(self) -> None:
        self._writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def open_pipes(
    descriptors: tuple[int, int], *, pending: Callable[[], tuple[RequestId, ...]], log: Callable[[str], None]
) -> AsyncIterator[tuple[PipeReader, PipeWriter]]:
    """Speak with a server over (the end to write its input to, the end to read its output from). Closes both."""
    loop = asyncio.get_running_loop()
    to_server, from_server = os.fdopen(descriptors[0], "wb", 0), os.fdopen(descriptors[1], "rb", 0)
    reader = asyncio.StreamReader(limit=READ_BYTES)
    read_transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), from_server)
    write_transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), to_server
    )
    writer = asyncio.StreamWriter(write_transport, protocol, None, loop)
    try:
        yield PipeReader(reader, pending=pending, log=log), PipeWriter(writer)
    finally:
        if write_transport.get_write_buffer_size():
            write_transport.abort()  # the server does not read; waiting until it does could take forever
        write_transport.close()
        read_transport.close()
