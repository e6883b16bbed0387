"""Where every byte of a request comes from: spans that tile the body, none missing and none claimed twice.

A wire says the head, each message and the tail as bytes, so where one ends and the next begins is known. Inside of
the head and of tool messages the places of JSON values are looked up: a system fragment is the escaped text in its
string, a tool is its object, a result the object, the block or the words that answer one call. What is left between
them is the wire's own.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.context._json_offsets import JsonPlace, json_field, json_items
from overt.context.assemble import without_foreign_reasoning
from overt.context.text_calls import TextCallWire, call_label, result_text
from overt.core.codec import encode
from overt.core.messages import Call, Document, Image, Message, Result, Text
from overt.core.protocols import Wire
from overt.core.requests import Prefix, Request, ToolSpec
from overt.core.text_fragments import HARNESS, Fragment, Origin
from overt.lib.tokens import estimate

CachedPart = Literal["", "yes", "part", "no"]

WIRE = Origin(kind="harness", where="wire")
SYSTEM_FIELDS = (b"system", b"instructions")
LIST_FIELDS = (b"messages", b"input")
ANSWERS = (b"tool_call_id", b"tool_use_id", b"output")
"""Fields that only the answer to a call has, on one wire or another."""
SHOWN_TOKENS = 1000
"""What an image or a document takes, roughly: its bytes say nothing about it."""
LABEL = 80


class RequestSpan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Bytes `start` to `end` (not included) of a body. `text` is what they say, as a person would read it.

    `tokens` are estimated, and add up to what was reported once that is known. `cached` tells whether the server had
    it: not at all, all of it, or the beginning of it; empty if unknown.
    """

    start: int
    end: int
    key: str
    origin: Origin
    label: str = ""
    tokens: int = 0
    cached: CachedPart = ""
    text: str = ""


class _Claim(Struct, frozen=True, kw_only=True):
    """A part of the body that is spoken for."""

    start: int
    end: int
    key: str
    origin: Origin
    label: str = ""
    text: str = ""
    shown: tuple[Image | Document, ...] = ()


def trace_spans(wire: Wire, request: Request, *, vendor: str = "") -> tuple[RequestSpan, ...]:
    """The spans of a body, in order. `wire` must be one that has not been spoken yet: some remember what was said."""
    body = request.body()
    prefix, calls = request.prefix, dict[str, Call]()
    head = wire.head(prefix, request.params)
    claims = list(_head(head, prefix))
    at = len(head)
    last = len(request.messages) - 1 if wire.marks else -1
    for number, message in enumerate((*prefix.shots, *request.messages), -len(prefix.shots)):
        sent = message if number < 0 else without_foreign_reasoning(message, vendor)
        encoded = wire.marked(sent) if number == last else wire.message(sent)
        calls |= {call.id: call for call in message.calls()}
        if not encoded:
            continue
        start, at = at, at + len(encoded) + (body[at : at + 1] == b",")
        _check(body[at - len(encoded) : at] == encoded, at)
        parts = _message(message, encoded, calls, spoken=isinstance(wire, TextCallWire))
        claims += _placed(parts, start, at, at - len(encoded), example=number < 0)
    _check(body[at:] == wire.tail(request.params), at)
    return tuple(_tiled(body, claims))


def scale_tokens(spans: Iterable[RequestSpan], total: int) -> tuple[RequestSpan, ...]:
    """Return the spans with tokens that add up to `total`, the number that was counted."""
    spans = tuple(spans)
    whole = sum(span.tokens for span in spans)
    if not whole or not total:
        return spans
    scaled: list[RequestSpan] = []
    summed = assigned = 0
    for span in spans:
        summed += span.tokens
        share = round(summed * total / whole) - assigned
        assigned += share
        scaled.append(replace(span, tokens=share))
    return tuple(scaled)


def mark_cached(spans: Iterable[RequestSpan], *, tokens: int = 0, upto: int | None = None) -> tuple[RequestSpan, ...]:
    """Return the spans marked by what the server's cache held, which is always a beginning: so many tokens or bytes."""
    marked: list[RequestSpan] = []
    counted = 0
    for span in spans:
        start, end, edge = (counted, counted + span.tokens, tokens) if upto is None else (span.start, span.end, upto)
        counted += span.tokens
        mark: CachedPart = "yes" if end <= edge else "part" if start < edge else "no"
        marked.append(replace(span, cached=mark if span.tokens else ""))
    return tuple(marked)


