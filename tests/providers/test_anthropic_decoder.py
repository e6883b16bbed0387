"""What a stream of the Messages API becomes: whole-value tables, and the strict end."""

import json
from random import Random
from typing import Any

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.providers.provider_kit import KEY, QUICK, ask, run

from overt.context.assemble import Assembler
from overt.core.errors import ProviderError
from overt.core.messages import Call, Message, Part, Reasoning, Text, said
from overt.core.requests import CallDelta, Delta, Params, Prefix, ReasoningDelta, Reply, TextDelta
from overt.core.settings import ProviderEntry
from overt.core.spending.usage import Usage
from overt.core.text_fragments import MODEL, USER
from overt.providers.http_provider import HttpProvider
from overt.providers.wires.anthropic import Anthropic

STOP = {"type": "message_stop"}
PING = {"type": "ping"}


def start(id: str = "msg_1", **fields: Any) -> dict[str, Any]:
    message = {"id": id, "type": "message", "role": "assistant", "model": "claude", "content": [], **fields}
    return {"type": "message_start", "message": message}


def opened(index: Any, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: Any, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closed(index: Any) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ended(reason: str | None = "end_turn", **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def text(index: Any, *pieces: str) -> list[dict[str, Any]]:
    made = [delta(index, "text_delta", text=piece) for piece in pieces]
    return [opened(index, type="text", text=""), *made, closed(index)]


def use(index: Any, *pieces: str, id: str = "toolu_1", name: str = "read", **fields: Any) -> list[dict[str, Any]]:
    made = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [opened(index, type="tool_use", id=id, name=name, **{"input": {}, **fields}), *made, closed(index)]


def thought(index: Any, words: str, signature: str) -> list[dict[str, Any]]:
    return [
        opened(index, type="thinking", thinking="", signature=""),
        delta(index, "thinking_delta", thinking=words),
        delta(index, "signature_delta", signature=signature),
        closed(index),
    ]


def fed(*events: Any, max_answer: int = 8 * 1024 * 1024) -> Any:
    decoder = Anthropic(max_answer=max_answer).decoder()
    for event in events:
        decoder.feed(event if isinstance(event, bytes) else json.dumps(event).encode())
    return decoder


def decoded(*events: Any) -> Reply:
    reply: Reply = fed(*events).end()
    return reply


def call(id: str = "toolu_1", name: str = "read", arguments: str = '{"path":"a"}') -> Call:
    return Call(id=id, name=name, arguments=arguments)


HI = Text(text="hi")

PARTS: dict[str, tuple[list[Any], tuple[Part, ...]]] = {
    "thinking, text and a call keep their order": (
        [*thought(0, "why", "sig"), *text(1, "h", "i"), *use(2, "", '{"path":', '"a"}')],
        (Reasoning(text="why", signature="sig"), HI, call()),
    ),
    "thinking between calls stays between them": (
        [*thought(0, "a", "1"), *use(1, '{"path":"a"}'), *thought(2, "b", "2"), *use(3, "{}", id="toolu_2")],
        (
            Reasoning(text="a", signature="1"),
            call(),
            Reasoning(text="b", signature="2"),
            call("toolu_2", arguments="{}"),
        ),
    ),
    "redacted thinking is kept whole": (
        [opened(0, type="redacted_thinking", data="EqQB"), closed(0), *text(1, "hi")],
        (Reasoning(text="", opaque='{"type":"redacted_thinking","data":"EqQB"}'), HI),
    ),
    "silent thinking is its signature": (
        [*thought(0, "", "sig"), *text(1, "hi")],
        (
            Reasoning(text="", signature="sig"),
            HI,
        ),
    ),
    "input may come whole in the start": ([*use(0, input={"path": "a"})], (call(),)),
    "input as a string": ([*use(0, input='{"path":"a"}')], (call(),)),
    "streamed input wins over that of the start": ([*use(0, '{"path":"a"}', input={"path": "b"})], (call(),)),
    "no input at all is an empty object": (
        [*use(0), *use(1, "", id="t2")],
        (
            call(arguments="{}"),
            call("t2", arguments="{}"),
        ),
    ),
    "broken input leaves as the model wrote it": ([*use(0, '{"path": "a')], (call(arguments='{"path": "a'),)),
    "blocks may share an index": (
        [*text(0, "hi"), *use(0, '{"path":"a"}'), *use(0, "{}", id="t2", name="write")],
        (HI, call(), call("t2", "write", "{}")),
    ),
    "blocks may have no index": ([*text(None, "hi"), *use("x", '{"path":"a"}')], (HI, call())),
    "blocks may interleave": (
        [
            *use(0)[:1],
            *use(4, id="t2")[:1],
            delta(4, "input_json_delta", partial_json="{}"),
            delta(0, "input_json_delta", partial_json='{"path":"a"}'),
            closed(4),
            closed(0),
        ],
        (call(), call("t2", arguments="{}")),
    ),
    "ids are made unique": (
        [*use(0, "{}", id="a"), *use(1, "{}", id="a"), *use(2, "{}", id=""), *use(3, "{}", id="call_1")],
        tuple(call(id, arguments="{}") for id in ("a", "call_2", "call_3", "call_1")),
    ),
    "text without a start": ([delta(0, "text_delta", text="h"), delta(0, "text_delta", text="i")], (HI,)),
    "thinking without a start": (
        [delta(0, "thinking_delta", thinking="why"), delta(0, "signature_delta", signature="s"), *text(1, "hi")],
        (Reasoning(text="why", signature="s"), HI),
    ),
    "text without a stop": (text(0, "hi")[:-1], (HI,)),
    "text in the start": ([opened(0, type="text", text="hi"), closed(0)], (HI,)),
    "empty text is nothing": ([*text(0), *text(1, "hi")], (HI,)),
    "what the server ran itself is not ours": (
        [
            opened(0, type="server_tool_use", id="srvtoolu_1", name="web_search", input={}),
            delta(0, "input_json_delta", partial_json='{"query":"x"}'),
            closed(0),
            opened(1, type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[{"type": "x"}]),
            closed(1),
            opened(2, type="mcp_tool_use", id="m", name="echo", server_name="s", input={"a": 1}),
            closed(2),
            *text(3, "hi"),
            delta(3, "citations_delta", citation={"type": "char_location"}),
        ],
        (HI,),
    ),
    "unknown blocks, deltas and events are passed over": (
        [PING, {"type": "news"}, opened(0, type="fallback"), delta(0, "news", text="x"), closed(0), *text(1, "hi"), []],
        (HI,),
    ),
    "fields of a wrong type are skipped": (
        [
            {"type": "content_block_start", "index": [], "content_block": None},
            {"type": "content_block_delta", "index": {}, "delta": None},
            {"type": "content_block_stop"},
            {"type": "message_delta", "delta": [], "usage": 3},
            delta(5, "text_delta", text=7),
            *text(0, "hi"),
        ],
        (HI,),
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_blocks_become_parts(name: str) -> None:
    events, parts = PARTS[name]
    found = decoded(start(), *events, ended(), STOP)
    assert found == Reply(
        parts=parts,
        finish="calls" if any(isinstance(part, Call) for part in parts) else "stop",
        usage=Usage(),
        model="claude",
    )


FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
    "something_new": "stop",
    None: "stop",
}


@pytest.mark.parametrize("reason", FINISHES)
def test_a_stop_reason_says_how_it_ended(reason: str | None) -> None:
    assert decoded(start(), *text(0, "hi"), ended(reason), STOP).finish == FINISHES[reason]


def test_calls_decide_what_a_plain_end_is_called() -> None:
    assert decoded(start(), *use(0, "{}"), ended("end_turn"), STOP).finish == "calls"
    assert decoded(start(), *use(0, '{"a'), ended("max_tokens"), STOP).finish == "length"


def test_counts_are_totals_and_every_prompt_token_is_input() -> None:
    opening = start(usage={"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1})
    closing = ended(
        "end_turn",
        cache_creation_input_tokens=7,
        input_tokens=None,
        output_tokens=30,
        output_tokens_details={"thinking_tokens": 4},
    )
    found = decoded(opening, *text(0, "hi"), ended(None, output_tokens=9), closing, STOP)
    assert found.usage == Usage(input=22, output=30, cached=5, cache_write=7, reasoning=4)
    assert decoded(start(usage={"input_tokens": -1, "output_tokens": "9"}), STOP).usage == Usage()
    guessed = start(usage={"input_tokens": 100, "output_tokens": 1})
    assert decoded(guessed, ended(input_tokens=0, output_tokens=0), STOP).usage == Usage(input=100, output=1)
    told = ended(input_tokens=0, cache_read_input_tokens=80, output_tokens=2)
    assert decoded(guessed, told, STOP).usage == Usage(input=80, output=2, cached=80)


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────

CUTS: dict[str, list[Any]] = {
    "nothing came": [],
    "only an end": [STOP],
    "no end": [start(), *text(0, "hi"), ended()],
    "another format's end": [start(), *text(0, "hi"), ended(), b"[DONE]"],
    "a call without its stop": [start(), *text(0, "hi"), *use(1, '{"path":"a"}')[:-1], ended("tool_use"), STOP],
    "a call replaced before its stop": [start(), *use(0, "{}")[:-1], *use(0, "{}", id="t2"), ended(), STOP],
    "a call whose start was lost": [start(), *use(0, "{}")[1:], ended("tool_use"), STOP],
    "input after the stop of its call": [
        start(),
        *use(0, "{}"),
        delta(0, "input_json_delta", partial_json="x"),
        ended("tool_use"),
        STOP,
    ],
}


@pytest.mark.parametrize("name", CUTS)
def test_anything_but_a_whole_reply_is_a_cut(name: str) -> None:
    with pytest.raises(ProviderError, match="in the middle of the reply") as caught:
        decoded(*CUTS[name])
    assert (caught.value.kind, caught.value.retryable) == ("cut", True)


def test_nothing_after_the_end_matters() -> None:
    decoder = fed(start(), *text(0, "hi"), ended(), STOP)
    assert (decoder.finished, decoder.done) == (True, True)
    for event in (start("msg_2"), *use(0, "{}"), {"type": "error", "error": {}}):
        decoder.feed(json.dumps(event).encode())
    decoder.feed(b"no JSON at all")
    assert decoder.end().parts == (HI,)


def test_a_reply_is_not_finished_before_its_last_event() -> None:
    decoder = fed(start(), *text(0, "hi"), ended())
    assert (decoder.finished, decoder.done) == (False, False)


def test_the_same_message_started_twice_is_one_message() -> None:
    usage = {"input_tokens": 17, "output_tokens": 1}
    events = [start(usage=usage), *text(0, "h"), start(usage=usage), *text(1, "i"), ended(output_tokens=2), STOP]
    assert decoded(*events).parts == (Text(text="h"), Text(text="i"))
    assert decoded(*events).usage == Usage(input=17, output=2)


def test_another_message_takes_the_place_of_one_that_broke_off() -> None:
    first = [*thought(0, "first", "sig-1"), *use(1, '{"path":"', id="toolu_first")[:-1]]
    second = [*thought(0, "second", "sig-2"), *use(1, '{"path":"a"}', id="toolu_second")]
    found = decoded(start("a"), *first, start("b", usage={"input_tokens": 3}), *second, ended("tool_use"), STOP)
    assert found.parts == (Reasoning(text="second", signature="sig-2"), call("toolu_second"))
    assert found.usage == Usage(input=3)


# ── errors and limits ────────────────────────────────────────────────────────────────────────────────────

ERRORS: dict[str, tuple[Any, str, int, str]] = {
    "overloaded": ({"type": "overloaded_error", "message": "Overloaded"}, "server", 529, "Overloaded"),
    "rate": ({"type": "rate_limit_error", "message": "Slow down"}, "rate", 429, "Slow down"),
    "no words": ({"type": "api_error"}, "server", 500, "api_error"),
    "too long": ({"type": "invalid_request_error", "message": "prompt is too long: 9"}, "overflow", 0, "too long"),
    "no money": ({"type": "billing_error", "message": "Pay"}, "balance", 0, "Pay"),
    "a string": ("boom", "server", 0, "boom"),
    "nothing": (None, "server", 0, "no reason"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_in_the_stream_is_raised_in_its_own_words(name: str) -> None:
    error, kind, status, words = ERRORS[name]
    with pytest.raises(ProviderError, match=words) as caught:
        fed(start(), *text(0, "hi"), {"type": "error", "error": error})
    assert (caught.value.kind, caught.value.status) == (kind, status)


def test_what_is_not_json_is_a_value_error_and_harms_nothing() -> None:
    decoder = fed(start(), *text(0, "h"))
    for broken in (b'{"type":', b"[" * 100_000, b"<html>"):
        with pytest.raises(ValueError):
            decoder.feed(broken)
    for event in (*text(1, "i"), STOP):
        decoder.feed(json.dumps(event).encode())
    assert decoder.end().parts == (Text(text="h"), Text(text="i"))


def test_bytes_that_are_not_utf8_and_half_surrogates_become_replacement_characters() -> None:
    raw = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\xff\\ud83d"}}'
    assert decoded(start(), opened(0, type="text", text=""), raw, closed(0), STOP).parts == (Text(text="a��"),)


@pytest.mark.parametrize(
    "piece",
    [
        delta(0, "text_delta", text="x" * 600),
        delta(0, "thinking_delta", thinking="x" * 600),
        delta(0, "signature_delta", signature="x" * 600),
        opened(0, type="tool_use", id="a", name="b", input={"a": "x" * 600}),
        opened(0, type="redacted_thinking", data="x" * 600),
    ],
)
def test_a_reply_beyond_the_limit_is_abandoned(piece: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match="max_answer") as caught:
        fed(start(), piece, piece, max_answer=1000)
    assert caught.value.kind == "too_large"


KINDS = [
    *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
    *("message_delta", "message_stop", "message", "error", "ping"),
]
INNER = [
    *("text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"),
    *("text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"),
]
FIELDS = ["text", "thinking", "signature", "partial_json", "input", "id", "name", "data", "stop_reason", "content"]


def anything(chance: Random, depth: int = 2) -> Any:
    plain = chance.choice([None, True, -1, 0, 2, 0.5, 1e300, "", "a", "b", chance.choice(INNER)])
    if not depth or chance.random() < 0.6:
        return plain
    if chance.random() < 0.3:
        return [anything(chance, depth - 1) for _ in range(chance.randrange(3))]
    fields = {field: anything(chance, depth - 1) for field in chance.sample(FIELDS, 3)}
    return {"type": chance.choice([*INNER, plain]), **fields}


def strange(chance: Random) -> dict[str, Any]:
    event = {key: anything(chance) for key in ("content_block", "delta", "message", "content", "usage", "error")}
    kept = {key: value for key, value in event.items() if chance.random() < 0.7}
    return {"type": chance.choice(KINDS), "index": chance.choice([0, 1, anything(chance)]), **kept}


def test_no_stream_however_strange_ends_in_anything_but_a_reply_or_an_error_in_words() -> None:
    chance, replies = Random(7), 0
    for _ in range(4000):
        try:
            decoder = fed(*(strange(chance) for _ in range(chance.randrange(12))))
            decoder.take()
            reply = decoder.end()
        except ProviderError:
            continue
        replies += 1
        calls = [part for part in reply.parts if isinstance(part, Call)]
        assert len({each.id for each in calls}) == len(calls)
    assert replies > 100


def test_arguments_beyond_the_limit_are_abandoned() -> None:
    with pytest.raises(ProviderError, match="max_answer"):
        fed(start(), *use(0, "x" * 600, "x" * 600), max_answer=1000)


# ── while it streams ─────────────────────────────────────────────────────────────────────────────────────


def test_what_has_come_since_the_last_look_is_merged() -> None:
    decoder = fed(start(), *thought(0, "wh", "s")[:-1], delta(0, "thinking_delta", thinking="y"), *text(1, "h", "i"))
    assert decoder.take() == [ReasoningDelta(text="why"), TextDelta(text="hi")]
    assert decoder.take() == []


def test_the_progress_of_calls_is_visible_while_they_stream() -> None:
    decoder = fed(start())
    seen: list[list[Delta]] = []
    for event in (*use(0, '{"a', '":1}'), PING, *use(1, id="t2", name="write", input={"b": 2})):
        decoder.feed(json.dumps(event).encode())
        seen.append(decoder.take())

    def progress(index: int, name: str, characters: int, ready: int) -> list[Delta]:
        return [CallDelta(index=index, name=name, characters=characters, ready=ready)]

    assert seen == [
        progress(0, "read", 0, 0),
        progress(0, "read", 3, 0),
        progress(0, "read", 7, 0),
        progress(0, "read", 7, 1),
        [],
        progress(1, "write", 7, 1),
        progress(1, "write", 7, 2),
    ]


# ── whole bodies and the wire in use ─────────────────────────────────────────────────────────────────────

BODY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "why", "signature": "sig"},
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
WHOLE = Reply(
    parts=(Reasoning(text="why", signature="sig"), HI, call()),
    finish="calls",
    usage=Usage(input=3, output=4),
    model="claude",
)


def test_a_whole_body_is_a_reply() -> None:
    decoder = fed(BODY)
    assert decoder.take() == [
        ReasoningDelta(text="why"),
        TextDelta(text="hi"),
        CallDelta(index=0, name="read", characters=12, ready=1),
    ]
    assert decoder.end() == WHOLE
    assert decoded({"type": "message_start", "message": BODY}, STOP) == WHOLE


def over_http(turn: Turn) -> tuple[list[Delta], ProviderError | None, Any]:
    async def main(url: str) -> tuple[list[Delta], ProviderError | None]:
        entry = ProviderEntry(name="fake", kind="anthropic", base_url=url, api_key_env="FAKE_API_KEY")
        source = HttpProvider(entry, Anthropic(), key=KEY, patience=QUICK)
        made = Assembler(source.wire).assemble(
            Prefix(system=(), tools=()), (said("hello", origin=USER),), Params(model="claude")
        )
        try:
            return await ask(source, made.request)
        finally:
            source.close()

    with ModelServer([turn]) as server:
        deltas, error = run(main(server.url))
        return deltas, error, server.requests


def payloads(*events: Any) -> tuple[str, ...]:
    return tuple(json.dumps(event) for event in events)


def test_a_server_gets_the_path_the_key_and_the_body_and_its_stream_is_read() -> None:
    deltas, error, requests = over_http(Turn(events=payloads(start(), *text(0, "hi"), ended(), STOP), framing="event"))
    assert error is None
    assert deltas[-1] == Reply(parts=(HI,), finish="stop", usage=Usage(), model="claude")
    (request,) = requests
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert request.path == "/v1/messages"
    assert headers["x-api-key"] == KEY
    assert headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in headers


def test_a_stream_that_breaks_is_one_request_and_a_cut() -> None:
    turn = Turn(events=payloads(start(), *text(0, "hi"), *use(1, "{}"), ended(), STOP), fault=Fault(cut_after=6))
    deltas, error, requests = over_http(turn)
    assert TextDelta(text="hi") in deltas
    assert error is not None
    assert len(requests) == 1
    assert not any(isinstance(delta, Reply) for delta in deltas)


def test_thinking_goes_back_exactly_as_it_came() -> None:
    events = [*thought(0, "why", "sig"), opened(1, type="redacted_thinking", data="EqQB"), closed(1), *use(2, "{}")]
    found = decoded(start(), *events, ended("tool_use"), STOP)
    sent = json.loads(Anthropic().message(Message(role="assistant", parts=found.parts, origin=MODEL)))
    assert sent["content"] == [
        {"type": "thinking", "thinking": "why", "signature": "sig"},
        {"type": "redacted_thinking", "data": "EqQB"},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
    ]
