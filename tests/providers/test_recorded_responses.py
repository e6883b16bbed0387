"""Responses recorded from real services: the reply is what the events say, and nothing is a reply before its end."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.providers.provider_kit import KEY, QUICK, reply, run

from overt.core.errors import ProviderError
from overt.core.messages import Call, Message, Part, Reasoning, Text
from overt.core.requests import CallDelta, Delta, ReasoningDelta, Reply, TextDelta
from overt.core.settings import ProviderEntry
from overt.core.spending.usage import Usage
from overt.core.text_fragments import MODEL
from overt.providers.http_provider import HttpProvider
from overt.providers.transport.sse import EventStream
from overt.providers.wires.responses import OpenAIResponses

SHARED = Path(os.environ.get("OVERT_SHARED") or Path(__file__).parents[2].parent / "shared")
FILES = sorted((SHARED / "data" / "streams").glob("responses*/*.chunks.txt"))
ENDS = ("response.completed", "response.incomplete")
REASONING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


def responses(path: Path) -> list[list[str]]:
    """The payloads of each response; some files hold the whole conversation, one response after the other."""
    found: list[list[str]] = []
    for line in path.read_text().splitlines():
        if not line.strip():
            continue
        if json.loads(line)["type"] == "response.created" or not found:
            found.append([])
        found[-1].append(line)
    return found


RECORDED = [
    pytest.param(payloads, id=f"{path.parent.name}-{path.name.split('.')[0]}.{path.name.split('.')[1]}-{number}")
    for path in FILES
    for number, payloads in enumerate(responses(path))
]

pytestmark = pytest.mark.skipif(not FILES, reason=f"no recorded streams under {SHARED}")
each_response = pytest.mark.parametrize("payloads", RECORDED)


def types(payloads: list[str]) -> list[str]:
    return [json.loads(payload)["type"] for payload in payloads]


def framed(payloads: list[str], end: str = "\n") -> bytes:
    return "".join(
        f"event: {json.loads(payload)['type']}{end}data: {payload}{end}{end}" for payload in payloads
    ).encode()


def played(stream: bytes, size: int) -> tuple[Reply | ProviderError, list[Delta]]:
    events, decoder = EventStream(), OpenAIResponses().decoder()
    deltas: list[Delta] = []
    try:
        for at in range(0, len(stream), size):
            for payload in events.feed(stream[at : at + size]):
                decoder.feed(payload)
            deltas += decoder.take()
        return decoder.end(), deltas
    except ProviderError as error:
        return error, deltas


def outcome(stream: bytes, size: int) -> tuple[Any, ...]:
    """What can be compared: the reply or the words of the error, and what streamed."""
    found, deltas = played(stream, size)
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    reasoning = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    calls = {delta.index: (delta.name, delta.characters) for delta in deltas if isinstance(delta, CallDelta)}
    return (found.message if isinstance(found, ProviderError) else found), text, reasoning, calls


def expected(payloads: list[str]) -> Reply:
    """What the events say, read as plainly as can be: every item as its own end gives it."""
    events = [json.loads(payload) for payload in payloads]
    parts: list[Part] = []
    for event in events:
        item = event.get("item", {}) if event["type"] == "response.output_item.done" else {}
        if item.get("type") == "message":
            text = "".join(part.get("text", part.get("refusal", "")) for part in item["content"])
            parts += [Text(text=text)] if text else []
        elif item.get("type") == "reasoning":
            text = "".join(part["text"] for part in [*item["summary"], *(item.get("content") or ())])
            opaque = json.dumps(item, separators=(",", ":"), ensure_ascii=False)
            parts.append(Reasoning(text=text, opaque=opaque))
        elif item.get("type") == "function_call":
            parts.append(Call(id=item["call_id"], name=item["name"], arguments=item["arguments"]))
    (last,) = (event["response"] for event in events if event["type"] in ENDS)
    used = last["usage"]
    usage = Usage(
        input=used["input_tokens"],
        output=used["output_tokens"],
        cached=used["input_tokens_details"]["cached_tokens"],
        cache_write=used["input_tokens_details"].get("cache_write_tokens", 0),
        reasoning=used["output_tokens_details"]["reasoning_tokens"],
    )
    calls = any(isinstance(part, Call) for part in parts)
    return Reply(parts=tuple(parts), finish="calls" if calls else "stop", usage=usage, model=last["model"])


@each_response
def test_the_reply_is_what_the_events_say(payloads: list[str]) -> None:
    found, text, reasoning, _ = outcome(framed(payloads), 512)
    if "error" in types(payloads):
        assert found == (
            "The server broke off its reply with an error: You exceeded your current quota, please check your plan "
            "and billing details. For more information on this error, read the docs: "
            "https://platform.openai.com/docs/guides/error-codes/api-errors."
        )
        return
    assert found == expected(payloads)
    deltas = [(event["type"], event["delta"]) for event in map(json.loads, payloads) if "delta" in event]
    assert text == "".join(delta for type, delta in deltas if type == "response.output_text.delta")
    assert reasoning == "".join(delta for type, delta in deltas if type in REASONING)


@each_response
def test_the_reply_does_not_depend_on_how_the_bytes_were_cut(payloads: list[str]) -> None:
    for end in ("\n", "\r\n", "\r"):
        stream = b"\xef\xbb\xbf: hello" + (end * 2).encode() + framed(payloads, end) + f"data: [DONE]{end * 2}".encode()
        whole = outcome(stream, len(stream))
        assert [outcome(stream, size) for size in (1, 7, 4096)] == [whole] * 3


@each_response
def test_no_part_of_a_stream_is_a_reply_before_its_end(payloads: list[str]) -> None:
    for kept in range(len(payloads)):
        found, _ = played(framed(payloads[:kept]) + b"data: [DONE]\n\n", 1 << 20)
        assert isinstance(found, ProviderError)
        assert found.kind == ("balance" if "error" in types(payloads[:kept]) else "cut")


@each_response
def test_the_end_alone_brings_everything_that_no_event_brought(payloads: list[str]) -> None:
    if "error" in types(payloads):
        return
    kept = [payload for payload in payloads if json.loads(payload)["type"] in ENDS]
    found, _ = played(framed(kept), 1 << 20)
    plain = expected(payloads)
    assert isinstance(found, Reply)
    listed = json.loads(kept[0])["response"]["output"]
    if listed:
        assert _without_opaque(found) == _without_opaque(plain)
    body = json.dumps(json.loads(kept[0])["response"] | {"object": "response"}).encode()
    decoder = OpenAIResponses().decoder()
    decoder.feed(body)
    assert decoder.end() == found


@each_response
def test_items_that_come_without_pieces_or_without_a_list_give_the_same_reply(payloads: list[str]) -> None:
    if "error" in types(payloads):
        return
    whole = expected(payloads)
    no_pieces = [payload for payload in payloads if not json.loads(payload)["type"].endswith(".delta")]
    no_items = [payload for payload in payloads if not json.loads(payload)["type"].startswith("response.output_item")]
    no_list = [*payloads[:-1], json.dumps(_without_output(json.loads(payloads[-1])))]
    assert played(framed(no_pieces), 4096)[0] == whole
    assert played(framed(no_list), 4096)[0] == whole
    if json.loads(payloads[-1])["response"]["output"]:
        found = played(framed(no_items), 4096)[0]
        assert isinstance(found, Reply)
        assert _without_opaque(found) == _without_opaque(whole)


@each_response
def test_what_a_reply_held_goes_back_as_it_came(payloads: list[str]) -> None:
    found, _ = played(framed(payloads), 1 << 20)
    if isinstance(found, ProviderError):
        return
    sent = json.loads(
        b"[" + OpenAIResponses().message(Message(role="assistant", parts=found.parts, origin=MODEL)) + b"]"
    )
    items = [event["item"] for event in map(json.loads, payloads) if event["type"] == "response.output_item.done"]
    reasoning = [item for item in items if item["type"] == "reasoning"]
    alone = [item for item in reasoning if item.get("encrypted_content") or item.get("content")]
    assert [item for item in sent if item["type"] == "reasoning"] == alone
    calls = [{key: item[key] for key in ("call_id", "name")} for item in items if item["type"] == "function_call"]
    assert [{key: item[key] for key in ("call_id", "name")} for item in sent if "call_id" in item] == calls


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.name}" for path in FILES])
def test_a_real_server_that_plays_it_gives_the_first_response(path: Path) -> None:
    payloads = responses(path)
    wanted = outcome(framed(payloads[0]), 1 << 20)[0]

    async def main(url: str) -> Reply | str:
        source = HttpProvider(ProviderEntry(name="fake", base_url=url), OpenAIResponses(), key=KEY, patience=QUICK)
        try:
            return await reply(source)
        except ProviderError as error:
            return error.message
        finally:
            source.close()

    every = tuple(payload for response in payloads for payload in response)
    with ModelServer([Turn(events=every, framing="event")]) as server:
        assert run(main(server.url)) == wanted
        assert [request.path for request in server.posts] == ["/v1/responses"]


def _without_opaque(reply: Reply) -> list[Part]:
    """An item's encrypted content is made anew each time it is sent."""
    return [Reasoning(text=part.text) if isinstance(part, Reasoning) else part for part in reply.parts]


def _without_output(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "response": {**event["response"], "output": []}}