# ── the head ─────────────────────────────────────────────────────────────────────────────────────────────


def _head(head: bytes, prefix: Prefix) -> Iterable[_Claim]:
    top = json_items(head + b"]}")
    for place in top:
        if place.key == b"tools":
            for spec, item in zip(prefix.tools, json_items(head, place.start), strict=False):
                yield _tool(spec, item)
    yield from _fragments(head, prefix.system, tuple(_strings(head, top)))


def _tool(spec: ToolSpec, item: JsonPlace) -> _Claim:
    return _Claim(
        start=item.start,
        end=item.end,
        key=f"tool:{spec.name}",
        origin=tool_origin(spec.name),
        text=f"{spec.description}\n{bytes(spec.schema).decode()}",
    )


def tool_origin(name: str) -> Origin:
    """Who tells the model of a tool: all that there are so far are our own."""
    return Origin(kind="harness", where=f"tools/{name}")


def _strings(head: bytes, top: tuple[JsonPlace, ...]) -> Iterable[JsonPlace]:
    """The strings of the head that hold the system text: a field, the text of blocks, or the first messages."""
    for place in top:
        if place.key in SYSTEM_FIELDS and head[place.start : place.start + 1] == b'"':
            yield place
        elif place.key in SYSTEM_FIELDS:
            yield from filter(None, (json_field(head, block.start, b"text") for block in json_items(head, place.start)))
        elif place.key in LIST_FIELDS:
            shot = head[: place.end] + b"]"
            yield from filter(
                None, (json_field(shot, item.start, b"content") for item in json_items(shot, place.start))
            )


def _fragments(head: bytes, system: tuple[Fragment, ...], strings: tuple[JsonPlace, ...]) -> Iterable[_Claim]:
    """Each fragment right behind the one before it, or at the beginning of the next string."""
    waiting = list(strings)
    at, between = -1, encode("\n\n")[1:-1]
    for fragment in system:
        escaped = _escaped(fragment.text)
        places = [at + len(between)] if at >= 0 and head.startswith(between, at) else []
        places += [waiting[0].start + 1] if waiting else []
        start = next((place for place in places if escaped and head.startswith(escaped, place)), -1)
        if start < 0:
            continue  # nothing of it was sent
        if waiting and start == waiting[0].start + 1:
            waiting.pop(0)
        at = start + len(escaped)
        yield _Claim(start=start, end=at, key=fragment.key, origin=fragment.origin, text=fragment.text)


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────


def _message(message: Message, encoded: bytes, calls: Mapping[str, Call], *, spoken: bool) -> list[_Claim]:
    """Claims on what one message became; each is stretched later to where the next begins."""
    results = [part for part in message.parts if isinstance(part, Result)]
    rest = tuple(part for part in message.parts if isinstance(part, Image | Document))
    key, about, text = key_of(message), _about(message), _said(message)
    own = _Claim(start=0, end=0, key=key, origin=message.origin, label=about, text=text, shown=rest)
    if not results:
        return [own]
    answers = [_answer(result, calls.get(result.call_id)) for result in results]
    if spoken:
        labels = {id: call_label(calls[id]) for id in (result.call_id for result in results) if id in calls}
        starts = _words(encoded, [result_text(result, labels) for result in results])
    else:
        starts = _blocks(encoded, len(results))
    if len(starts) < len(results):
        # Not to be told apart: the first answer stands for all, so that no byte is without one.
        return [replace(answers[0], text="\n\n".join(answer.text for answer in answers))]
    claims = [replace(answer, start=start) for answer, start in zip(answers, starts, strict=False)]
    for number, start in enumerate(starts[len(results) :]):
        shown = number == 0 and any(answer.shown for answer in answers)
        claims.append(replace(own, start=start) if not shown else _behind(answers, start))
    return claims


def _answer(result: Result, call: Call | None) -> _Claim:
    name = call.name if call else "?"
    about = call_label(call)[len(name) :].strip() if call else result.call_id
    return _Claim(
        start=0,
        end=0,
        key=f"tool:{name}",
        origin=_result_origin(result),
        label=about,
        text=_text(result.parts),
        shown=tuple(part for part in result.parts if not isinstance(part, Text)),
    )


