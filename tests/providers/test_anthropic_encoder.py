"""What goes to a Messages server, byte for byte where bytes matter."""

import json
from collections.abc import Iterable
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace
from pydantic import TypeAdapter

from overt.context.assemble import Assembler
from overt.core.messages import Call, Document, Image, Message, Part, Reasoning, Result, Text, said
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.settings import ModelFacts, Quirks
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment
from overt.providers.wires.anthropic import Anthropic

MARK = {"type": "ephemeral"}
REDACTED = '{"type":"redacted_thinking","data":"EqQB"}'
SCHEMA: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsStreaming)
TOOLS = tuple(
    ToolSpec(name=name, description=name.title(), schema=Raw(b'{"type":"object"}')) for name in ("read", "write")
)


def wire(*, output: int = 0, images: bool | None = None, documents: bool | None = None, **quirks: Any) -> Anthropic:
    about = ModelFacts(name="m", output=output, images=images, documents=documents, quirks=Quirks(**quirks))
    return Anthropic(about)


def prefix(*system: str, tools: tuple[ToolSpec, ...] = TOOLS, shots: tuple[Message, ...] = ()) -> Prefix:
    made = tuple(Fragment(key=str(at), text=text, origin=HARNESS) for at, text in enumerate(system))
    return Prefix(system=made, tools=tools, shots=shots)


