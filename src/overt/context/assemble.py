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
from overt.core.protocols import Wire
from overt.core.requests import Params, Prefix, Request

BLOCK = 64 * 1024
"""Small pieces are joined up to this size, so that a long body is a few blocks, and none of them is copied again."""


class AssembledRequest(Struct, frozen=True, kw_only=True):
    """`stable` is the running hash over the body without its closing bytes; `reset` why it started anew.

    `shared` counts the bytes that stood in the same place of the request before, marks for a cache left aside.
    """

    request: Request
    stable: str
    stable_length: int
    reset: str = ""
    shared: int = 0


class Assembler:
    """The encoded body of one conversation on one wire. What only `vendor` can read is sent to no other."""

    def __init__(self, wire: Wire, *, vendor: str = "") -> None:
        self._wire = wire
        self._vendor = vendor
        self._head = b""
        self._made_of: tuple[Prefix, Params] | None = None
        self._blocks: list[bytes] = []
        self._messages: tuple[Message, ...] = ()
        self._hash = sha256()
        self._length = 0
        self._sent = 0
        self._before: tuple[bytes, ...] = ()
        self._recalled = ("", 0)

    def recall(self, stable: str, length: int) -> None:
        """An earlier process sent a request with this running hash: what still extends it counts as shared."""
        self._recalled = (stable, length)

    def beside(self) -> "Assembler":
        """Another that stands where this one does: what it is given from here on, this one never hears of."""
        other = Assembler(self._wire, vendor=self._vendor)
        other._head, other._made_of = self._head, self._made_of
        other._blocks, other._messages = list(self._blocks), self._messages
        other._hash, other._length, other._sent, other._before = (
            self._hash.copy(),
            self._length,
            self._sent,
            self._before,
        )
        return other

    def opening(self, prefix: Prefix, params: Params) -> bytes:
        """What the first request will begin with."""
        return encode_opening(self._wire, prefix, params)

    def forget(self) -> None:
        """Start anew at the next request without reporting it: the caller has recorded the reset itself."""
        if self._head:
            self._before = tuple(self._blocks)
        self._head = b""

    def assemble(self, prefix: Prefix, messages: tuple[Message, ...], params: Params) -> AssembledRequest:
        head = encode_opening(self._wire, prefix, params)
        reset = self._why_anew(head, (prefix, params), messages)
        if reset:
            self._before = tuple(self._blocks)
        if reset or not self._head:
            self._start(head)
            self._sent = 0
        elif head != self._head:  # only the output limit changed, which breaks no cache
            self._start(head)
        # A marked message is not what the next request will hold in its place, so it counts as closing bytes.
        settled = messages[:-1] if self._wire.marks else messages
        shared = self._length if self._sent else 0
        for number in range(len(self._messages), len(settled)):
            self._take(self._joined(self._wire.message(without_foreign_reasoning(settled[number], self._vendor))))
            if number < self._sent or self._is_recalled():
                shared = self._length
        self._recalled = ("", 0)
        if self._before:
            shared, self._before = common_length(b"".join(self._before), b"".join(self._blocks)), ()
        self._messages, self._sent = settled, len(messages)
        closing = self._wire.tail(params)
        if len(settled) < len(messages):
            closing = self._joined(self._wire.marked(without_foreign_reasoning(messages[-1], self._vendor))) + closing
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
        return AssembledRequest(
            request=request, stable=self._hash.hexdigest(), stable_length=self._length, reset=reset, shared=shared
        )

    def _is_recalled(self) -> bool:
        stable, length = self._recalled
        return length == self._length and stable == self._hash.hexdigest()

    def _why_anew(self, head: bytes, made_of: tuple[Prefix, Params], messages: tuple[Message, ...]) -> str:
        before, self._made_of = self._made_of, made_of
        if not self._head:
            return ""
        reason = ""
        assert before is not None  # a head was encoded from it
        if head != self._head and self._without_limit(before) != self._without_limit(made_of):
            from overt.context.changes import describe_head_change  # late: 0.2 ms

            reason = describe_head_change(before, made_of)
        elif messages[: len(self._messages)] != self._messages:
            from overt.context.changes import describe_history_change  # late: 0.2 ms

            reason = describe_history_change(self._messages, messages)
        return reason

    def _without_limit(self, made_of: tuple[Prefix, Params]) -> bytes:
        prefix, params = made_of
        return encode_opening(self._wire, prefix, replace(params, output_limit=None))

    def _start(self, head: bytes) -> None:
        self._head = head
        self._blocks = []
        self._messages = ()
        self._hash = sha256()
        self._length = 0
        self._take(head)

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


def common_length(one: bytes, other: bytes) -> int:
    """Return how many bytes two bodies begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def without_foreign_reasoning(message: Message, vendor: str) -> Message:
    """Without the sealed reasoning of another vendor, which this one would refuse."""
    if message.role != "assistant" or message.origin.where in ("", vendor):
        return message
    return replace(message, parts=tuple(map(_unsealed, message.parts)))


def _unsealed(part: Part) -> Part:
    return replace(part, signature="", opaque="") if isinstance(part, Reasoning) else part


def encode_opening(wire: Wire, prefix: Prefix, params: Params) -> bytes:
    """The bytes every request of the session begins with, the examples included."""
    found = wire.head(prefix, params)
    for encoded in filter(None, map(wire.message, prefix.shots)):
        found += (b"" if found.endswith(b"[") else b",") + encoded
    return found


def fingerprint(wire: Wire, prefix: Prefix, params: Params) -> str:
    return sha256(encode_opening(wire, prefix, params)).hexdigest()
