"""Where the body of a response ends: by length, by chunks, or when the server closes."""

from typing import Protocol

from overt.core.errors import ProviderError


class Framing(Protocol):
    """`done`: the body has ended. `clean`: it ended by its own rule, with nothing behind it."""

    done: bool
    clean: bool

    def feed(self, data: bytes) -> bytes: ...


class Sized:
    """A body of a known length."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = self.clean = length == 0

    def feed(self, data: bytes) -> bytes:
        body = data[: self._left]
        self._left -= len(body)
        self.done = not self._left
        self.clean = self.done and len(body) == len(data)
        return body


class UntilClosed:
    """A body that ends when the connection does."""

    done = False
    clean = False

    def feed(self, data: bytes) -> bytes:
        return data


class Chunked:
    """A body in chunks, taken from however many chunks one read happened to hold."""

    def __init__(self) -> None:
        self.done = False
        self.clean = False
        self._buffer = b""
        self._left = 0
        self._trailing = False

    def feed(self, data: bytes) -> bytes:
        buffer = self._buffer + data if self._buffer else data
        body: list[bytes] = []
        at = 0
        while not self.done:
            if self._left > 2:
                piece = buffer[at : at + self._left - 2]
                body.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left > 2:
                    break
            end = buffer.find(b"\r\n", at)
            if end < 0:
                if len(buffer) - at > 64 * 1024:
                    raise _broken()
                break
            self._take_line(buffer[at:end])
            at = end + 2
        self._buffer = b"" if self.done else buffer[at:]
        self.clean = self.done and at == len(buffer)
        return body[0] if len(body) == 1 else b"".join(body)

    def _take_line(self, line: bytes) -> None:
        if self._trailing:
            self.done = not line
        elif self._left:
            # The two bytes that were still owed close the chunk.
            if line:
                raise _broken()
            self._left = 0
        else:
            try:
                size = int(line.partition(b";")[0], 16)
            except ValueError:
                raise _broken() from None
            if size < 0:
                raise _broken()
            self._left = size + 2 if size else 0
            self._trailing = not size


def framing_of(status: int, headers: dict[str, str]) -> Framing:
    if status in (204, 304):
        return Sized(0)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return Chunked()
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit():
        return Sized(int(length))
    return UntilClosed()


def _broken() -> ProviderError:
    return ProviderError(
        "The server framed its reply wrongly (a chunk without a valid size), so the rest cannot be read.",
        kind="cut",
        retryable=True,
    )
