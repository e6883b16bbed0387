"""Processor time for the events of a long reply, on each wire: from bytes off the socket to the whole reply."""

import json
from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

from bench.runs import Site, interleaved
from bench.table import Row, Series
from overt.core.requests import Reply
from overt.providers.transport.sse import EventStream
from overt.providers.wires import make_wire

CHUNKS = 20_000
BUDGET = 0.25
READ = 64 * 1024
WORDS = ("the ", "file ", "holds ", "a ", "list ", "of ", "names, ", "each ", "with ", "its line.\n")
TEXT = "".join(WORDS[number % len(WORDS)] for number in range(CHUNKS))

Event = dict[str, Any]


def wires(site: Site) -> Iterator[Row]:
    for kind, events in (("openai", _chat()), ("responses", _responses()), ("anthropic", _messages())):
        payloads = [json.dumps(event).encode() for event in events]
        stream = b"".join(_framed(event, payload) for event, payload in zip(events, payloads, strict=True))
        stream += b"data: [DONE]\n\n" if kind == "openai" else b""
        ours, bare = interleaved(site.times(9), partial(_decoded, kind, stream), partial(_parsed, payloads))
        mine, theirs = Series(ours), Series(bare)
        yield Row(
            name=f"{CHUNKS} chunks on the wire {kind}, CPU (json.loads)",
            ours=mine.ms(),
            yardstick=theirs.ms(),
            ratio=mine.median / theirs.median,
            budget=f"{BUDGET:g} s",
            ok=mine.median <= BUDGET,
        )


def _decoded(kind: str, stream: bytes) -> float:
    """The decoder's deltas are taken after each read, as an attempt does."""
    wire = make_wire(kind)
    began = process_time()
    events, decoder = EventStream(), wire.decoder()
    for at in range(0, len(stream), READ):
        for payload in events.feed(stream[at : at + READ]):
            decoder.feed(payload)
        decoder.take()
    reply: Reply = decoder.end()
    spent = process_time() - began
    if "".join(getattr(part, "text", "") for part in reply.parts) != TEXT:
        raise SystemExit(f"bench: the wire {kind} made another text of its events")
    return spent


def _parsed(payloads: list[bytes]) -> float:
    began = process_time()
    for payload in payloads:
        json.loads(payload)
    return process_time() - began


def _framed(event: Event, payload: bytes) -> bytes:
    name = event.get("type")
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + payload + b"\n\n"


def _pieces() -> list[str]:
    return [WORDS[number % len(WORDS)] for number in range(CHUNKS)]


def _chat() -> list[Event]:
    about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1763300000, "model": "gpt-5"}
    return [
        *({**about, "choices": [{"index": 0, "delta": {"content": p}, "finish_reason": None}]} for p in _pieces()),
        {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]


def _responses() -> list[Event]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    whole = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": TEXT}]}
    begun = {"type": "message", "id": "msg_1", "content": []}
    end = {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5", "output": [whole]}
    return [
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        *({"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []} for piece in _pieces()),
        {"type": "response.output_text.done", **place, "text": TEXT},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": end},
    ]


def _messages() -> list[Event]:
    return [
        {"type": "message_start", "message": {"id": "msg_1", "type": "message", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}} for p in _pieces()),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": CHUNKS}},
        {"type": "message_stop"},
    ]