def head(of: Anthropic, params: Params, *system: str, tools: tuple[ToolSpec, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(of.head(prefix(*system, tools=tools), params) + b"]}")
    return found


def tail(of: Anthropic, params: Params) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(b'{"messages":[' + of.tail(params))
    assert found.pop("messages") == []
    return found


def spoken(message: Message, of: Anthropic | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((of or Anthropic()).message(message))
    return found


def blocks(message: Message, of: Anthropic | None = None) -> Any:
    return spoken(message, of)["content"]


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts, origin=MODEL)


def user(*parts: Part) -> Message:
    return Message(role="user", parts=parts, origin=USER)


def results(*parts: Part) -> Message:
    return Message(role="tool", parts=parts, origin=HARNESS)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# ── head ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_head_has_a_fixed_order_two_marks_and_the_messages_last() -> None:
    found = Anthropic().head(prefix("Be brief.", "", "In /w."), Params(model="m", max_tokens=5, temperature=0.5))
    assert found == (
        b'{"model":"m","max_tokens":5,"stream":true,"temperature":0.5,'
        b'"tools":[{"name":"read","description":"Read","input_schema":{"type":"object"}},'
        b'{"name":"write","description":"Write","input_schema":{"type":"object"},'
        b'"cache_control":{"type":"ephemeral"}}],'
        b'"system":[{"type":"text","text":"Be brief."},'
        b'{"type":"text","text":"In /w.","cache_control":{"type":"ephemeral"}}],"messages":['
    )


def test_without_tools_and_system_neither_is_sent() -> None:
    found = Anthropic().head(prefix(" \n", tools=()), Params(model="m"))
    assert found == b'{"model":"m","max_tokens":8192,"stream":true,"messages":['


def test_the_most_tokens_are_those_of_the_request_then_of_the_model() -> None:
    assert head(wire(output=64_000), Params(model="m"))["max_tokens"] == 64_000
    assert head(wire(output=64_000), Params(model="m", max_tokens=9))["max_tokens"] == 9


def test_without_cache_marks_no_mark_is_sent() -> None:
    bare = wire(cache_marks=False)
    assert Anthropic().marks
    assert not bare.marks
    assert "cache_control" not in json.dumps(head(bare, Params(model="m"), "Be brief.", tools=TOOLS))
    assert bare.marked(said("hi", origin=USER)) == bare.message(said("hi", origin=USER))


def test_only_one_of_temperature_and_top_p_is_sent_and_neither_to_a_model_that_thinks() -> None:
    both = Params(model="m", temperature=0.2, top_p=0.9)
    assert head(wire(), both) == {
        "model": "m",
        "max_tokens": 8192,
        "stream": True,
        "temperature": 0.2,
        "messages": [],
    }
    assert head(wire(), Params(model="m", top_p=0.9))["top_p"] == 0.9
    for of in (wire(temperature=False), wire(thinking="adaptive")):
        found = head(of, replace(both, thinking=True))
        assert "temperature" not in found
        assert "top_p" not in found


def test_a_budget_for_thinking_follows_the_effort_and_leaves_room_for_the_answer() -> None:
    def thinking(output: int, **asked: Any) -> Any:
        return head(wire(output=output, thinking="budget"), Params(model="m", **asked)).get("thinking")

    assert thinking(64_000, thinking=True) == {"type": "enabled", "budget_tokens": 10_240}
    assert thinking(64_000, effort="low") == {"type": "enabled", "budget_tokens": 4096}
    assert thinking(8192, effort="high") == {"type": "enabled", "budget_tokens": 4096}
    assert thinking(2047, thinking=True) is None
    assert thinking(64_000) is None
    assert thinking(64_000, effort="none") is None
    assert thinking(64_000, effort="high", thinking=False) == {"type": "disabled"}


def test_adaptive_thinking_is_asked_for_with_a_summary_to_show() -> None:
    of = wire(thinking="adaptive")
    adaptive = {"type": "adaptive", "display": "summarized"}
    assert head(of, Params(model="m", thinking=True))["thinking"] == adaptive
    assert head(of, Params(model="m", effort="high"))["thinking"] == adaptive
    assert "thinking" not in head(of, Params(model="m"))
    assert "thinking" not in head(wire(), Params(model="m", thinking=True, effort="high"))


def test_what_the_configuration_adds_goes_along_and_never_twice() -> None:
    extra = {"metadata": {"user_id": "u"}, "output_config": {"effort": "low"}, "messages": [1]}
    of = wire(extra=extra, effort="output_config")
    params = Params(model="m", effort="max")
    assert head(of, params)["metadata"] == {"user_id": "u"}
    assert head(of, params)["messages"] == []
    assert "output_config" not in head(of, params)
    assert tail(of, params) == {"output_config": {"effort": "max"}}
    assert tail(of, Params(model="m")) == {"output_config": {"effort": "low"}}


# ── tail ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_tail_alone_holds_what_may_change_from_request_to_request() -> None:
    of = wire(effort="output_config", thinking="adaptive")
    plain = Params(model="m")
    form = Raw(b'{"type":"object","additionalProperties":false}')
    assert of.tail(plain) == b"]}"
    assert of.tail(replace(plain, tool_choice="none")) == b'],"tool_choice":{"type":"none"}}'
    assert of.tail(replace(plain, tool_choice="required")) == b'],"tool_choice":{"type":"any"}}'
    assert of.tail(replace(plain, form=form, effort="low")) == (
        b'],"output_config":{"effort":"low","format":{"type":"json_schema",'
        b'"schema":{"type":"object","additionalProperties":false}}}}'
    )
    changed = replace(plain, tool_choice="required", form=form)
    assert of.head(prefix("s"), changed) == of.head(prefix("s"), plain)


def test_an_effort_is_sent_only_where_it_is_understood() -> None:
    assert tail(wire(), Params(model="m", effort="high")) == {}
    assert tail(wire(effort="output_config"), Params(model="m", effort="none")) == {}


def test_an_effort_that_the_model_does_not_know_is_neither_sent_nor_thought_about() -> None:
    about = ModelFacts(name="m", efforts=("low", "high"), quirks=Quirks(effort="output_config", thinking="adaptive"))
    of = Anthropic(about)
    assert tail(of, Params(model="m", effort="high")) == {"output_config": {"effort": "high"}}
    assert tail(of, Params(model="m", effort="xhigh")) == {}
    assert "thinking" in head(of, Params(model="m", effort="high"))
    assert "thinking" not in head(of, Params(model="m", effort="xhigh"))
    assert "thinking" in head(of, Params(model="m", effort="xhigh", thinking=True))
    mute = Anthropic(replace(about, efforts=(), reasons=False))
    assert (tail(mute, Params(model="m", effort="low")), "thinking" in head(mute, Params(model="m", effort="low"))) == (
        {},
        False,
    )


def test_extra_fields_leave_alone_what_the_conversation_is_made_of() -> None:
    theirs = {"model": "x", "stream": False, "input": "x", "messages": [1], "tools": [7], "top_k": 1}
    assert head(wire(extra=theirs), Params(model="m")) == {
        "model": "m",
        "max_tokens": 8192,
        "stream": True,
        "top_k": 1,
        "messages": [],
    }


def test_a_model_that_thinks_is_never_forced_to_call() -> None:
    forced = Params(model="m", thinking=True, tool_choice="required")
    assert tail(wire(thinking="adaptive"), forced) == {}
    assert tail(wire(thinking="budget"), forced) == {}
    assert tail(wire(), forced) == {"tool_choice": {"type": "any"}}


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_assistant_carries_thinking_as_it_came_text_and_calls_in_their_order() -> None:
    message = assistant(
        Reasoning(text="why", signature="sig=="),
        Reasoning(text="", signature="silent"),
        Reasoning(text="", opaque=REDACTED),
        Text(text="ok"),
        Call(id="toolu_1", name="read", arguments='{"path": "a"}'),
    )
    assert spoken(message) == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "why", "signature": "sig=="},
            {"type": "thinking", "thinking": "", "signature": "silent"},
            {"type": "redacted_thinking", "data": "EqQB"},
            text("ok"),
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
        ],
    }


