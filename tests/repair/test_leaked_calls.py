"""Calls that models write into their text: what was meant is run, what is only talked about is not."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json, to_builtins

from overt.core.messages import Call, Part, Reasoning, Text
from overt.repair.leaked_calls import ExtractedCalls, extract_leaked_calls
from overt.repair.repair_call import mend
from overt.tools.registry import BUILT_IN

DATA = Path(__file__).parent.parent / "data"
TOOLS = {tool.name: tool for tool in BUILT_IN}
LABELLED: list[dict[str, Any]] = json.decode((DATA / "leaked_calls.json").read_bytes())
LEAKED = [sample for sample in LABELLED if "missed" not in sample]
MISSED = [sample for sample in LABELLED if "missed" in sample]
ORDINARY: list[dict[str, str]] = json.decode((DATA / "ordinary_texts.json").read_bytes())
CHANGING = {tool.name for tool in BUILT_IN if not tool.effects <= {"read"}}


def found(sample: dict[str, Any], text: str | None = None) -> ExtractedCalls:
    said = sample["text"] if text is None else text
    part: Part = Reasoning(text=said) if sample["where"] == "reasoning" else Text(text=said)
    return extract_leaked_calls((part,), TOOLS, calls=sample["calls"], finish=sample.get("finish", "stop"))


def asked(parts: tuple[Part, ...]) -> list[tuple[str, dict[str, Any]]]:
    """The calls that would run, with all their arguments; the others are answered with what is wrong."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for part in parts:
        if isinstance(part, Call):
            mended = mend(part, TOOLS)
            if mended.tool:
                calls.append((mended.tool.name, to_builtins(mended.args)))
            else:
                assert "nothing was run" in mended.error or "Expected" in mended.error
    return calls


def meant(sample: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    expected = []
    for number, one in enumerate(sample["asked"]):
        call = Call(id=str(number), name=one["tool"], arguments=json.encode(one["arguments"]).decode())
        expected += asked((call,))
    return expected


@pytest.mark.parametrize("sample", LEAKED, ids=lambda sample: sample["name"])
def test_a_leaked_call_is_run_as_it_was_meant_and_leaves_the_prose(sample: dict[str, Any]) -> None:
    result = found(sample)
    assert asked(result.parts) == meant(sample)
    rest = "".join(part.text for part in result.parts if isinstance(part, Text | Reasoning))
    assert rest.strip() == sample["rest"].strip()
    ids = [part.id for part in result.parts if isinstance(part, Call)]
    assert ids == [f"leaked_{number}" for number in range(1, len(sample["asked"]) + sample.get("answered", 0) + 1)]
    assert (result.before != "") == bool(ids)


@pytest.mark.parametrize("sample", ORDINARY, ids=lambda sample: sample["name"])
def test_a_text_that_only_mentions_calls_stays_as_it_is(sample: dict[str, str]) -> None:
    thought: tuple[Part, ...] = (Reasoning(text=sample["reasoning"]),) if "reasoning" in sample else ()
    parts = (*thought, Text(text=sample["text"]))
    assert extract_leaked_calls(parts, TOOLS) == ExtractedCalls(parts=parts)
    assert extract_leaked_calls(parts, TOOLS, calls="text") == ExtractedCalls(parts=parts)


@pytest.mark.parametrize("sample", MISSED, ids=lambda sample: sample["name"])
def test_a_call_under_words_that_could_introduce_a_quotation_stays_text(sample: dict[str, Any]) -> None:
    parts = (Text(text=sample["text"]),)
    assert extract_leaked_calls(parts, TOOLS) == ExtractedCalls(parts=parts)


def test_the_tables_are_as_long_as_promised() -> None:
    assert len(LEAKED) >= 400
    assert len(ORDINARY) >= 350


@pytest.mark.parametrize("sample", LEAKED, ids=lambda sample: sample["name"])
def test_no_beginning_of_a_leaked_call_changes_anything_it_did_not_say_in_full(sample: dict[str, Any]) -> None:
    whole = meant(sample)
    for end in range(len(sample["text"])):
        result = found(sample, sample["text"][:end])
        changing = [call for call in asked(result.parts) if call[0] in CHANGING]
        assert all(call in whole for call in changing), sample["text"][:end]


def test_when_real_calls_came_leaked_ones_are_removed_and_not_run_again() -> None:
    markup = '<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>'
    call = Call(id="1", name="read", arguments='{"path":"a"}')
    result = extract_leaked_calls((Text(text=f"Reading.\n{markup}"), call), TOOLS)
    assert result == ExtractedCalls(
        parts=(Text(text="Reading."), call), note="removed markup of calls from the text", before=markup
    )


def test_a_call_in_reasoning_is_a_thought_when_words_follow() -> None:
    thought = Reasoning(text='<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>')
    parts: tuple[Part, ...] = (thought, Text(text="It is done."))
    assert extract_leaked_calls(parts, TOOLS) == ExtractedCalls(parts=parts)


def test_signed_reasoning_is_never_changed() -> None:
    thought = Reasoning(text='<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>', signature="s")
    result = extract_leaked_calls((thought,), TOOLS)
    assert result.parts == (thought, Call(id="leaked_1", name="read", arguments='{"path":"a"}'))
    assert result.note == "found a call written as reasoning: read"


def test_a_tool_that_does_not_exist_is_not_called() -> None:
    parts: tuple[Part, ...] = (Text(text='<tool_call>{"name": "launch", "arguments": {}}</tool_call>'),)
    assert extract_leaked_calls(parts, TOOLS) == ExtractedCalls(parts=parts)
    only = {"read": TOOLS["read"]}
    wanted: tuple[Part, ...] = (Text(text='<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'),)
    assert extract_leaked_calls(wanted, only) == ExtractedCalls(parts=wanted)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "write", "arguments": {"path": "a", "content": "half',
        "<tool_call><function=write><parameter=path>a</parameter><parameter=content>half",
        "<tool_call><function=bash><parameter=command>rm -rf /tmp/x/ab</parameter>",
        "<tool_call>bash<arg_key>command</arg_key><arg_value>rm -rf /tmp/x/ab",
        '[TOOL_CALLS]bash{"command": "rm -rf /tmp/x/ab',
        '{"tool": "bash", "command": "rm -rf /tmp/x/ab"',
        "<write_to_file><path>a</path><content>half",
    ],
)
def test_a_leaked_change_that_was_cut_comes_back_as_cut(text: str) -> None:
    (call,) = (
        part
        for part in extract_leaked_calls((Text(text=text),), TOOLS, finish="length").parts
        if isinstance(part, Call)
    )
    assert "cut" in mend(call, TOOLS, cut=True).error
    assert "nothing was run" in mend(call, TOOLS).error


