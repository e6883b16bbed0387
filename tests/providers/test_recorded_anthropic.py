"""Streams recorded from the Messages API: no exception, whole calls, the same reply however the bytes were cut."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from overt.core.errors import ProviderError
from overt.core.messages import Call, Reasoning, Text
from overt.core.requests import CallDelta, Delta, ReasoningDelta, Reply, TextDelta
from overt.core.spending.usage import Usage
from overt.providers.transport.sse import EventStream
from overt.providers.wires.anthropic import Anthropic

SHARED = Path(os.environ.get("OVERT_SHARED") or Path(__file__).parents[2].parent / "shared")
FILES = sorted((SHARED / "data" / "streams" / "anthropic").glob("*.chunks.txt"))
FINISHES = {"end_turn": "stop", "tool_use": "calls", "max_tokens": "length"}

pytestmark = pytest.mark.skipif(not FILES, reason=f"no recorded streams under {SHARED}")
each_file = pytest.mark.parametrize("path", FILES, ids=[path.name.removesuffix(".chunks.txt") for path in FILES])


def messages(path: Path) -> list[list[dict[str, Any]]]:
    """A file may hold the replies of several requests; each one ends with its `message_stop`."""
    found: list[list[dict[str, Any]]] = [[]]
    for line in path.read_text().splitlines():
        if line.strip():
            found[-1].append(json.loads(line))
            if found[-1][-1]["type"] == "message_stop":
                found.append([])
    assert found.pop() == []
    return found


def framed(events: list[dict[str, Any]], end: bytes = b"\n") -> bytes:
    return b"".join(
        b"event: " + event["type"].encode() + end + b"data: " + json.dumps(event).encode() + end * 2 for event in events
    )


def played(stream: bytes, size: int) -> tuple[Reply, list[Delta]]:
    events, decoder = EventStream(), Anthropic().decoder()
    deltas: list[Delta] = []
    for at in range(0, len(stream), size):
        for payload in events.feed(stream[at : at + size]):
            decoder.feed(payload)
        deltas += decoder.take()
    return decoder.end(), deltas


def told(events: list[dict[str, Any]]) -> Reply:
    """What the events say, folded as the API's documentation tells it and no other way."""
    message: dict[str, Any] = {}
    for event in events:
        match event["type"]:
            case "message_start":
                if message.get("id") != event["message"]["id"]:
                    message = json.loads(json.dumps(event["message"]))
            case "content_block_start":
                assert event["index"] == len(message["content"])
                message["content"].append(dict(event["content_block"]))
            case "content_block_delta":
                block, delta = message["content"][event["index"]], event["delta"]
                match delta["type"]:
                    case "text_delta":
                        block["text"] += delta["text"]
                    case "thinking_delta":
                        block["thinking"] += delta["thinking"]
                    case "signature_delta":
                        block["signature"] = delta["signature"]
                    case "input_json_delta":
                        block["json"] = block.get("json", "") + delta["partial_json"]
                    case _:
                        pass
            case "message_delta":
                message["stop_reason"] = event["delta"]["stop_reason"]
                message["usage"] |= {key: value for key, value in event["usage"].items() if value is not None}
            case _:
                pass
    parts: list[Text | Reasoning | Call] = []
    for block in message["content"]:
        if block["type"] == "text" and block["text"]:
            parts.append(Text(text=block["text"]))
        elif block["type"] == "thinking":
            parts.append(Reasoning(text=block["thinking"], signature=block["signature"]))
        elif block["type"] == "tool_use":
            arguments = block.get("json") or json.dumps(block["input"], separators=(",", ":"))
            parts.append(Call(id=block["id"], name=block["name"], arguments=arguments))
    usage = message["usage"]
    cached, written = usage.get("cache_read_input_tokens", 0), usage.get("cache_creation_input_tokens", 0)
    return Reply(
        parts=tuple(parts),
        finish=FINISHES[message["stop_reason"]],  # type: ignore[arg-type]
        usage=Usage(
            input=usage["input_tokens"] + cached + written,
            output=usage["output_tokens"],
            cached=cached,
            cache_write=written,
            reasoning=usage.get("output_tokens_details", {}).get("thinking_tokens", 0),
        ),
        model=message["model"],
    )


@each_file
def test_the_reply_is_what_the_events_say(path: Path) -> None:
    for events in messages(path):
        assert played(framed(events), 10**9)[0] == told(events)


@each_file
def test_the_reply_does_not_depend_on_how_the_bytes_were_cut(path: Path) -> None:
    for events in messages(path):
        for end, size in ((b"\n", 1), (b"\r\n", 7), (b"\r", 4096)):
            stream = b"\xef\xbb\xbf: hello" + end * 2 + framed(events, end)
            assert played(stream, size)[0] == played(stream, 10**9)[0]


@each_file
def test_what_streamed_is_what_the_events_brought(path: Path) -> None:
    for events in messages(path):
        pieces = [event["delta"] for event in events if event["type"] == "content_block_delta"]
        reply, deltas = played(framed(events), 512)
        said = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
        thought = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
        assert said == "".join(piece.get("text", "") for piece in pieces)
        assert thought == "".join(piece.get("thinking", "") for piece in pieces)
        calls = [part for part in reply.parts if isinstance(part, Call)]
        ready = [delta.ready for delta in deltas if isinstance(delta, CallDelta)]
        assert max(ready, default=0) == len(calls)
        assert all(isinstance(json.loads(call.arguments), dict) for call in calls)


@each_file
def test_a_recorded_stream_is_never_accepted_before_its_last_event(path: Path) -> None:
    for events in messages(path):
        decoder = Anthropic().decoder()
        for event in events:
            assert not decoder.done
            with pytest.raises(ProviderError, match="in the middle of the reply"):
                decoder.end()
            decoder.feed(json.dumps(event).encode())
        assert decoder.done
        assert decoder.end() == told(events)


@each_file
def test_what_follows_the_end_of_a_reply_changes_nothing(path: Path) -> None:
    replies = messages(path)
    everything = framed([event for events in replies for event in events])
    assert played(everything, 10**9)[0] == told(replies[0])


@each_file
def test_a_call_without_its_own_end_is_never_run(path: Path) -> None:
    for events in messages(path):
        used = [
            at
            for at, event in enumerate(events)
            if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use"
        ]
        for at in used:
            stop = {"type": "content_block_stop", "index": events[at]["index"]}
            if stop not in events[at:]:
                continue
            lost = events.index(stop, at)
            with pytest.raises(ProviderError, match="in the middle of the reply"):
                played(framed(events[:lost] + events[lost + 1 :]), 4096)