def test_reasoning_that_this_vendor_did_not_sign_is_not_sent() -> None:
    message = assistant(
        Reasoning(text="unsigned"),
        Reasoning(text="theirs", signature="rs_1", opaque='{"type":"reasoning","encrypted_content":"x"}'),
        Reasoning(text="theirs", opaque="gAAAA"),
        Text(text="ok"),
    )
    assert blocks(message) == [text("ok")]


def test_a_message_the_server_would_refuse_as_empty_is_not_sent() -> None:
    of = Anthropic()
    thought = Reasoning(text="hm", signature="s")
    for message in (assistant(), assistant(Text(text=" \n")), assistant(thought, Text(text="")), user(Text(text=""))):
        assert of.message(message) == b""
        assert of.marked(message) == b""
    assert blocks(assistant(Text(text="a"), Text(text=""), thought)) == [text("a")]


def test_ids_names_and_arguments_of_other_vendors_are_made_harmless() -> None:
    message = assistant(
        Call(id="functions.read:0", name="functions.read file", arguments='{"path": "a'),
        Call(id="", name="", arguments="[1]"),
        Call(id="é", name="x" * 70, arguments="[" * 50_000),
    )
    assert blocks(message) == [
        {"type": "tool_use", "id": "functions_2e_read_3a_0", "name": "functions_read_file", "input": {}},
        {"type": "tool_use", "id": "_", "name": "unknown", "input": {}},
        {"type": "tool_use", "id": "_e9_", "name": "x" * 64, "input": {}},
    ]
    answer = results(Result(call_id="functions.read:0", parts=(Text(text="a"),)))
    assert blocks(answer)[0]["tool_use_id"] == "functions_2e_read_3a_0"


def test_results_come_first_each_with_what_it_shows() -> None:
    message = results(
        Text(text="and go on"),
        Result(call_id="1", parts=(Text(text="one"), Image(media="image/png", data=b"\x00\x01"))),
        Result(call_id="2", parts=(Text(text="bad"),), error=True),
        Result(call_id="3", parts=(Text(text=""),)),
        Result(call_id="4", parts=(Document(media="application/pdf", data=b"x", name="a.pdf"),)),
    )
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAE="}}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "eA=="}
    document = {"type": "document", "source": pdf, "title": "a.pdf"}
    assert spoken(message) == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": [text("one"), image]},
            {"type": "tool_result", "tool_use_id": "2", "content": [text("bad")], "is_error": True},
            {"type": "tool_result", "tool_use_id": "3"},
            {"type": "tool_result", "tool_use_id": "4", "content": [document]},
            text("and go on"),
        ],
    }


def test_a_text_file_goes_as_text_and_what_the_server_does_not_take_as_a_note() -> None:
    message = user(
        Document(media="text/markdown", data="# é".encode(), name="a.md"),
        Image(media="image/bmp", data=b"x"),
        Document(media="application/zip", data=b"x", name="a.zip"),
        Document(media="text/plain", data=b"", name="empty"),
    )
    source = {"type": "text", "media_type": "text/plain", "data": "# é"}
    document, *notes = blocks(message)
    assert document == {"type": "document", "source": source, "title": "a.md"}
    assert [note["type"] for note in notes] == ["text"] * 3
    assert [name in note["text"] for name, note in zip(("image", "a.zip", "empty"), notes, strict=True)] == [True] * 3


def test_a_model_without_eyes_is_told_that_something_was_left_out() -> None:
    message = user(Image(media="image/png", data=b"x"), Document(media="application/pdf", data=b"x", name="a.pdf"))
    assert [block["type"] for block in blocks(message, wire(images=False, documents=False))] == ["text", "text"]


def test_half_a_surrogate_pair_never_breaks_a_request() -> None:
    assert blocks(said("a\udc80b\ud83d", origin=USER)) == [text("a�b�")]
    assert blocks(assistant(Reasoning(text="\udc80", signature="\udc80"), Text(text="x")))[0]["thinking"] == "�"
    assert head(Anthropic(), Params(model="\udc80"), "\udc80")["system"][0]["text"] == "�"