@pytest.mark.parametrize("finish", ["length", "interrupted"])
def test_a_change_that_a_cut_reply_ends_with_is_not_made_however_whole_it_looks(finish: Any) -> None:
    text = (
        "<tool_call><function=write><parameter=path>a</parameter><parameter=content>\nends in\n</parameter></function>"
    )
    for more in ("", "</tool_call>", "</tool_call>\n"):
        (call,) = (part for part in extract_leaked_calls((Text(text=text + more),), TOOLS, finish=finish).parts)
        assert isinstance(call, Call)
        assert "nothing was run" in mend(call, TOOLS, cut=finish == "length").error


def test_a_file_that_holds_the_ends_of_a_call_is_not_written_in_part() -> None:
    content = "It ends with\n</parameter>\n</function>\n</tool_call>\nAnd more follows.\n"
    text = (
        f"<tool_call><function=write><parameter=path>a</parameter><parameter=content>\n{content}</parameter></function>"
    )
    assert asked(extract_leaked_calls((Text(text=text),), TOOLS).parts) == []


@pytest.mark.parametrize(
    "text",
    [
        "</tool_call>" * 20_000,
        "<tool_call><function=bash><parameter=command>x" + "</tool_call>" * 20_000,
        "<tool_call>" + "a" * 100_000 + "</arg_key>",
        "<tool_call><function=write>" + "<parameter=content>" * 20_000,
        "<write_to_file><content>" * 5_000,
        '{"a": 1}' + "<|im_end|>" * 20_000,
    ],
    ids=lambda text: text[:30],
)
def test_a_text_made_to_be_slow_is_read_in_time(text: str) -> None:
    started = time.process_time()
    extract_leaked_calls((Text(text=text),), TOOLS)
    assert time.process_time() - started < 10


MARKS = sorted({mark for sample in LEAKED for mark in sample["text"].split() if len(mark) < 40})
PIECES = st.lists(st.sampled_from(MARKS) | st.text(max_size=12) | st.sampled_from("{}[]<>\"'`\n()=:,｜|"), max_size=25)


@settings(max_examples=300, deadline=None)
@given(PIECES, st.sampled_from(["native", "text", "schema"]), st.booleans())
def test_no_text_breaks_the_scavenger_or_makes_it_call_what_is_not_there(
    pieces: list[str], calls: Any, thinking: bool
) -> None:
    few = {name: TOOLS[name] for name in ("read", "bash", "edit")}
    text = "".join(pieces)
    for joined in (text, " ".join(pieces)):
        part: Part = Reasoning(text=joined) if thinking else Text(text=joined)
        result = extract_leaked_calls((part,), few, calls=calls)
        made = [part for part in result.parts if isinstance(part, Call)]
        assert {call.name for call in made} <= few.keys()
        for call in made:
            mend(call, few)
