"""What a program prints: kept within bounds, made plain, and cut to what a model can use."""

import os
import re

from overt.lib.result_limit import current_limit
from overt.lib.text import size

NEWLINE = "\n"
COUNTED = 16 * 1024 * 1024
"""Lines are counted this far; counting all of a flood would cost more than reading it."""
STEP = 256 * 1024
STEPS = 4

_buffer = bytearray(STEP)

ESCAPES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS and its kin
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
PLAIN = bytes(byte for byte in range(256) if 0x20 <= byte < 0x7F or byte in b"\t\n")
"""Bytes of a text that needs nothing done to it."""


class Spool:
    """The first `head` and the last `tail` bytes of a stream, by their offsets in it."""

    def __init__(self, *, head: int, tail: int) -> None:
        self.size = 0
        self.lines = 0
        self._bounds = (head, tail)
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, chunk: bytes | memoryview) -> None:
        most_head, most_tail = self._bounds
        if self.size < COUNTED:
            self.lines += bytes(chunk).count(b"\n")
        self.size += len(chunk)
        if len(self._head) < most_head:
            room = most_head - len(self._head)
            self._head += chunk[:room]
            chunk = chunk[room:]
        if len(chunk) >= most_tail:
            self._tail[:] = chunk[len(chunk) - most_tail :]
        else:
            self._tail += chunk
            if len(self._tail) > 2 * most_tail:
                del self._tail[: len(self._tail) - most_tail]

    def close(self) -> None:
        """Let go of what holds the stream beside memory."""

    def since(self, offset: int) -> tuple[bytes, int, bytes]:
        """The stream from `offset` on: what is kept before a gap, the bytes lost in it, what is kept after."""
        offset = max(offset, 0)
        tail_at = self.size - len(self._tail)
        head = bytes(self._head[offset:])
        lost = max(tail_at - max(offset, len(self._head)), 0)
        return head, lost, bytes(self._tail[max(offset - tail_at, 0) :])

    def last(self, count: int) -> bytes:
        """At most the last `count` bytes."""
        if len(self._tail) >= count or self.size > len(self._head) + len(self._tail):
            return bytes(self._tail[-count:])
        return bytes((self._head + self._tail)[-count:])


def read_pipe(source: int, spool: Spool, *, steps: int = STEPS) -> bool:
    """Move what waits in a pipe into the spool, a bounded amount; False at the end of the stream."""
    view = memoryview(_buffer)
    for _ in range(steps):
        try:
            count = os.readv(source, [_buffer])
        except BlockingIOError:
            return True
        except OSError:
            return False
        if count == 0:
            return False
        spool.feed(view[:count])
        if count < STEP:
            return True
    return True


def complete_length(data: bytes) -> int:
    """How many bytes of `data` end on a whole character."""
    for back in range(1, min(len(data), 3) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needs = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if needs > back else len(data)
        if byte < 0x80:
            break
    return len(data)


def plain_text(data: bytes) -> str:
    """Text as a person would have seen it at the end: no escapes, progress bars in their last state."""
    if not data.translate(None, PLAIN):
        return data.decode("ascii")
    text = data.decode("utf-8", "replace")
    if "\x1b" in text or "\x9b" in text:
        text = re.sub(ESCAPES, "", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    return re.sub(CONTROLS, "", text)


def _overwritten(line: str) -> str:
    kept = line.rstrip("\r")
    return kept.rpartition("\r")[2]


def render_if_whole(spool: Spool) -> str | None:
    """All of a program's output, or None if it has to be cut for the model."""
    head, lost, tail = spool.since(0)
    if lost:
        return None
    text = plain_text(head + tail)
    return text if current_limit().body().clip(text) is text else None


def render_output(spool: Spool, *, hint: str) -> str:
    """All of a program's output for the model, within the bounds of a result."""
    head, lost, tail = spool.since(0)
    limit = current_limit().body()
    if not lost:
        return limit.clip(plain_text(head + tail), hint)
    first, last = _head(plain_text(head), limit.bytes * 2 // 3), _tail(plain_text(tail), limit.bytes // 3)
    while limit.count(first) + limit.count(last) > limit.tokens:
        first, last = _head(first, size(first) * 3 // 4), _tail(last, size(last) * 3 // 4)
    shown_lines = first.count(NEWLINE) + last.count(NEWLINE)
    return f"{first}{describe_gap(spool, size(first) + size(last), shown_lines, hint)}{last}"


def describe_gap(spool: Spool, shown: int, shown_lines: int, hint: str) -> str:
    more = "" if spool.size < COUNTED else "more than "
    lines = max(spool.lines - shown_lines, 0)
    return f"\n[... {spool.size - shown} bytes, {more}{lines} lines left out; {hint} ...]\n"


def _head(text: str, room: int) -> str:
    """The beginning within `room` bytes, up to the end of a line where one is not far away."""
    cut = text.encode()[:room].decode("utf-8", "ignore")
    line = cut.rfind(NEWLINE)
    return cut[:line] if line > len(cut) // 2 else cut


def _tail(text: str, room: int) -> str:
    cut = text.encode()[-room:].decode("utf-8", "ignore")
    line = cut.find(NEWLINE)
    return cut[line + 1 :] if 0 <= line < len(cut) // 2 else cut
