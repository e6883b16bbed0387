"""What goes to a Responses server, byte for byte where bytes matter, and held against the vendor's own types."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from overt.context.assemble import Assembler
from overt.core.messages import Call, Document, Image, Message, Part, Reasoning, Result, Text, said
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.settings import ModelFacts, Quirks
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment
from overt.providers.wires.responses import OpenAIResponses

WIRE = OpenAIResponses()
TOOL = ToolSpec(name="read", description="Read.", schema=Raw(b'{"type":"object","properties":{}}'))
SECRET = '{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAA","summary":[]}'
OPEN = '{"id":"rs_2","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"why"}]}'
START = b'{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"]'


def prefix(*, system: str = "Be brief.", tools: tuple[ToolSpec, ...] = (TOOL,)) -> Prefix:
    return Prefix(system=(Fragment(key="s", text=system, origin=HARNESS),), tools=tools)


def wire(**quirks: Any) -> OpenAIResponses:
    return OpenAIResponses(ModelFacts(name="m", quirks=Quirks(**quirks)))


def objects(message: Message, by: OpenAIResponses = WIRE) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(b"[" + by.message(message) + b"]")
    return found


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts, origin=MODEL)


def test_the_head_has_a_fixed_order_and_the_input_last() -> None:
    head = WIRE.head(prefix(), Params(model="m", max_tokens=5, temperature=0.5, top_p=0.9, effort="low"))
    assert head == (
        START + b',"max_output_tokens":5,"reasoning":{"effort":"low","summary":"auto"},"temperature":0.5,"top_p":0.9,'
        b'"instructions":"Be brief.","tools":[{"type":"function","name":"read","description":"Read.",'
        b'"parameters":{"type":"object","properties":{}},"strict":false}],"input":['
    )


def test_without_tools_and_system_neither_is_sent() -> None:
    assert WIRE.head(prefix(system="", tools=()), Params(model="m")) == START + b',"input":['


def test_the_system_text_may_be_a_message_of_its_own() -> None:
    for role in ("developer", "user"):
        head = wire(system=role).head(prefix(tools=()), Params(model="m"))
        assert head == START + b',"input":[{"type":"message","role":"%s","content":"Be brief."}' % role.encode()


def test_what_an_endpoint_does_not_take_is_not_sent() -> None:
    plain = wire(limit="", effort="", temperature=False)
    params = Params(model="m", max_tokens=5, temperature=0.5, top_p=0.9, effort="low")
    assert plain.head(prefix(system="", tools=()), params) == START + b',"input":['


def reasoning(efforts: tuple[str, ...], reasons: bool | None = None, **asked: Any) -> Any:
    about = ModelFacts(name="m", efforts=efforts, reasons=reasons)
    body = OpenAIResponses(about).head(prefix(), Params(model="m", **asked)) + b"]}"
    return json.loads(body).get("reasoning")


def test_an_effort_is_sent_only_to_a_model_that_knows_it() -> None:
    assert reasoning(("low", "high"), effort="high") == {"effort": "high", "summary": "auto"}
    assert reasoning(("low", "high"), effort="max") is None
    assert reasoning((), effort="max") == {"effort": "max", "summary": "auto"}
    assert reasoning((), reasons=False, effort="low") is None


def test_thinking_is_switched_off_by_the_least_effort_a_model_knows() -> None:
    assert reasoning(("none", "low"), thinking=False) == {"effort": "none"}
    assert reasoning(("none", "low"), thinking=False, effort="low") == {"effort": "none"}
    assert reasoning(("minimal", "low"), thinking=False) == {"effort": "minimal", "summary": "auto"}
    assert reasoning(("low",), thinking=False) is None
    assert reasoning(("low",), thinking=False, effort="low") == {"effort": "low", "summary": "auto"}
    assert reasoning((), thinking=False) is None
    assert reasoning(("none", "low"), thinking=True) is None
    off = OpenAIResponses(ModelFacts(name="m", efforts=("none",), quirks=Quirks(effort="")))
    assert b'"reasoning":' not in off.head(prefix(), Params(model="m", thinking=False))


def test_extra_fields_leave_alone_what_the_conversation_is_made_of() -> None:
    theirs = {"model": "x", "stream": False, "input": "x", "messages": [1], "tools": [7], "top_k": 1}
    extra = wire(extra=theirs)
    assert extra.head(prefix(system="", tools=()), Params(model="m")) == START + b',"top_k":1,"input":['


def test_only_a_model_that_may_reason_is_asked_for_its_reasoning() -> None:
    plain = OpenAIResponses(ModelFacts(name="m", reasons=False))
    head = plain.head(prefix(system="", tools=()), Params(model="m"))
    assert head == b'{"model":"m","stream":true,"store":false,"input":['


def test_extra_fields_go_into_every_request_and_may_replace_ours() -> None:
    extra = wire(extra={"store": True, "service_tier": "flex", "text": {"verbosity": "low"}, "tool_choice": "required"})
    body = extra.head(prefix(tools=()), Params(model="m")) + extra.tail(Params(model="m"))
    assert json.loads(body) == {
        "model": "m",
        "stream": True,
        "store": True,
        "include": ["reasoning.encrypted_content"],
        "service_tier": "flex",
        "instructions": "Be brief.",
        "input": [],
        "tool_choice": "required",
        "text": {"verbosity": "low"},
    }
    closing = extra.tail(Params(model="m", tool_choice="none", form=Raw(b"{}")))
    assert json.loads(b"{" + closing.removeprefix(b"],")) == {
        "tool_choice": "none",
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "reply", "schema": {}, "strict": True}},
    }


def test_the_tail_alone_says_how_to_answer() -> None:
    form = Params(model="m", form=Raw(b'{"type":"object"}'))
    assert WIRE.tail(Params(model="m")) == b"]}"
    assert WIRE.tail(Params(model="m", tool_choice="none")) == b'],"tool_choice":"none"}'
    assert WIRE.tail(Params(model="m", tool_choice="required")) == b'],"tool_choice":"required"}'
    assert WIRE.tail(form) == (
        b'],"text":{"format":{"type":"json_schema","name":"reply","schema":{"type":"object"},"strict":true}}}'
    )
    heads = {WIRE.head(prefix(), params) for params in (form, Params(model="m", tool_choice="none"), Params(model="m"))}
    assert len(heads) == 1


def test_the_parts_of_a_reply_become_items_in_their_order() -> None:
    message = assistant(
        Reasoning(text="why", opaque=SECRET),
        Text(text="I look."),
        Reasoning(text="why", opaque=OPEN),
        Call(id="c", name="read", arguments='{"path": "a"}'),
        Text(text="Done."),
    )
    assert WIRE.message(message) == (
        SECRET.encode() + b',{"type":"message","role":"assistant","content":"I look."},' + OPEN.encode() + b","
        b'{"type":"function_call","call_id":"c","name":"read","arguments":"{\\"path\\": \\"a\\"}"},'
        b'{"type":"message","role":"assistant","content":"Done."}'
    )


def test_reasoning_that_a_server_would_refuse_is_not_sent() -> None:
    bare = '{"id":"rs_3","type":"reasoning","summary":[],"encrypted_content":null}'
    foreign = ["", bare, "EqQBCkYIARgC", '{"type":"redacted_thinking","data":"x"}', '{"type":"reasoning', "[]", "{}"]
    for opaque in foreign:
        assert objects(assistant(Reasoning(text="why", opaque=opaque, signature="s"), Text(text="ok"))) == [
            {"type": "message", "role": "assistant", "content": "ok"}
        ]


def test_reasoning_that_nothing_follows_is_not_sent() -> None:
    assert WIRE.message(assistant(Reasoning(text="", opaque=SECRET))) == b""
    assert WIRE.message(assistant(Reasoning(text="", opaque=SECRET), Text(text=""))) == b""
    message = assistant(Text(text="ok"), Reasoning(text="", opaque=SECRET))
    assert objects(message) == [{"type": "message", "role": "assistant", "content": "ok"}]


def test_arguments_and_names_a_server_would_reject_are_made_harmless() -> None:
    message = assistant(
        Call(id="1", name="functions.read file", arguments='{"path": "a'),
        Call(id="2", name="", arguments="[1]"),
        Call(id="3", name="x" * 70, arguments="[" * 50_000),
    )
    assert [(item["name"], item["arguments"]) for item in objects(message)] == [
        ("functions_read_file", "{}"),
        ("unknown", "{}"),
        ("x" * 64, "{}"),
    ]


RESULTS = Message(
    role="tool",
    parts=(
        Result(call_id="1", parts=(Text(text="o"), Text(text="ne"))),
        Result(call_id="2", parts=(Text(text="two"), Image(media="image/png", data=b"\x00\x01"))),
        Result(call_id="3", parts=(Document(media="application/pdf", data=b"x", name="a.pdf"),), error=True),
    ),
    origin=HARNESS,
)


def test_results_become_one_item_each_with_what_they_show() -> None:
    png = {"type": "input_image", "image_url": "data:image/png;base64,AAE=", "detail": "auto"}
    pdf = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,eA=="}
    assert objects(RESULTS) == [
        {"type": "function_call_output", "call_id": "1", "output": "one"},
        {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "two"}, png]},
        {"type": "function_call_output", "call_id": "3", "output": [pdf]},
    ]


def test_a_model_without_eyes_is_told_what_was_left_out() -> None:
    blind = OpenAIResponses(ModelFacts(name="m", images=False, documents=False))
    assert [item["output"] for item in objects(RESULTS, blind)] == [
        "one",
        "two[image left out: this model does not take images]",
        "[document a.pdf left out: this model does not take documents]",
    ]


def test_a_user_may_attach_an_image() -> None:
    message = Message(role="user", parts=(Text(text="see"), Image(media="image/png", data=b"x")), origin=USER)
    assert objects(said("hi", origin=USER)) == [{"type": "message", "role": "user", "content": "hi"}]
    assert objects(message) == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "auto"},
            ],
        }
    ]


def test_half_a_surrogate_pair_never_breaks_a_request() -> None:
    assert objects(said("a\udc80b\ud83d", origin=USER))[0]["content"] == "a�b�"
    assert objects(assistant(Text(text="\udc80")))[0]["content"] == "�"
    assert objects(assistant(Reasoning(text="", opaque='{"type":"reasoning","content":"\udc80"}'))) == []
    head = WIRE.head(prefix(system="\udc80"), Params(model="m"))
    assert json.loads(head + b"]}")["instructions"] == "�"


def test_the_key_goes_out_as_a_bearer_token_and_a_body_is_known_by_its_object() -> None:
    assert (WIRE.headers("sk-1"), WIRE.headers(None)) == ({"Authorization": "Bearer sk-1"}, {})
    assert WIRE.whole({"object": "response", "output": []})
    assert not WIRE.whole({"object": "response"})
    assert not WIRE.whole({"object": "chat.completion", "choices": [{}]})


texts = st.text(st.characters(exclude_categories=()), max_size=20)
calls = st.builds(Call, id=st.text("abc", min_size=1), name=texts, arguments=texts | st.just('{"a":1}'))
thoughts = st.builds(Reasoning, text=texts, opaque=st.sampled_from(["", SECRET, OPEN, "x"]))
shown = st.one_of(
    st.builds(Text, text=texts),
    st.builds(Image, media=st.just("image/png"), data=st.binary(max_size=3)),
    st.builds(Document, media=st.just("application/pdf"), data=st.binary(max_size=3), name=texts),
)
results = st.builds(
    Result, call_id=st.text("abc", min_size=1), parts=st.lists(shown, max_size=3).map(tuple), error=st.booleans()
)
spoken = st.one_of(st.builds(Text, text=texts), calls, thoughts)
messages = st.one_of(
    st.builds(said, texts, origin=st.just(USER)),
    st.builds(
        lambda parts: Message(role="user", parts=tuple(parts), origin=USER), st.lists(shown, min_size=1, max_size=3)
    ),
    st.builds(lambda parts: assistant(*parts), st.lists(spoken, max_size=4)),
    st.builds(lambda made: Message(role="tool", parts=tuple(made), origin=HARNESS), st.lists(results, min_size=1)),
)
choices = st.builds(
    Params,
    model=st.just("m"),
    tool_choice=st.sampled_from(["auto", "none", "required"]),
    form=st.sampled_from([None, Raw(b'{"type":"object","properties":{}}')]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(messages, min_size=1, max_size=6), choices, st.sampled_from(["system", "developer"]))
def test_every_body_is_json_and_begins_with_the_one_before(history: list[Message], params: Params, role: Any) -> None:
    assembler = Assembler(wire(system=role))
    before = b""
    for number in range(1, len(history) + 1):
        made = assembler.assemble(prefix(), tuple(history[:number]), params)
        stable = b"".join(made.request.stable)
        assert made.reset == ""
        assert stable.startswith(before)
        before = stable
        body = json.loads(made.request.body())
        assert next(name for name in body if name in ("input", "tool_choice", "text")) == "input"
        assert all(isinstance(item, dict) for item in body["input"])


def test_a_whole_conversation_is_what_the_vendor_says_a_request_is() -> None:
    published = TypeAdapter(ResponseCreateParamsStreaming)
    history = (
        Message(role="user", parts=(Text(text="see"), Image(media="image/png", data=b"x")), origin=USER),
        assistant(
            Reasoning(text="why", opaque=SECRET),
            Text(text="I look."),
            Reasoning(text="why", opaque=OPEN),
            Call(id="1", name="read", arguments="{}"),
            Call(id="2", name="read", arguments="{}"),
            Call(id="3", name="read", arguments="{"),
        ),
        RESULTS,
        assistant(Text(text="Done.")),
        said("thanks", origin=USER),
    )
    for role in ("system", "developer", "user"):
        for params in (
            Params(model="m"),
            Params(model="m", max_tokens=50, temperature=0.5, top_p=0.5, effort="high", tool_choice="none"),
            Params(model="m", form=Raw(b'{"type":"object"}'), tool_choice="required"),
        ):
            sent = Assembler(wire(system=role)).assemble(prefix(), history, params).request.body()
            valid, body = published.validate_json(sent), json.loads(sent)
            assert set(valid) == set(body)
            # What is typed as iterable is only looked at when somebody iterates.
            assert json.loads(published.dump_json(valid)) == body