def _result_origin(result: Result) -> Origin:
    if result.harness:
        return replace(HARNESS, where=result.call_id)
    if result.outside:
        return Origin(kind="outside", where=result.outside)
    return Origin(kind="tool", where=result.call_id)


def _behind(answers: list[_Claim], start: int) -> _Claim:
    """What results showed and their wire cannot hold: it follows them in the name of the user."""
    first = next(answer for answer in answers if answer.shown)
    shown = tuple(part for answer in answers for part in answer.shown)
    return replace(first, start=start, label=f"{first.label} (shown)".strip(), text=_text(shown), shown=shown)


def _blocks(encoded: bytes, results: int) -> list[int]:
    """Where each answer begins, and what follows the last of them."""
    data = b"[" + encoded + b"]"
    items = json_items(data)
    content = json_field(data, items[0].start, b"content") if len(items) == 1 else None
    if content and data[content.start : content.start + 1] == b"[":
        items = json_items(data, content.start)
    answers = [place for place in items if json_field(data, place.start, *ANSWERS)]
    if len(answers) != results:
        return []
    return [place.start - 1 for place in items]


def _words(encoded: bytes, words: list[str]) -> list[int]:
    """Where each result begins in the one text that tells them all."""
    at = encoded.find(b'"' + _escaped("\n\n".join(words)) + b'"') + 1
    if not at:
        return []
    starts = []
    for word in words:
        starts.append(at)
        at += len(_escaped(f"{word}\n\n"))
    return starts


def _placed(claims: list[_Claim], start: int, end: int, zero: int, *, example: bool) -> list[_Claim]:
    """Claims of one message on the body: the first takes what stands before it, each goes on to the next."""
    starts = [start, *(zero + claim.start for claim in claims[1:])]
    ends = [*starts[1:], end]
    placed = [replace(claim, start=a, end=b) for claim, a, b in zip(claims, starts, ends, strict=True)]
    return [replace(claim, key="example") for claim in placed] if example else placed


def key_of(message: Message) -> str:
    match message.origin.kind:
        case "model":
            return "assistant"
        case "tool":
            return "command" if message.role == "assistant" else "tool"
        case "user" | "flag":
            return "user"
        case "file" | "environment" | "outside" | "summary" | "harness" as kind:
            return kind


def _about(message: Message) -> str:
    origin = message.origin
    if origin.kind in ("file", "environment"):
        return ""
    words = message.text().strip().partition("\n")[0]
    calls = ", ".join(call_label(call) for call in message.calls())
    text = " → ".join(filter(None, (words, calls)))
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def _said(message: Message) -> str:
    calls = (f"→ {call.name} {call.arguments}" for call in message.calls())
    plain = [part for part in message.parts if isinstance(part, Text | Image | Document)]
    return "\n".join(filter(None, (_text(plain), *calls)))


def _text(parts: Iterable[Text | Image | Document]) -> str:
    return "".join(part.text if isinstance(part, Text) else f"[{part.media}, {len(part.data)} bytes]" for part in parts)


# ── the whole ────────────────────────────────────────────────────────────────────────────────────────────


def _tiled(body: bytes, claims: list[_Claim]) -> Iterable[RequestSpan]:
    at = 0
    for claim in sorted(claims, key=lambda claim: claim.start):
        if at < claim.start:
            yield RequestSpan(start=at, end=claim.start, key="wire", origin=WIRE)
        at = claim.end
        yield RequestSpan(
            start=claim.start,
            end=claim.end,
            key=claim.key,
            origin=claim.origin,
            label=claim.label,
            tokens=_tokens(body[claim.start : claim.end], claim.shown),
            text=claim.text,
        )
    if at < len(body):
        yield RequestSpan(start=at, end=len(body), key="wire", origin=WIRE)


def _tokens(data: bytes, shown: tuple[Image | Document, ...]) -> int:
    tokens = 0
    for part in shown:
        payload = b64encode(part.data)
        if payload in data:
            data = data.replace(payload, b"", 1)
            tokens += SHOWN_TOKENS
    return tokens + estimate(data.decode("utf-8", "replace"))


def _escaped(text: str) -> bytes:
    """As it stands between quotes on a wire, half characters replaced as wires do."""
    try:
        return encode(text)[1:-1]
    except UnicodeEncodeError:
        return encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))[1:-1]


def _check(same: bool, at: int) -> None:
    if not same:
        raise ValueError(f"the body is not what this wire makes of the request (near byte {at})")
