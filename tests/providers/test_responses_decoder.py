"""What a loosely written Responses stream becomes: whole-value tables, and the strict end."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.core.errors import ProviderError
from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.requests import CallDelta, Delta, ReasoningDelta, Reply, TextDelta
from overt.core.spending.usage import Usage
from overt.providers.wires.responses import OpenAIResponses

Json = dict[str, Any]


def event(type: str, **fields: Any) -> Json:
    return {"type": f"response.{type}", **fields}


def completed(*output: Json, **fields: Any) -> Json:
    return event("completed", response={"status": "completed", "output": list(output), **fields})


def said(text: Any, piece: str = "output_text.delta", **fields: Any) -> Json:
    return event(piece, delta=text, **fields)


def thought(text: str, **fields: Any) -> Json:
    return said(text, "reasoning_summary_text.delta", **fields)


def argued(text: Any, **fields: Any) -> Json:
    return said(text, "function_call_arguments.delta", **fields)


def added(item: Json, place: int | None = 0) -> Json:
    return event("output_item.added", item=item, output_index=place)


def done(item: Json, place: int | None = 0) -> Json:
    return event("output_item.done", item=item, output_index=place)


def message(text: Any, id: str = "") -> Json:
    return {"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def reasoning(*texts: str, id: str = "rs", **fields: Any) -> Json:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"type": "reasoning", "id": id, "summary": summary, **fields}


def function(call_id: str, name: str, arguments: Any = "", id: str = "", **fields: Any) -> Json:
    return {"type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments, **fields}


def call(id: str, name: str, arguments: str) -> Call:
    return Call(id=id, name=name, arguments=arguments)


def opaque(item: Json) -> str:
    return json.dumps(item, separators=(",", ":"))


def decoded(*events: Any, max_answer: int = 8 << 20) -> Reply:
    decoder = OpenAIResponses(max_answer=max_answer).decoder()
    for each in events:
        decoder.feed(each if isinstance(each, bytes) else json.dumps(each).encode())
    return decoder.end()


def streamed(*events: Json) -> list[Delta]:
    decoder = OpenAIResponses().decoder()
    for each in events:
        decoder.feed(json.dumps(each).encode())
    return decoder.take()


READ = function("a", "read", '{"p":1}', id="fc_a")
LIST = function("b", "list", '{"q":2}', id="fc_b")
CALLS = (call("a", "read", '{"p":1}'), call("b", "list", '{"q":2}'))
SECRET = reasoning("why", id="rs_1", encrypted_content="gAAAA")

PARTS: dict[str, tuple[list[Any], tuple[Part, ...]]] = {
    "only the end": (
        [completed(SECRET, message("hi"), READ)],
        (Reasoning(text="why", opaque=opaque(SECRET)), Text(text="hi"), CALLS[0]),
    ),
    "a whole body in JSON": (
        [{"object": "response", "status": "completed", "output": [message("hi"), READ]}],
        (Text(text="hi"), CALLS[0]),
    ),
    "a response spread over its event": (
        [said("hi"), {"type": "response.completed", "output": [message("hi")]}],
        (Text(text="hi"),),
    ),
    "pieces of two calls, interleaved, joined by index": (
        [
            added(function("a", "read")),
            added(function("b", "list"), 1),
            argued('{"p"', output_index=0),
            argued('{"q"', output_index=1),
            argued(":1}", output_index=0),
            argued(":2}", output_index=1),
            done(function("a", "read", '{"p":1}')),
            done(function("b", "list", '{"q":2}'), 1),
            completed(),
        ],
        CALLS,
    ),
    "pieces joined by id where every index is 0": (
        [
            added(function("a", "read", id="fc_a")),
            added(function("b", "list", id="fc_b")),
            argued('{"p":', item_id="fc_a", output_index=0),
            argued('{"q":', item_id="fc_b", output_index=0),
            argued("1}", item_id="fc_a", output_index=0),
            argued("2}", item_id="fc_b", output_index=0),
            done(READ),
            done(LIST),
            completed(READ, LIST),
        ],
        CALLS,
    ),
    "another id in every event": (
        [
            added(message("", id="1")),
            said("h", item_id="2", output_index=0),
            said("i", item_id="3", output_index=0),
            done(message("hi", id="4")),
            added(function("a", "read", id="5"), 1),
            argued('{"p":', item_id="6", output_index=1),
            argued("1}", item_id="7", output_index=1),
            done(function("a", "read", '{"p":1}', id="8"), 1),
            completed(message("hi", id="9"), function("a", "read", '{"p":1}', id="10")),
        ],
        (Text(text="hi"), CALLS[0]),
    ),
    "an index that moves between the pieces and the end": (
        [
            thought("why", item_id="rs_1", output_index=7),
            done(SECRET, 8),
            added(message("", id="m"), 8),
            said("hi", item_id="m", output_index=8),
            completed(SECRET, message("hi", id="m")),
        ],
        (Reasoning(text="why", opaque=opaque(SECRET)), Text(text="hi")),
    ),
    "text and a call that share an index": (
        [
            added(function("a", "read", id="x")),
            argued('{"p"', output_index=0),
            said("hi", output_index=0),
            argued(":1}", output_index=0),
            completed(function("a", "read", '{"p":1}'), message("hi")),
        ],
        (CALLS[0], Text(text="hi")),
    ),
    "no item was announced": (
        [
            thought("why", output_index=0),
            said("h", output_index=1),
            said("i", output_index=1),
            done(READ, 2),
            completed(),
        ],
        (Reasoning(text="why"), Text(text="hi"), CALLS[0]),
    ),
    "neither ids nor indexes": (
        [
            said("why", "reasoning_text.delta"),
            said("h"),
            said("i"),
            event("function_call_arguments.done", arguments='{"p":1}', name="read"),
            completed(),
        ],
        (Reasoning(text="why"), Text(text="hi"), call("call_0", "read", '{"p":1}')),
    ),
    "one id for all": (
        [
            added(function("a", "read", id="x")),
            added(function("b", "list", id="x"), 1),
            argued('{"q":2}', item_id="x", output_index=1),
            argued('{"p":1}', item_id="x", output_index=0),
            done(function("a", "read", '{"p":1}', id="x")),
            done(function("b", "list", '{"q":2}', id="x"), 1),
            completed(function("a", "read", '{"p":1}', id="x"), function("b", "list", '{"q":2}', id="x")),
        ],
        CALLS,
    ),
    "equal ids of calls are made unique": (
        [completed(function("x", "read", "{}"), function("x", "list", "{}"), function("", "read", "{}"))],
        (call("x", "read", "{}"), call("call_1", "list", "{}"), call("call_2", "read", "{}")),
    ),
    "the same call twice is two calls": (
        [
            done(function("a", "read", "{}")),
            done(function("b", "read", "{}"), 1),
            completed(function("a", "read", "{}"), function("b", "read", "{}")),
        ],
        (call("a", "read", "{}"), call("b", "read", "{}")),
    ),
    "a call that is said to be done twice is one call": (
        [done(READ), done(READ), completed(READ)],
        (CALLS[0],),
    ),
    "arguments written another way at the end are the same call": (
        [
            added(function("", "read")),
            argued('{"p": 1}', output_index=0),
            done(function("", "read", '{"p":1}')),
            completed(function("", "read", {"p": 1})),
        ],
        (call("call_0", "read", '{"p":1}'),),
    ),
    "an object as arguments is written as JSON": (
        [done(function("a", "read", {"p": 1})), completed()],
        (CALLS[0],),
    ),
    "no arguments are an empty object": ([done(function("a", "read", None)), completed()], (call("a", "read", "{}"),)),
    "an end without arguments leaves those that streamed": (
        [added(READ), argued('{"p":1}', output_index=0), done(function("a", "read", "{}", id="fc_a")), completed()],
        (CALLS[0],),
    ),
    "arguments the model wrote badly leave as they are": (
        [done(function("a", "read", '{"p":')), completed()],
        (call("a", "read", '{"p":'),),
    ),
    "a call without its own end, but readable": (
        [added(function("a", "read")), argued('{"p":1}', output_index=0), completed()],
        (CALLS[0],),
    ),
    "pieces that come after the end of their item are not said": (
        [
            done(message("hi", id="m")),
            said("hi", item_id="m"),
            done(READ, 1),
            argued("{}", item_id="fc_a"),
            completed(),
        ],
        (Text(text="hi"), CALLS[0]),
    ),
    "the rest of a text whose pieces were lost": (
        [
            said("h", output_index=0, content_index=0),
            event("output_text.done", text="hi", output_index=0, content_index=0),
            completed(message("hi!")),
        ],
        (Text(text="hi!"),),
    ),
    "a text that its end gives trimmed is not said twice": (
        [said(" hi\n", output_index=0), completed(message("hi"))],
        (Text(text=" hi\n"),),
    ),
    "two parts of one message": (
        [
            said("a", output_index=0, content_index=0),
            event("output_text.done", text="a", output_index=0, content_index=0),
            event("output_text.done", text="b", output_index=0, content_index=1),
            completed(),
        ],
        (Text(text="ab"),),
    ),
    "a refusal is what was said": (
        [
            said("no", "refusal.delta", output_index=0),
            completed({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}),
        ],
        (Text(text="no"),),
    ),
    "content as a string": ([completed({"type": "message", "content": "hi"})], (Text(text="hi"),)),
    "reasoning that holds no text is kept": (
        [completed({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}, message("hi"))],
        (
            Reasoning(text="", opaque='{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}'),
            Text(text="hi"),
        ),
    ),
    "reasoning that streams as one field and is whole in another is not said twice": (
        [
            thought("why", output_index=0),
            completed(reasoning("why", content=[{"type": "reasoning_text", "text": "why"}])),
        ],
        (Reasoning(text="why", opaque=opaque(reasoning("why", content=[{"type": "reasoning_text", "text": "why"}]))),),
    ),
    "a field of reasoning that no piece brought is added": (
        [thought("why", output_index=0), completed(reasoning("why", content="so"))],
        (Reasoning(text="whyso", opaque=opaque(reasoning("why", content="so"))),),
    ),
    "an item that only the end lists stands where it stood": (
        [said("hi", output_index=1), completed(SECRET, message("hi"))],
        (Reasoning(text="why", opaque=opaque(SECRET)), Text(text="hi")),
    ),
    "tools of the server are nothing to run": (
        [
            added({"type": "web_search_call", "id": "ws", "name": "web_search", "arguments": "{}"}),
            argued('{"query":"x"}', item_id="ws", output_index=0),
            done({"type": "web_search_call", "id": "ws", "name": "web_search", "arguments": "{}"}),
            done({"type": "custom_tool_call", "id": "ct", "name": "patch", "input": "x"}, 1),
            event("mcp_call_arguments.delta", item_id="mcp", delta="{}"),
            completed({"type": "shell_call", "id": "sh"}, {"type": "mcp_call", "name": "f", "arguments": "{}"}),
        ],
        (),
    ),
    "a response that a gateway gave up for another": (
        [
            event("created", response={"id": "1"}),
            said("gone", output_index=0),
            done(READ, 1),
            event("created", response={"id": "2"}),
            said("hi", output_index=0),
            completed(message("hi"), id="2"),
        ],
        (Text(text="hi"),),
    ),
    "what follows the end is not ours": (
        [said("hi"), completed(), said("!"), done(READ), completed(READ)],
        (Text(text="hi"),),
    ),
    "nonsense is skipped": (
        [
            [],
            5,
            None,
            "x",
            {"type": None},
            {"type": ["x"]},
            {"type": {}},
            event("output_item.done"),
            event("output_item.added", item=[], output_index={}),
            event("output_item.done", item={"type": []}),
            said({"a": 1}, output_index=[], item_id={}),
            event("output_text.done", text=None),
            argued(None),
            event("brand.new", delta="x"),
            {"type": "keepalive"},
            event("completed", response={"output": [None, 7, {}]}),
        ],
        (Text(text='{"a":1}'),),
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_loose_streams_become_whole_parts(name: str) -> None:
    events, parts = PARTS[name]
    finish = "calls" if any(isinstance(part, Call) for part in parts) else "stop"
    assert decoded(*events) == Reply(parts=parts, finish=finish, usage=Usage())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PARTS)
def test_what_streamed_is_what_the_reply_holds(name: str) -> None:
    if "gave up" in name:
        return  # what was shown of the first response cannot be taken back
    events, parts = PARTS[name]
    deltas = streamed(*events)
    texts = [part.text for part in parts if isinstance(part, Text)]
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "".join(texts)
    progress = [delta for delta in deltas if isinstance(delta, CallDelta)]
    assert sorted(delta.name for delta in progress) == sorted(part.name for part in parts if isinstance(part, Call))


INCOMPLETE: list[tuple[Any, str]] = [
    ({"reason": "max_output_tokens"}, "length"),
    ({"reason": "content_filter"}, "filter"),
    ({"reason": "max_messages"}, "length"),
    (None, "length"),
]


@pytest.mark.parametrize(("details", "finish"), INCOMPLETE)
def test_an_incomplete_response_says_why(details: Any, finish: str) -> None:
    ended = {"status": "incomplete", "incomplete_details": details, "output": [message("hi")]}
    for last in (
        event("incomplete", response=ended),
        event("completed", response=ended),
        {**ended, "object": "response"},
    ):
        assert decoded(said("hi"), last) == Reply(parts=(Text(text="hi"),), finish=finish, usage=Usage())  # type: ignore[arg-type]


def test_of_a_reply_cut_by_length_the_half_call_goes_along_and_of_a_filtered_one_it_does_not() -> None:
    half = [
        added(function("a", "write", id="fc")),
        argued('{"text":"x', item_id="fc", output_index=0),
        done(function("a", "write", '{"text":"x', id="fc", status="incomplete")),
        added(function("b", "write"), 1),
        added(function("c", "write", "{}"), 2),
    ]
    assert decoded(*half, event("incomplete", response={})) == Reply(
        parts=(call("a", "write", '{"text":"x'),), finish="length", usage=Usage()
    )
    filtered = event("incomplete", response={"incomplete_details": {"reason": "content_filter"}})
    assert decoded(*half, filtered) == Reply(parts=(), finish="filter", usage=Usage())


CUT: dict[str, list[Any]] = {
    "nothing at all": [],
    "[DONE] alone": [b"[DONE]"],
    "text without an end": [said("hi"), done(message("hi"))],
    "a whole call without an end": [added(READ), done(READ), b"[DONE]"],
    "a call that was begun and never ended": [added(function("a", "rm")), argued('{"p', output_index=0), completed()],
    "a call that was only named": [added(function("a", "rm")), completed()],
    "a call that was announced with empty arguments": [added(function("a", "rm", "{}")), completed()],
    "a call its server calls incomplete": [done(function("a", "rm", '{"p', status="incomplete")), completed()],
    "a response still under way": [event("created", response={"status": "in_progress", "output": [READ]})],
    "a body still under way": [{"object": "response", "status": "queued", "output": []}],
    "an end that is only mentioned": [said('{"type":"response.completed"}')],
}


@pytest.mark.parametrize("name", CUT)
def test_a_stream_without_its_end_is_no_reply(name: str) -> None:
    with pytest.raises(ProviderError) as caught:
        decoded(*CUT[name])
    assert (caught.value.kind, caught.value.retryable) == ("cut", True)
    assert caught.value.message.startswith("The connection ended in the middle of the reply")


ERRORS: list[tuple[Json, str, str]] = [
    ({"type": "error", "message": "It broke", "code": "server_error"}, "server", "It broke"),
    ({"type": "error", "error": {"type": "x", "message": "It broke"}}, "server", "It broke"),
    ({"type": "error"}, "server", "no reason given"),
    ({"error": {"message": "out of memory"}}, "server", "out of memory"),
    ({"error": "out of memory"}, "server", "out of memory"),
    (event("failed", response={"error": {"code": "rate_limit_exceeded", "message": "slow down"}}), "rate", "slow down"),
    (event("failed", response={"status": "failed", "error": None}), "server", "no reason given"),
    (event("completed", response={"status": "failed", "error": {"message": "x"}}), "server", "x"),
    (event("failed", response={"error": {"code": "context_length_exceeded", "message": "x"}}), "overflow", "x"),
    (event("failed", response={"error": {"code": "insufficient_quota", "message": "x"}}), "balance", "x"),
    (event("cancelled", response={"status": "cancelled"}), "server", "it was cancelled"),
    ({"object": "response", "status": "failed", "error": {"message": "x"}, "output": []}, "server", "x"),
]


@pytest.mark.parametrize(("last", "kind", "why"), ERRORS)
def test_an_error_inside_the_stream_is_an_error(last: Json, kind: str, why: str) -> None:
    with pytest.raises(ProviderError) as caught:
        decoded(said("a"), last, completed())
    assert (caught.value.kind, caught.value.message) == (
        kind,
        f"The server broke off its reply with an error: {why}",
    )


def test_the_error_of_a_tool_of_the_server_is_not_an_error_of_the_reply() -> None:
    assert decoded(event("mcp_call.failed", error={"message": "x"}), said("a"), completed()).finish == "stop"


USAGES: list[tuple[Any, Usage]] = [
    (
        {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 3},
        },
        Usage(input=9, output=4, cached=5, cache_write=2, reasoning=3),
    ),
    ({"input_tokens": "9", "output_tokens": None, "input_tokens_details": 5}, Usage()),
    (None, Usage()),
]


@pytest.mark.parametrize(("usage", "expected"), USAGES)
def test_usage_and_model_come_with_the_end(usage: Any, expected: Usage) -> None:
    begun = event("created", response={"id": "r", "model": "asked"})
    assert decoded(begun, completed(usage=usage, model="m-2")) == Reply(
        parts=(), finish="stop", usage=expected, model="m-2"
    )
    assert decoded(begun, completed(usage=usage)).model == "asked"


def test_deltas_keep_their_order_and_neighbours_are_merged() -> None:
    decoder = OpenAIResponses().decoder()
    for each in (
        thought("r", output_index=0, summary_index=0),
        thought("s", output_index=0, summary_index=0),
        thought("t", output_index=0, summary_index=1),
        said("a", output_index=1),
        said("b", output_index=1),
        added(function("i", "f"), 2),
        argued("123", output_index=2),
        argued("45", output_index=2),
        thought("u", output_index=3, summary_index=0),
    ):
        decoder.feed(json.dumps(each).encode())
    assert decoder.take() == [
        ReasoningDelta(text="rs\n\nt"),
        TextDelta(text="ab"),
        ReasoningDelta(text="\n\nu"),
        CallDelta(index=0, name="f", characters=5, ready=0),
    ]
    assert decoder.take() == []
    decoder.feed(json.dumps(done(function("i", "f", "{}"), 2)).encode())
    assert decoder.take() == [CallDelta(index=0, name="f", characters=5, ready=1)]


def test_the_first_whole_reasoning_item_is_kept_unless_a_later_one_is_encrypted() -> None:
    bare, other = reasoning("why", id="rs_1"), reasoning("why", id="rs_1", encrypted_content="other")
    assert decoded(done(SECRET), completed(other)).parts == (Reasoning(text="why", opaque=opaque(SECRET)),)
    assert decoded(done(bare), completed(SECRET)).parts == (Reasoning(text="why", opaque=opaque(SECRET)),)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b'{"type":"response.output_text.delta","delta":"a\xffb"}', "a�b"),
        (b'{"type":"response.output_text.delta","delta":"a\\ud83db"}', "a�b"),
        (b'{"type":"response.output_text.delta","delta":"\\ud83d\\ude00"}', "😀"),
    ],
)
def test_what_is_not_unicode_becomes_a_replacement_character(payload: bytes, text: str) -> None:
    assert decoded(payload, completed()).parts == (Text(text=text),)


@pytest.mark.parametrize("payload", [b"{", b"data", b'{"a":', b"[" * 100_000])
def test_what_is_not_json_is_a_value_error(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        OpenAIResponses().decoder().feed(payload)


@pytest.mark.parametrize(
    "events",
    [
        [said("12345"), argued("123456")],
        [said("12345"), done(message("12345" + "x" * 5000))],
        [completed(function("a", "f", "x" * 5000))],
        [thought("x" * 5000)],
    ],
)
def test_an_answer_above_the_cap_is_refused(events: list[Json]) -> None:
    with pytest.raises(ProviderError) as caught:
        decoded(*events, max_answer=2 * 2048 + 10)
    assert caught.value.kind == "too_large"


def test_a_stream_of_nothing_but_items_ends_at_the_cap() -> None:
    decoder = OpenAIResponses(max_answer=64 * 1024).decoder()
    payloads = (json.dumps(done(message("", id=f"m{number}"), number)).encode() for number in range(1_000_000))
    with pytest.raises(ProviderError) as caught:
        for payload in payloads:
            decoder.feed(payload)
    assert caught.value.kind == "too_large"


items = st.one_of(
    st.builds(message, st.text(max_size=5), st.sampled_from(["", "m1", "m2"])),
    st.builds(lambda text, id: reasoning(text, id=id), st.text(max_size=5), st.sampled_from(["", "r1", "r2"])),
    st.builds(function, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "f", "g"]), st.text(max_size=5)),
    st.just({"type": "web_search_call", "id": "ws"}),
)
places = st.one_of(st.none(), st.integers(0, 3))
keys = st.fixed_dictionaries({}, optional={"item_id": st.sampled_from(["", "m1", "r1", "fc"]), "output_index": places})
anything = st.one_of(
    st.builds(added, items, places),
    st.builds(done, items, places),
    st.builds(
        lambda make, text, more: make(text, **more), st.sampled_from([said, thought, argued]), st.text(max_size=5), keys
    ),
    st.builds(lambda text, more: event("output_text.done", text=text, **more), st.text(max_size=5), keys),
    st.builds(
        lambda text, more: event("function_call_arguments.done", arguments=text, **more), st.text(max_size=5), keys
    ),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(anything, max_size=12), st.lists(items, max_size=4))
def test_no_stream_breaks_the_decoder_and_no_two_calls_share_an_id(events: list[Json], output: list[Json]) -> None:
    decoder = OpenAIResponses().decoder()
    shown = ""
    for each in [*events, completed(*output)]:
        decoder.feed(json.dumps(each).encode())
        shown += "".join(delta.text for delta in decoder.take() if isinstance(delta, TextDelta))
    try:
        found = decoder.end()
    except ProviderError as error:
        assert error.kind == "cut"
        return
    calls = [part for part in found.parts if isinstance(part, Call)]
    assert len({part.id for part in calls}) == len(calls)
    assert (found.finish == "calls") == bool(calls)
    assert sorted(shown) == sorted("".join(part.text for part in found.parts if isinstance(part, Text)))
