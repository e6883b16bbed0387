"""What a loosely written stream becomes: whole-value tables, and the strict end."""

import json
from typing import Any

import pytest

from overt.core.errors import ProviderError
from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.requests import CallDelta, ReasoningDelta, Reply, TextDelta
from overt.core.spending.usage import Usage
from overt.providers.wires.openai import OpenAIChat

STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
CALLS = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def piece(**fields: Any) -> dict[str, Any]:
    """A delta of one tool call; `name` and `arguments` go into its function."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return delta(tool_calls=[{**fields, "function": function}])


def decoded(*chunks: Any, done: bool = False) -> Reply:
    decoder = OpenAIChat().decoder()
    for chunk in chunks:
        decoder.feed(chunk if isinstance(chunk, bytes) else json.dumps(chunk).encode())
    if done:
        decoder.feed(b"[DONE]")
    return decoder.end()


def call(id: str, name: str, arguments: str) -> Call:
    return Call(id=id, name=name, arguments=arguments)


TEXTS: dict[str, tuple[Any, str]] = {
    "a string": ("hello", "hello"),
    "typed parts": ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
    "strings in a list": (["a", "b"], "ab"),
    "an object with text": ({"type": "text", "text": "a"}, "a"),
    "an object with parts": ({"content": [{"text": "a"}]}, "a"),
    "any other object as compact JSON": ({"b": 1, "a": [2]}, '{"b":1,"a":[2]}'),
    "a number": (7, "7"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_extracted_from_any_content(name: str) -> None:
    content, text = TEXTS[name]
    assert decoded(delta(content=content), STOP).parts == (Text(text=text),)


PARTS: dict[str, tuple[list[Any], tuple[Part, ...]]] = {
    "another name begins another call": (
        [
            delta(
                tool_calls=[
                    {"function": {"name": "todoread", "arguments": ""}},
                    {"function": {"name": "b", "arguments": "{}"}},
                ]
            )
        ],
        (call("call_0", "todoread", "{}"), call("call_1", "b", "{}")),
    ),
    "what follows the end is not listened to": (
        [
            delta(content="Hi"),
            STOP,
            b"[DONE]",
            delta(content=" again"),
            piece(id="x", name="bash", arguments="{}"),
            b"junk",
        ],
        (Text(text="Hi"),),
    ),
    "pieces are joined by index": (
        [
            piece(index=0, id="a", name="read", arguments=""),
            piece(index=1, id="b", name="list", arguments='{"x"'),
            piece(index=0, arguments='{"p":1}'),
            piece(index=1, arguments=":2}"),
        ],
        (call("a", "read", '{"p":1}'), call("b", "list", '{"x":2}')),
    ),
    "gaps between indexes do not matter": (
        [piece(index=3, id="a", name="read", arguments="{}"), piece(index=7, id="b", name="list", arguments="{}")],
        (call("a", "read", "{}"), call("b", "list", "{}")),
    ),
    "a missing index continues the last call": (
        [
            piece(id="a", name="read", arguments='{"p"'),
            piece(arguments=":1}"),
            piece(id="b", name="list", arguments="{}"),
        ],
        (call("a", "read", '{"p":1}'), call("b", "list", "{}")),
    ),
    "whole calls without index and id stand apart": (
        [piece(name="read", arguments='{"p":1}'), piece(name="read", arguments='{"p":2}')],
        (call("call_0", "read", '{"p":1}'), call("call_1", "read", '{"p":2}')),
    ),
    "equal ids are made unique": (
        [piece(index=0, id="x", name="read", arguments="{}"), piece(index=1, id="x", name="list", arguments="{}")],
        (call("x", "read", "{}"), call("call_1", "list", "{}")),
    ),
    "a made-up id avoids those that exist": (
        [
            piece(index=0, name="read", arguments="{}"),
            piece(index=1, id="call_0", name="list", arguments="{}"),
        ],
        (call("call_1", "read", "{}"), call("call_0", "list", "{}")),
    ),
    "two calls that share an index are two calls": (
        [piece(index=0, id="a", name="read", arguments='{"p":1}'), piece(index=0, id="b", name="list", arguments="{}")],
        (call("a", "read", '{"p":1}'), call("b", "list", "{}")),
    ),
    "two whole calls that share an index without ids are two calls": (
        [piece(index=0, name="read", arguments='{"p":1}'), piece(index=0, name="list", arguments="{}")],
        (call("call_0", "read", '{"p":1}'), call("call_1", "list", "{}")),
    ),
    "a new id in every piece is still one call": (
        [piece(index=0, id="a", name="read", arguments='{"p"'), piece(index=0, id="b", arguments=":1}")],
        (call("a", "read", '{"p":1}'),),
    ),
    "a name repeated in every piece is still one call": (
        [piece(index=0, name="read", arguments='{"p"'), piece(index=0, name="read", arguments=":1}")],
        (call("call_0", "read", '{"p":1}'),),
    ),
    "an object as arguments is written as JSON": (
        [piece(index=0, id="a", name="read", arguments={"p": 1})],
        (call("a", "read", '{"p":1}'),),
    ),
    "no arguments are an empty object": ([piece(index=0, id="a", name="read")], (call("a", "read", "{}"),)),
    "a null name waits for the real one": (
        [piece(index=0, id="a", name=None, arguments=None), piece(index=0, name="read", arguments="{}")],
        (call("a", "read", "{}"),),
    ),
    "a call of nothing is dropped": (
        [piece(index=0, id="a"), piece(index=1, id="b", name="x")],
        (call("b", "x", "{}"),),
    ),
    "a single call instead of a list": (
        [delta(tool_calls={"id": "a", "function": {"name": "read", "arguments": "{}"}})],
        (call("a", "read", "{}"),),
    ),
    "name and arguments beside the id": (
        [delta(tool_calls=[{"id": "a", "name": "read", "arguments": "{}"}])],
        (call("a", "read", "{}"),),
    ),
    "nonsense in place of calls is skipped": (
        [delta(tool_calls=[None, 3, "x", {"function": 5}]), delta(tool_calls=True)],
        (),
    ),
    "reasoning, text and calls keep this order": (
        [delta(content="t"), piece(index=0, id="a", name="read", arguments="{}"), delta(reasoning_content="r")],
        (Reasoning(text="r"), Text(text="t"), call("a", "read", "{}")),
    ),
    "the other name of reasoning": ([delta(reasoning="r1"), delta(reasoning="r2")], (Reasoning(text="r1r2"),)),
    "an empty reasoning field is kept": (
        [delta(reasoning_content="", content="a")],
        (Reasoning(text=""), Text(text="a")),
    ),
    "a whole message instead of deltas": (
        [
            {
                "choices": [
                    {
                        "message": {
                            "content": "a",
                            "tool_calls": [{"id": "i", "function": {"name": "f", "arguments": {}}}],
                        }
                    }
                ]
            }
        ],
        (Text(text="a"), call("i", "f", "{}")),
    ),
    "a whole message after its deltas adds only the rest": (
        [delta(content="ab"), {"choices": [{"message": {"content": "abc"}}]}],
        (Text(text="abc"),),
    ),
    "unknown events are ignored": ([{"type": "ping"}, [], 5, None, "x", {"choices": None}, {"choices": [7]}], ()),
}


@pytest.mark.parametrize("name", PARTS)
def test_loose_streams_become_whole_parts(name: str) -> None:
    chunks, parts = PARTS[name]
    finish = "calls" if any(isinstance(part, Call) for part in parts) else "stop"
    for last in (STOP, CALLS):
        assert decoded(*chunks, last) == Reply(parts=parts, finish=finish, usage=Usage())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "finish"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "filter"), ("max_tokens", "length"), ("odd", "stop")],
)
def test_reasons_to_finish_are_translated(said: str, finish: str) -> None:
    assert decoded(delta(content="a"), {"choices": [{"finish_reason": said, "delta": {}}]}).finish == finish


def test_a_reply_cut_by_length_keeps_its_half_call_and_says_length() -> None:
    found = decoded(
        piece(index=0, id="a", name="write", arguments='{"text":"x'),
        {"choices": [{"delta": {}, "finish_reason": "length"}]},
    )
    assert found == Reply(parts=(call("a", "write", '{"text":"x'),), finish="length", usage=Usage())


USAGES: list[tuple[dict[str, Any], Usage]] = [
    (
        {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}},
        Usage(input=9, output=4, cached=5),
    ),
    ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 8}, Usage(input=9, output=4, cached=8)),
    (
        {"prompt_tokens": 9, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 3}},
        Usage(input=9, output=4, reasoning=3),
    ),
    ({"prompt_tokens": "9", "completion_tokens": None, "prompt_tokens_details": 5}, Usage()),
]


@pytest.mark.parametrize(("usage", "expected"), USAGES)
def test_usage_is_read_beside_the_finish_and_after_it(usage: dict[str, Any], expected: Usage) -> None:
    assert decoded(delta(content="a"), {**STOP, "usage": usage}).usage == expected
    assert decoded(delta(content="a"), STOP, {"choices": [], "usage": usage}).usage == expected


CUT: dict[str, tuple[list[Any], bool]] = {
    "nothing at all": ([], False),
    "text without an end": ([delta(content="a")], False),
    "a call without an end, whole or not": ([piece(index=0, id="a", name="rm", arguments="{}")], False),
    "a half call closed by [DONE]": ([piece(index=0, id="a", name="rm", arguments='{"p"')], True),
    "[DONE] alone": ([], True),
}


@pytest.mark.parametrize("name", CUT)
def test_a_stream_without_its_end_is_no_reply(name: str) -> None:
    chunks, done = CUT[name]
    with pytest.raises(ProviderError) as caught:
        decoded(*chunks, done=done)
    assert caught.value.kind == "cut"


def test_done_ends_a_reply_whose_calls_are_whole() -> None:
    found = decoded(delta(content="a"), piece(index=0, id="i", name="f", arguments='{"a":1}'), done=True)
    assert found == Reply(parts=(Text(text="a"), call("i", "f", '{"a":1}')), finish="calls", usage=Usage())


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"error": {"message": "Overloaded", "code": 529}}, "server"),
        ({"error": "out of memory"}, "server"),
        ({"error": {"message": "slow down", "code": 429}}, "rate"),
        ({"error": {"message": "maximum context length is 10"}}, "overflow"),
        ({"choices": [{"delta": {}, "finish_reason": "error"}], "error": {"message": "x"}}, "server"),
    ],
)
def test_an_error_inside_the_stream_is_an_error(event: dict[str, Any], kind: str) -> None:
    with pytest.raises(ProviderError) as caught:
        decoded(delta(content="a"), event, STOP)
    assert caught.value.kind == kind


def test_deltas_of_one_take_are_merged() -> None:
    decoder = OpenAIChat().decoder()
    for chunk in (delta(content="a"), delta(content="b"), delta(reasoning_content="r")):
        decoder.feed(json.dumps(chunk).encode())
    for chunk in (
        piece(index=0, id="i", name="f", arguments="123"),
        piece(index=0, arguments="45"),
        delta(content="c"),
    ):
        decoder.feed(json.dumps(chunk).encode())
    assert decoder.take() == [
        ReasoningDelta(text="r"),
        TextDelta(text="abc"),
        CallDelta(index=0, name="f", characters=5, ready=0),
    ]
    assert decoder.take() == []


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b'{"choices":[{"delta":{"content":"a\xffb"}}]}', "a�b"),
        (b'{"choices":[{"delta":{"content":"a\\ud83db"}}]}', "a�b"),
        (b'{"choices":[{"delta":{"content":"\\ud83d\\ude00"}}]}', "😀"),
    ],
)
def test_what_is_not_unicode_becomes_a_replacement_character(payload: bytes, text: str) -> None:
    assert decoded(payload, STOP).parts == (Text(text=text),)


@pytest.mark.parametrize("payload", [b"{", b"data", b'{"a":', b"[" * 100_000])
def test_what_is_not_json_is_a_value_error(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        OpenAIChat().decoder().feed(payload)


def test_an_answer_above_the_cap_is_refused() -> None:
    decoder = OpenAIChat(max_answer=10).decoder()
    decoder.feed(json.dumps(delta(content="12345")).encode())
    with pytest.raises(ProviderError) as caught:
        decoder.feed(json.dumps(piece(index=0, name="f", arguments="123456")).encode())
    assert caught.value.kind == "too_large"