# ── marks ────────────────────────────────────────────────────────────────────────────────────────────────


def marked(message: Message) -> list[bool]:
    return ["cache_control" in block for block in json.loads(Anthropic().marked(message))["content"]]


def test_the_mark_stands_on_the_last_block() -> None:
    assert json.loads(Anthropic().marked(said("hi", origin=USER))) == {
        "role": "user",
        "content": [{**text("hi"), "cache_control": MARK}],
    }
    assert marked(results(*(Result(call_id=str(at), parts=()) for at in range(3)))) == [False, False, True]
    thought = Reasoning(text="hm", signature="s")
    assert marked(assistant(thought, Text(text="a"))) == [False, True]


def test_a_message_of_many_blocks_is_marked_at_both_ends() -> None:
    many = results(*(Result(call_id=str(at), parts=(Text(text="x"),)) for at in range(30)))
    assert marked(many) == [True, *[False] * 28, True]


# ── whole bodies ─────────────────────────────────────────────────────────────────────────────────────────

texts = st.text(st.characters(exclude_categories=()), max_size=12)
thoughts = st.one_of(
    st.builds(Reasoning, text=texts, signature=st.sampled_from(["", "sig"])),
    st.builds(Reasoning, text=st.just(""), opaque=st.sampled_from([REDACTED, "x", '{"type":"reasoning"}'])),
)
images = st.builds(Image, media=st.sampled_from(["image/png", "image/tiff"]), data=st.binary(max_size=4))
documents = st.builds(
    Document, media=st.sampled_from(["application/pdf", "text/plain", "x/y"]), data=st.binary(max_size=4), name=texts
)
words = st.builds(Text, text=texts)
things = st.lists(st.one_of(words, images, documents), max_size=3).map(tuple)
calls = st.builds(Call, id=texts, name=texts, arguments=texts | st.just('{"a": [1]}'))
answers = st.builds(Result, call_id=texts, parts=things, error=st.booleans())
messages = st.one_of(
    st.builds(lambda parts: user(*parts), things),
    st.builds(lambda parts: assistant(*parts), st.lists(st.one_of(thoughts, words, calls), max_size=5)),
    st.builds(lambda parts: results(*parts), st.lists(answers, min_size=1, max_size=12)),
)


def exhausted(value: Any) -> Any:
    """Iterables are checked by pydantic only as they are read."""
    if isinstance(value, dict):
        return {key: exhausted(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [exhausted(item) for item in value]
    return value


@settings(max_examples=150, deadline=None)
@given(st.lists(messages, min_size=1, max_size=8), st.sampled_from(["auto", "none", "required"]), st.booleans())
def test_a_body_extends_the_one_before_and_holds_at_most_four_marks(
    history: list[Message], choice: Any, marks: bool
) -> None:
    of = wire(cache_marks=marks, thinking="budget", effort="output_config")
    assembler = Assembler(of)
    params = Params(model="m", tool_choice=choice, effort="low", form=Raw(b'{"type":"object"}'))
    before = b""
    for at in range(len(history)):
        made = assembler.assemble(prefix("s", shots=(said("shot", origin=HARNESS),)), tuple(history[: at + 1]), params)
        stable = b"".join(made.request.stable)
        assert stable.startswith(before)
        assert not made.reset
        before = stable
        body = json.loads(made.request.body())
        assert [key for key in body if key not in ("tool_choice", "output_config")][-1] == "messages"
        count = json.dumps(body).count('"cache_control"')
        assert count <= 4 if marks else count == 0
        assert all(message["content"] for message in body["messages"])
        exhausted(SCHEMA.validate_python(body))


def test_a_schema_check_that_can_fail() -> None:
    body = json.loads(Anthropic().head(prefix("s"), Params(model="m")) + b'{"role":"user","content":[{"type":"no"}]}]}')
    try:
        exhausted(SCHEMA.validate_python(body))
    except ValueError:
        return
    raise AssertionError("a block of a type that does not exist was accepted")


def test_the_key_goes_out_in_its_own_header_with_the_version() -> None:
    assert Anthropic().headers("k") == {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    assert Anthropic().headers(None) == {"anthropic-version": "2023-06-01"}
    assert Anthropic().path == "/messages"
    assert Anthropic().whole({"type": "message"})
    assert not Anthropic().whole({"type": "error"})
