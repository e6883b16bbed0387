"""Calls and results as text: what a model reads of them when its server knows nothing of tools."""

from typing import Any

from msgspec import Raw, json

from overt.context.assemble import Assembler
from overt.context.text_calls import TextCallWire, call_label, tool_guide
from overt.core.messages import Call, Image, Message, Result, Text, said
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.settings import Calls
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment, Origin
from overt.providers.wires.openai import OpenAIChat

READ = ToolSpec(
    name="read",
    description="Read a file.",
    schema=Raw(
        b'{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"string","enum":["a","b"]},'
        b'"lines":{"type":"array","items":{"type":"integer","description":"numbers"}}},"required":["path"]}'
    ),
)
PREFIX = Prefix(system=(Fragment(key="system", text="Be brief.", origin=HARNESS),), tools=(READ,))
CALL = Call(id="c1", name="read", arguments='{"path":"a.py","limit":3}')


def replied(*parts: Any) -> Message:
    return Message(role="assistant", parts=parts, origin=MODEL)


def answered(*results: Result) -> Message:
    return Message(role="tool", parts=results, origin=Origin(kind="tool"))


def sent(calls: Calls, *messages: Message) -> list[dict[str, Any]]:
    wire = TextCallWire(OpenAIChat(), calls)
    body = Assembler(wire).assemble(PREFIX, messages, Params(model="m")).request.body()
    whole = json.decode(body)
    assert "tools" not in whole
    found: list[dict[str, Any]] = whole["messages"]
    return [{"role": message["role"], "content": message["content"]} for message in found]


def test_a_call_goes_back_as_the_object_that_the_model_wrote() -> None:
    result = Result(call_id="c1", parts=(Text(text="x = 1"),))
    assert sent("schema", said("Look.", origin=USER), replied(CALL), answered(result)) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": '{"tool": "read", "path": "a.py", "limit": 3}'},
        {"role": "user", "content": "[read a.py]\nx = 1"},
    ]


def test_an_answer_goes_back_as_the_final_object() -> None:
    assert sent("schema", replied(Text(text='All "done".\n')))[1:] == [
        {"role": "assistant", "content": '{"tool": "final", "text": "All \\"done\\".\\n"}'}
    ]


def test_in_text_the_calls_stand_in_tags_after_the_words() -> None:
    second = Call(id="c2", name="bash", arguments='{"command":"ls\\npwd"}')
    results = (
        Result(call_id="c1", parts=(Text(text="no such file"),), error=True),
        Result(call_id="c2", parts=(Text(text="a.py"),)),
    )
    assert sent("text", replied(Text(text="I look."), CALL, second), answered(*results))[1:] == [
        {
            "role": "assistant",
            "content": 'I look.\n<tool_call>{"name": "read", "arguments": {"path": "a.py", "limit": 3}}</tool_call>\n'
            '<tool_call>{"name": "bash", "arguments": {"command": "ls\\npwd"}}</tool_call>',
        },
        {"role": "user", "content": "[read a.py]\nError: no such file\n\n[bash ls]\na.py"},
    ]


def test_what_a_tool_showed_goes_along() -> None:
    image = Image(media="image/png", data=b"\x89PNG")
    found = sent("text", replied(CALL), answered(Result(call_id="c1", parts=(Text(text="a picture"), image))))
    assert found[2]["content"][0] == {"type": "text", "text": "[read a.py]\na picture"}
    assert found[2]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_arguments_that_are_no_json_and_half_characters_break_nothing() -> None:
    odd = Call(id="c1", name="read", arguments='{"path":')
    half = Call(id="c2", name="read", arguments='{"path":"a"}')
    found = sent("schema", replied(odd, half), replied(Text(text="\ud800")))
    assert found[1]["content"] == ('{"tool": "read", "arguments": "{\\"path\\":"}\n{"tool": "read", "path": "a"}')
    assert found[2]["content"] == '{"tool": "final", "text": "?"}'


def test_a_result_without_its_call_is_still_told() -> None:
    assert sent("text", answered(Result(call_id="gone", parts=(Text(text="x"),))))[1:] == [
        {"role": "user", "content": "[result]\nx"}
    ]


def test_a_label_is_one_short_line() -> None:
    assert (
        call_label(Call(id="c", name="bash", arguments=json.encode({"command": "x" * 200}).decode()))
        == f"bash {'x' * 80}…"
    )
    assert call_label(Call(id="c", name="list", arguments="{}")) == "list"


def test_the_examples_are_spoken_too() -> None:
    shots = (said("Look.", origin=HARNESS), replied(CALL), answered(Result(call_id="c1", parts=(Text(text="x"),))))
    wire = TextCallWire(OpenAIChat(), "schema")
    prefix = Prefix(system=PREFIX.system, tools=(), shots=shots)
    body = Assembler(wire).assemble(prefix, (said("Now.", origin=USER),), Params(model="m")).request.body()
    assert [message["content"] for message in json.decode(body)["messages"]] == [
        "Be brief.",
        "Look.",
        '{"tool": "read", "path": "a.py", "limit": 3}',
        "[read a.py]\nx",
        "Now.",
    ]


def test_the_guide_names_every_tool_with_its_arguments() -> None:
    line = "- read {path: string, mode?: a|b, lines?: [integer (numbers), …]}: Read a file."
    for calls, format in (("schema", '`{"tool": NAME, …arguments}`'), ("text", "<tool_call>{")):
        guide = tool_guide([READ], calls)  # type: ignore[arg-type]
        assert guide.text.splitlines()[-1] == line
        assert format in guide.text
