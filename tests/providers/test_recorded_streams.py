"""Streams recorded from real services: no exception, whole calls, the same reply however the bytes were cut."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.providers.provider_kit import provider, reply, run

from overt.core.messages import Call, Reasoning, Text
from overt.core.requests import Delta, ReasoningDelta, Reply, TextDelta
from overt.providers.transport.sse import EventStream
from overt.providers.wires.openai import OpenAIChat

SHARED = Path(os.environ.get("OVERT_SHARED") or Path(__file__).parents[2].parent / "shared")
FILES = sorted((SHARED / "data" / "streams").glob("chat-*/*.chunks.txt"))

pytestmark = pytest.mark.skipif(not FILES, reason=f"no recorded streams under {SHARED}")
each_file = pytest.mark.parametrize("path", FILES, ids=[path.name.split(".")[0] + path.parent.name for path in FILES])


def payloads(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line.strip()]


def played(stream: bytes, size: int) -> tuple[Reply, str, str]:
    events, decoder = EventStream(), OpenAIChat().decoder()
    deltas: list[Delta] = []
    for at in range(0, len(stream), size):
        for payload in events.feed(stream[at : at + size]):
            decoder.feed(payload)
        deltas += decoder.take()
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    reasoning = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    return decoder.end(), text, reasoning


@each_file
def test_the_reply_does_not_depend_on_how_the_bytes_were_cut(path: Path) -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        lines = b"".join(b"data: " + payload.encode() + end * 2 for payload in payloads(path))
        stream = b"\xef\xbb\xbf: hello" + end * 2 + lines + b"data: [DONE]" + end * 2
        whole = played(stream, len(stream))
        assert [played(stream, size) for size in (1, 7, 4096)] == [whole] * 3


@each_file
def test_what_streamed_is_what_the_reply_holds(path: Path) -> None:
    stream = b"".join(b"data: " + payload.encode() + b"\n\n" for payload in payloads(path))
    found, text, reasoning = played(stream, 512)
    held = [part.text for part in found.parts if isinstance(part, Reasoning)]
    assert text == "".join(part.text for part in found.parts if isinstance(part, Text))
    assert reasoning == "".join(held)
    calls = [part for part in found.parts if isinstance(part, Call)]
    assert len({call.id for call in calls}) == len(calls)
    assert all(call.name and call.arguments.startswith("{") for call in calls)
    assert found.usage.input > 0
    assert (found.finish == "calls") == bool(calls)


@each_file
def test_the_reply_says_what_the_events_say(path: Path) -> None:
    """Read a second time, without any of the decoder's care."""
    text, thought, ids, arguments = "", "", set(), ""
    usage: dict[str, Any] = {}
    for line in payloads(path):
        event = json.loads(line)
        usage = event.get("usage") or usage
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            text += delta.get("content") or ""
            thought += delta.get("reasoning_content") or delta.get("reasoning") or ""
            for call in delta.get("tool_calls") or ():
                ids.add(call.get("id") or "")
                arguments += call["function"].get("arguments") or ""
    found, _, _ = played(b"".join(b"data: " + payload.encode() + b"\n\n" for payload in payloads(path)), 10**9)
    calls = [part for part in found.parts if isinstance(part, Call)]
    assert "".join(part.text for part in found.parts if isinstance(part, Text)) == text
    assert "".join(part.text for part in found.parts if isinstance(part, Reasoning)) == thought
    assert {call.id for call in calls} == ids - {""}
    assert "".join(call.arguments for call in calls) == arguments
    assert (found.usage.input, found.usage.input + found.usage.output) == (
        usage["prompt_tokens"],
        usage["total_tokens"],
    )
    details = usage.get("completion_tokens_details") or {}
    assert found.usage.reasoning == details.get("reasoning_tokens", 0)
    assert found.usage.cached == (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)


@each_file
def test_a_real_server_that_plays_it_gives_the_same_reply(path: Path) -> None:
    expected = played(b"".join(b"data: " + payload.encode() + b"\n\n" for payload in payloads(path)), 10**9)[0]

    async def main(url: str) -> Reply:
        source = provider(url)
        found = await reply(source)
        source.close()
        return found

    with ModelServer([Turn(events=tuple(payloads(path)), framing="event")]) as server:
        assert run(main(server.url)) == expected


@each_file
def test_a_recorded_stream_without_its_last_events_is_a_cut(path: Path) -> None:
    kept = [line for line in payloads(path) if '"finish_reason":"' not in line.replace(" ", "")]
    stream = b"".join(b"data: " + payload.encode() + b"\n\n" for payload in kept)
    with pytest.raises(Exception, match="in the middle of the reply"):
        played(stream, 4096)
