"""What changed between two requests: the first byte that differs, what lies there, and why."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from overt.app.records.rebuild import RebuiltRequest
from overt.context.assemble import common_length
from overt.context.provenance import RequestSpan, trace_spans

AROUND = 60
"""Bytes that are shown before and after the first difference."""
MARK = b',"cache_control":{"type":"ephemeral"}'

Spans = tuple[RequestSpan, ...]


class ChangedSpan(Struct, frozen=True, kw_only=True):
    """Something that is only in one of the two, or that is another there."""

    way: str
    span: RequestSpan


class RequestComparison(Struct, frozen=True, kw_only=True):
    """`at` is the first byte that differs, `extends`: the later one only goes on where the earlier one ended.

    `causes` are the resets that were recorded between them, each with the number of the request it was before.
    """

    at: int
    extends: bool
    before: bytes
    after: bytes
    old: RequestSpan
    new: RequestSpan
    causes: tuple[tuple[int, str], ...] = ()
    moved: tuple[ChangedSpan, ...] = ()


def compare_requests(
    one: RebuiltRequest, other: RebuiltRequest, between: Iterable[RebuiltRequest]
) -> RequestComparison | None:
    """None when the two are the same, byte for byte. `between` are the requests after `one` up to `other`."""
    before, after = one.request.body(), other.request.body()
    if before == after:
        return None
    at = common_length(before, after)
    old, new = _spans(one), _spans(other)
    causes = tuple((request.number, cause) for request in between for cause in request.resets)
    return RequestComparison(
        at=at,
        extends=[_print(span, before) for span in old[:-1]] == [_print(span, after) for span in new[: len(old) - 1]],
        before=before[max(0, at - AROUND) : at + AROUND],
        after=after[max(0, at - AROUND) : at + AROUND],
        old=_span_at(old, at),
        new=_span_at(new, at),
        causes=causes,
        moved=_moved(old, before, new, after),
    )


def _spans(request: RebuiltRequest) -> Spans:
    return trace_spans(request.wire(), request.request, vendor=request.opening.provider)


def _span_at(spans: Spans, at: int) -> RequestSpan:
    return next((span for span in spans if at < span.end), spans[-1])


def _moved(
    old: tuple[RequestSpan, ...], before: bytes, new: tuple[RequestSpan, ...], after: bytes
) -> tuple[ChangedSpan, ...]:
    """What left and what came, in order; the wire's own bytes aside."""
    one = [(span, _print(span, before)) for span in old if span.key != "wire"]
    other = [(span, _print(span, after)) for span in new if span.key != "wire"]
    import difflib  # late: 0.8 ms

    matcher = difflib.SequenceMatcher(None, [mark for _, mark in one], [mark for _, mark in other], autojunk=False)
    changes: list[ChangedSpan] = []
    for way, a, b, c, d in matcher.get_opcodes():
        if way != "equal":
            changes += [ChangedSpan(way="-", span=span) for span, _ in one[a:b]]
            changes += [ChangedSpan(way="+", span=span) for span, _ in other[c:d]]
    return tuple(changes)


def _print(span: RequestSpan, body: bytes) -> bytes:
    """The same for the same bytes from the same place, the comma before a message and marks for a cache aside."""
    data = body[span.start : span.end].removeprefix(b",").replace(MARK, b"")
    return sha256(span.key.encode() + b"\0" + data).digest()
