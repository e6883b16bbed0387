"""Fragments and history become the bytes of a request, and the bytes only ever grow.

Cost and proof are one mechanism. What was encoded is kept; a step encodes only the messages it adds and
feeds only those bytes to a running hash. So the stable part of request N (all but the closing bytes) is a
prefix of request N+1 by construction, the recorded hashes let anyone check it from outside, and the work
of a step is what the step adds. When the caller hands over a history that does not continue the last one,
or another head, the body starts anew and the cause is reported, so that no reset goes unrecorded.
"""

from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from overt.core.messages import Message, Part, Reasoning
from overt.core.ports import Wire
from overt.core.requests import Params, Prefix, Request

BLOCK = 64 * 1024
"""Small pieces are joined up to this size, so that a long body is a few blocks, and none of them is copied again."""


class Assembled(Struct, frozen=True, kw_only=True):
    """`stable` is the running hash over the body without its closing bytes; `reset` why it started anew."""

    request: Request
    stable: str
    stable_length: int
    reset: str = ""


class Assembler:
    """The encoded body of one conversation on one wire. What only `vendor` can read goes to nobody else."""

    def __init__(self, wire: Wire, *, vendor: str = "") -> None:
        self._wire = wire
        self._vendor = vendor
        self._head = b""
        self._blocks: list[bytes] = []
        self._messages: tuple[Message, ...] = ()
        self._hash = sha256()
        self._length = 0

    def opening(self, prefix: Prefix, params: Params) -> bytes:
        """What the first request will begin with."""
        return opening(self._wire, prefix, params)

    def forget(self) -> None:
        """Start anew at the next request without reporting it: the caller has recorded the reset itself."""
        self._head = b""

    def assemble(self, prefix: Prefix, messages: tuple[Message, ...], params: Params) -> Assembled:
        head = opening(self._wire, prefix, params)
        reset = self._why_anew(head, messages)
        if reset or not self._head:
            self._start(head)
        # A marked message is not what the next request will hold in its place, so it counts as closing bytes.
        settled = messages[:-1] if self._wire.marks else messages
        for message in settled[len(self._messages) :]:
            self._take(self._joined(self._wire.message(self._readable(message))))
        self._messages = settled
        marked = self._joined(self._wire.marked(self._readable(messages[-1]))) if len(settled) < len(messages) else b""
        closing = marked + self._wire.tail(params)
        whole = self._hash.copy()
        whole.update(closing)
        request = Request(
            prefix=prefix,
            messages=messages,
            params=params,
            stable=tuple(self._blocks),
            closing=closing,
            digest=whole.hexdigest(),
            length=self._length + len(closing),
        )
        return Assembled(request=request, stable=self._hash.hexdigest(), stable_length=self._length, reset=reset)

    def _why_anew(self, head: bytes, messages: tuple[Message, ...]) -> str:
        if not self._head:
            return ""
        if head != self._head:
            return "the system prompt, the tools or the parameters changed"
        if messages[: len(self._messages)] != self._messages:
            return "the history changed"
        return ""

    def _start(self, head: bytes) -> None:
        self._head = head
        self._blocks = []
        self._messages = ()
        self._hash = sha256()
        self._length = 0
        self._take(head)

    def _readable(self, message: Message) -> Message:
        """Without the sealed reasoning of another vendor, which this one would refuse."""
        if message.role != "assistant" or message.origin.where in ("", self._vendor):
            return message
        return replace(message, parts=tuple(map(_unsealed, message.parts)))

    def _joined(self, encoded: bytes) -> bytes:
        first = self._length == len(self._head) and self._head.endswith(b"[")
        return b"," + encoded if encoded and not first else encoded

    def _take(self, piece: bytes) -> None:
        if not piece:
            return
        if self._blocks and len(self._blocks[-1]) + len(piece) <= BLOCK:
            self._blocks[-1] += piece
        else:
            self._blocks.append(piece)
        self._hash.update(piece)
        self._length += len(piece)


def _unsealed(part: Part) -> Part:
    return replace(part, signature="", opaque="") if isinstance(part, Reasoning) else part


def opening(wire: Wire, prefix: Prefix, params: Params) -> bytes:
    """The bytes every request of the session begins with, the examples included."""
    found = wire.head(prefix, params)
    for encoded in filter(None, map(wire.message, prefix.shots)):
        found += (b"" if found.endswith(b"[") else b",") + encoded
    return found


def fingerprint(wire: Wire, prefix: Prefix, params: Params) -> str:
    return sha256(opening(wire, prefix, params)).hexdigest()
