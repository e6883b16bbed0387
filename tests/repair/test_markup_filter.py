"""What is shown of a text while it streams."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from overt.core.settings import Calls
from overt.repair.markup_filter import MarkupFilter
from overt.tools.registry import BUILT_IN

TOOLS = BUILT_IN.by_name
DATA = Path(__file__).parent.parent / "data"
LEAKED: list[dict[str, Any]] = json.decode((DATA / "leaked_calls.json").read_bytes())
ORDINARY: list[dict[str, str]] = json.decode((DATA / "ordinary_texts.json").read_bytes())
READ = '{"name": "read", "arguments": {"path": "a.py"}}'
SHOWN_BEFORE_IT_IS_KNOWN = (
    "Python",
    "ReAct",
    "Cline",
    "GLM-4",
    "tokens lost",
    "Phi",
    "OLMo",
    "imitated",
    "pythonic",
    "Tool and",
)


def fed(calls: Calls, pieces: list[str]) -> tuple[str, MarkupFilter]:
    veil = MarkupFilter(calls, TOOLS)
    return "".join(veil.feed(piece) for piece in pieces), veil


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is done, 3 < 4 and a[0] is {x}.", "It is done, 3 < 4 and a[0] is {x}."),
        (f"Reading it.\n<tool_call>\n{READ}\n</tool_call>", "Reading it.\n"),
        (f"Reading it. <tool_call>{READ}</tool_call>", "Reading it. "),
        (f"I'll read it.\n\n{READ}", "I'll read it.\n"),
        (f"```json\n{READ}\n```", ""),
        (f"Sure.\n```tool_call\n{READ}\n```", "Sure.\n"),
        ('[TOOL_CALLS]read{"path": "a"}', ""),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read", ""),
        ("<function=read>\n<parameter=path>", ""),
        ("<tool_call>read\n<arg_key>path</arg_key>", ""),
    ],
)
def test_prose_passes_and_markup_waits(text: str, shown: str, size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    seen, veil = fed("native", pieces)
    held = veil.rest(True)
    assert seen + held == text
    assert (seen.rstrip("\n"), MarkupFilter("native", TOOLS).rest(False)) == (shown.rstrip("\n"), "")


@pytest.mark.parametrize(
    "text",
    [
        "The <tool_call> tag wraps a JSON object and more words follow it.",
        'The <invoke name="Read"> element takes children, as said above in the text.',
        "Mistral puts [TOOL_CALLS] before a list of calls.",
        "A section opens with <｜tool▁calls▁begin｜> and goes on with calls.",
        '```json\n{"name": "left-pad", "version": "1.0.0"}\n```\nThat is the file.',
        '```json\n{"mode": "auto"}\n```\nThat is the file.',
        '{"version": 1}\nis the file.',
        "```python\nx = '<tool_call>{'\n```\nends it.",
        "`<tool_call>{}` is a tag.",
        "- [ ] todo\n- [x] done\n\n[link](a) and [1, 2].",
    ],
)
def test_what_is_only_talked_about_is_shown_as_it_comes(text: str) -> None:
    veil = MarkupFilter("native", TOOLS)
    seen = ""
    for at, char in enumerate(text):
        seen += veil.feed(char)
        assert at + 1 - len(seen) <= 60
    assert (seen, veil.rest(True)) == (text, "")


def test_what_was_held_is_dropped_when_calls_were_made_of_it() -> None:
    seen, veil = fed("native", ["Reading.\n", "<tool", "_call>", READ, "</tool_call>"])
    assert (seen, veil.rest(False)) == ("Reading.\n", "")


HIDDEN = [
    sample
    for sample in LEAKED
    if sample["where"] == "text" and not any(word in sample["name"] for word in SHOWN_BEFORE_IT_IS_KNOWN)
]


@pytest.mark.parametrize("sample", HIDDEN, ids=lambda sample: sample["name"])
def test_the_markup_of_leaked_calls_is_not_shown(sample: dict[str, Any]) -> None:
    shown, _ = fed(sample["calls"], list(sample["text"]))
    for mark in ('"arguments"', '"path"', "arg_key", "parameter", "python_", "tool_sep", "tool▁", '"command"'):
        assert mark not in shown


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([sample["text"] for sample in (*LEAKED, *ORDINARY)]) | st.text(max_size=60),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
)
def test_nothing_is_lost_changed_or_put_out_of_order(text: str, sizes: list[int]) -> None:
    pieces: list[str] = []
    at = 0
    while at < len(text):
        pieces.append(text[at : at + sizes[len(pieces) % len(sizes)]])
        at += len(pieces[-1])
    seen, veil = fed("native", pieces)
    assert seen + veil.rest(True) == text


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_of_an_agreed_object_only_the_final_words_are_shown(size: int) -> None:
    text = '{"tool": "final", "text": "Two\\nlines, a \\"quote\\", \\u4f60 and \\ud83d\\ude00."}'
    seen, veil = fed("schema", [text[at : at + size] for at in range(0, len(text), size)])
    assert (seen, veil.rest(True)) == ('Two\nlines, a "quote", 你 and 😀.', "")


def test_of_an_agreed_object_that_is_a_call_nothing_is_shown() -> None:
    seen, veil = fed("schema", list('{"tool": "bash", "command": "echo \\"text\\": final"}'))
    assert (seen, veil.rest(False)) == ("", "")


def test_final_words_that_come_before_their_name_are_shown_at_the_end() -> None:
    seen, veil = fed("schema", list('{"text": "Done.", "tool": "final"}'))
    assert (seen, veil.rest(False)) == ("", "Done.")


def test_words_where_an_object_was_agreed_pass() -> None:
    seen, veil = fed("schema", list("I cannot do that {yet}."))
    assert (seen, veil.rest(True)) == ("I cannot do that {yet}.", "")


def test_a_long_reply_costs_next_to_nothing() -> None:
    line = "The function `parse` reads a list of items, and each one has a name (or none), 5 < 6.\n"
    text = line * 1000
    pieces = [text[at : at + 4] for at in range(0, len(text), 4)][:20_000]
    started = time.process_time()
    seen, veil = fed("native", pieces)
    spent = time.process_time() - started
    assert seen + veil.rest(True) == "".join(pieces)
    assert spent < 1.0
