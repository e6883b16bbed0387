"""What goes to a chat-completions server, byte for byte where bytes matter."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from overt.core.messages import Call, Document, Image, Message, Part, Reasoning, Result, Text, said
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment
from overt.providers.wires.openai import OpenAIChat

WIRE = OpenAIChat()
TOOL = ToolSpec(name="read", description="Read.", schema=Raw(b'{"type":"object","properties":{}}'))


def prefix(*, system: str = "Be brief.", tools: tuple[ToolSpec, ...] = (TOOL,)) -> Prefix:
    return Prefix(system=(Fragment(key="s", text=system, origin=HARNESS),), tools=tools)


def objects(message: Message) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(b"[" + WIRE.message(message) + b"]")
    return found


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts, origin=MODEL)


def test_the_head_has_a_fixed_order_and_the_messages_last() -> None:
    head = WIRE.head(prefix(), Params(model="m", max_tokens=5, temperature=0.5, effort="low"))
    assert head == (
        b'{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"temperature":0.5,'
        b'"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"read","description":"Read.",'
        b'"parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"system","content":"Be brief."}'
    )


def test_without_tools_and_system_neither_is_sent() -> None:
    head = WIRE.head(prefix(system="", tools=()), Params(model="m"))
    assert head == b'{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":['


def test_the_tail_alone_says_that_no_tool_may_be_called() -> None:
    params = Params(model="m")
    assert WIRE.tail(params) == b"]}"
    assert WIRE.tail(Params(model="m", tool_choice="none")) == b'],"tool_choice":"none"}'
    assert WIRE.head(prefix(), params) == WIRE.head(prefix(), Params(model="m", tool_choice="none"))


def test_an_assistant_carries_text_reasoning_and_calls() -> None:
    call = Call(id="c", name="read", arguments='{"path": "a"}')
    function = {"name": "read", "arguments": '{"path": "a"}'}
    assert objects(assistant(Reasoning(text="why"), Text(text="ok"), call)) == [
        {
            "role": "assistant",
            "content": "ok",
            "reasoning_content": "why",
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }
    ]
    assert objects(assistant(Text(text="ok"))) == [{"role": "assistant", "content": "ok"}]
    assert objects(assistant(Reasoning(text=""), Text(text="ok"))) == [
        {"role": "assistant", "content": "ok", "reasoning_content": ""}
    ]


def test_arguments_and_names_a_server_would_reject_are_made_harmless() -> None:
    message = assistant(
        Call(id="1", name="functions.read file", arguments='{"path": "a'),
        Call(id="2", name="", arguments="[1]"),
        Call(id="3", name="x" * 70, arguments="[" * 50_000),
    )
    functions = [call["function"] for call in objects(message)[0]["tool_calls"]]
    assert functions == [
        {"name": "functions_read_file", "arguments": "{}"},
        {"name": "unknown", "arguments": "{}"},
        {"name": "x" * 64, "arguments": "{}"},
    ]


def test_results_become_one_object_each_and_what_they_show_follows() -> None:
    message = Message(
        role="tool",
        parts=(
            Result(call_id="1", parts=(Text(text="one"), Image(media="image/png", data=b"\x00\x01"))),
            Result(call_id="2", parts=(Text(text="two"), Document(media="application/pdf", data=b"x", name="a.pdf"))),
        ),
        origin=HARNESS,
    )
    assert objects(message) == [
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Shown by the tool results above:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAE="}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,eA=="}},
            ],
        },
    ]


def test_a_user_may_attach_an_image() -> None:
    message = Message(role="user", parts=(Text(text="see"), Image(media="image/png", data=b"x")), origin=USER)
    assert objects(message) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}},
            ],
        }
    ]


def test_half_a_surrogate_pair_never_breaks_a_request() -> None:
    assert objects(said("a\udc80b\ud83d", origin=USER)) == [{"role": "user", "content": "a�b�"}]
    assert json.loads(WIRE.head(prefix(system="\udc80"), Params(model="m")) + b"]}")["messages"][0]["content"] == "�"


texts = st.text(st.characters(exclude_categories=()), max_size=20)
calls = st.builds(Call, id=st.text("abc", min_size=1), name=texts, arguments=texts | st.just('{"a":1}'))
results = st.builds(Result, call_id=st.text("abc", min_size=1), parts=st.tuples(st.builds(Text, text=texts)))
messages = st.one_of(
    st.builds(said, texts, origin=st.just(USER)),
    st.builds(lambda text, made: assistant(Text(text=text), *made), texts, st.lists(calls, max_size=3)),
    st.builds(lambda made: Message(role="tool", parts=tuple(made), origin=HARNESS), st.lists(results, min_size=1)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(messages, max_size=6), st.sampled_from(["auto", "none"]))
def test_every_body_is_json_and_begins_with_the_one_before(history: list[Message], choice: Any) -> None:
    params = Params(model="m", tool_choice=choice)
    stable = WIRE.head(prefix(), params)
    for message in history:
        longer = stable + b"," + WIRE.message(message)
        assert longer.startswith(stable)
        stable = longer
        body = json.loads(stable + WIRE.tail(params))
        assert list(body)[-1] == ("tool_choice" if choice == "none" else "messages")
