"""Where the body of a response ends: by length, by chunks, or when the server closes."""

from typing import Protocol

from overt.core.errors import ProviderError

MAX_LINE = MAX_TRAILERS = 64 * 1024
MAX_CHUNK = 1 << 40
"""No server means more than this; a larger size is rubbish that was read as a number."""


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
        self._trailers = 0

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
                if len(buffer) - at > MAX_LINE:
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
            self._trailers += len(line)
            if self._trailers > MAX_TRAILERS:
                raise _broken()
        elif self._left:
            # The two bytes that were still owed close the chunk.
            if line:
                raise _broken()
            self._left = 0
        else:
            size = _size(line.partition(b";")[0].strip(b" \t"))
            self._left = size + 2 if size else 0
            self._trailing = not size


def _size(digits: bytes) -> int:
    """Python would also read `0x10`, `1_0` and `+1` as numbers."""
    if not digits.isalnum() or b"x" in digits or b"X" in digits:
        raise _broken()
    try:
        size = int(digits, 16)
    except ValueError:
        raise _broken() from None
    if size > MAX_CHUNK:
        raise _broken()
    return size


def framing_of(status: int, headers: dict[str, str]) -> Framing:
    """Chunks go before a length where a server names both. A ProviderError when the end cannot be told."""
    if status in (204, 304):
        return Sized(0)
    codings = [coding for coding in tokens(headers.get("transfer-encoding", "")) if coding != "identity"]
    if codings == ["chunked"]:
        return Chunked()
    if codings:
        raise _unreadable(f"wraps its reply in {', '.join(codings)}")
    given = headers.get("content-length")
    if given is None:
        return UntilClosed()
    lengths = {length.strip() for length in given.split(",")}
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdigit() and len(length) < 19):
        raise _unreadable("names no valid length of its reply")
    return Sized(int(length))


def persistent(version: str, headers: dict[str, str]) -> bool:
    """Whether the connection may serve another request once the body has ended.

    One that names two ways for the body to end may have been tampered with on its way: it is not trusted again.
    """
    twice = "transfer-encoding" in headers and "content-length" in headers
    return version == "HTTP/1.1" and not twice and "close" not in tokens(headers.get("connection", ""))


def tokens(value: str) -> list[str]:
    """The words of a header that is a list, without their parameters."""
    words = (word.partition(";")[0].strip().lower() for word in value.split(","))
    return [word for word in words if word]


def _broken() -> ProviderError:
    return ProviderError(
        "The server framed its reply wrongly (a chunk without a valid size), so the rest cannot be read.",
        kind="cut",
        retryable=True,
    )


def _unreadable(what: str) -> ProviderError:
    return ProviderError(
        f"The server {what}, so it cannot be read. Is something between here and it that changes replies?",
        kind="not_api",
    )
