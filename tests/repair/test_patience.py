"""No text a model can write keeps the loop busy: what reads replies is done in a time that grows with their length."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.core.messages import Call, Reasoning, Text
from overt.core.settings import Calls
from overt.repair.leaked_calls import extract_leaked_calls
from overt.repair.markup_filter import MarkupFilter
from overt.repair.repair_call import mend
from overt.tools.registry import BUILT_IN

TOOLS = {tool.name: tool for tool in BUILT_IN}
SIZE = 300_000
PATIENCE = 10

REPEATED = [
    "{", "[", '{"a":', '{"a":1,', "[[],", "\n {", "\n", " ", "\t", "<", "<a>", "`<", "`a", "`x\n\n", "</think>",
    "{}", "{} ",
    "<tool_call>", "<tool_call>{", "</tool_call>", "<tool_call>bash", "<tool_call>\n<function=bash>\n", "<function=",
    "<function=bash>", "<function=bash></function>", "<function=bash><parameter=command>x</parameter></function>",
    '<invoke name="bash">', '<invoke name="bash', '<invoke name="bash" ', "<｜DSML｜invoke name=\"bash\">", "<xml>",
    "<bash>\n",
    "<read><path>", "<read>\n<path>a</path>\n</read>\n", "<write_to_file><content>", "<|im_end|>", "</s>", "<!--", "/*",
    "/* */", "<!-- -->", "[TOOL_CALLS]", "[TOOL_CALLS]bash{", '[TOOL_CALLS]bash{"command": "x"}', "[Tool call: ",
    "Action: bash\nAction Input: ", "Action: bash\nAction Input: {\n", "Action: bash\nAction Input: ls\n",
    "Thought: x\n",
    "Observation: ", "bash\n{\n", "bash\n\n", "to=bash ", "to=functions.bash <|message|>{", "<|tool_calls_begin|>",
    "<|tool_call_begin|>bash<|tool_sep|>", "<|tool_call_begin|>bash<|tool_sep|>{}<|tool_call_end|>", 'call tool="',
    'call tool="bash"<|sep|>', '<|open|>call tool="bash"<|sep|>', "<start_function_call>call:bash{", "]<]minimax[>[",
    "bash(", "bash()\n", "(1+", "<|python_tag|>bash(", "<|python_tag|>", '\\"', "\\", '"', "'", '"""', "```json\n",
    "```\n",
    '```json\n{"name":"bash"}\n```\n', '```json\n{"name":"bash","arguments":{}}\n```\n',
    '{"name":"bash","arguments":{}}\n',
    '{"name":"bash","arguments":{}},', '{"name":"bash","arguments":"', "I'll run this: ", "a", "a ", "a.", "é", "。",
    "<arg_key>",
    "<arg_key>a</arg_key>", "<arg_key>a</arg_key><arg_value>b</arg_value>", "</arg_key>", "</parameter>",
    "<parameter=a>",
]  # fmt: skip
AROUND = [
    ("", ""), ("", "}"), ("", "]"), ("", ")"), ("", "\n```"), ("<tool_call>", ""), ("<tool_call>", "</tool_call>"),
    ('<tool_call>{"name":"bash","arguments":"', ""), ('{"name":"bash","arguments":"', ""), ("<function=bash>", ""),
    ("<tool_call>bash", ""), ("[TOOL_CALLS]", ""), ("<|tool_calls_begin|>", ""), ('call tool="bash"<|sep|>', ""),
    ("<invoke name=", ""), ('<invoke name="bash"', ""), ("<start_function_call>call:bash{", ""), ("to=bash", "x"),
    ("<bash>", ""), ("Action: bash\nAction Input: ", ""), ("```json\n", "\n```"), ('{"name":"bash"}', ""),
    ('{"tool": "final", "', ""), ('{"tool": "final", "text": "', ""), ("[", "]"), ("<parameter=", ""),
    ("I'll run it.\n\n", "}"),
]  # fmt: skip


def through(text: str) -> None:
    """Everything that reads what a model wrote."""
    extract_leaked_calls((Text(text=text),), TOOLS)
    extract_leaked_calls((Text(text=text),), TOOLS, calls="schema")
    ways: list[tuple[Calls, int]] = [("native", 400), ("native", len(text) or 1), ("schema", 400)]
    for calls, size in ways:
        veil = MarkupFilter(calls, TOOLS)
        shown = "".join(veil.feed(text[at : at + size]) for at in range(0, len(text), size))
        assert len(shown + veil.rest(True)) <= len(text)
    for name, arguments in (("bash", text), ("read", text), ("bash", f'{{"command":"{text}'), (text[:1000], text)):
        mend(Call(id="1", name=name, arguments=arguments), TOOLS)
    mend(Call(id="1", name="todowrite", arguments=text), TOOLS, flatten=True)


def spent(act: Callable[[], object]) -> float:
    started = time.process_time()
    act()
    return time.process_time() - started


@pytest.mark.parametrize("seed", REPEATED, ids=repr)
def test_a_repeated_piece_is_read_in_time(seed: str) -> None:
    assert spent(lambda: through(seed * (SIZE // len(seed)))) < PATIENCE


@pytest.mark.parametrize("around", AROUND, ids=repr)
def test_a_repeated_piece_inside_markup_is_read_in_time(around: tuple[str, str]) -> None:
    for seed in (" ", "\n", "a", "{", '\\"', "<a>", '{"a":1,'):
        text = around[0] + seed * (SIZE // 6 // len(seed)) + around[1]
        assert spent(lambda text=text: through(text)) < PATIENCE, seed  # type: ignore[misc]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(REPEATED), min_size=1, max_size=4), st.sampled_from(AROUND))
def test_pieces_repeated_together_are_read_in_time(pieces: list[str], around: tuple[str, str]) -> None:
    seed = "".join(pieces)
    text = around[0] + seed * (60_000 // len(seed)) + around[1]
    assert spent(lambda: through(text)) < PATIENCE


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"<a{n}>x</a{n}>" for n in range(20_000)),
        "<bash>" + "".join(f"<a{n}>x</a{n}>" for n in range(20_000)),
        "\n".join("`" * (3 + n) + "json" for n in range(700)),
        "".join("`" * n + " " for n in range(1, 700)),
        "{" + ",".join(f'"a{n}":1' for n in range(30_000)) + "}",
        "{" + ",".join(f'"a.b{n}":1' for n in range(30_000)) + "}",
        '{"' + "a." * 100_000 + 'b":1}',
        '{"todos": [' + ",".join('{"a":1}' for _ in range(30_000)) + "]}",
        "".join(f'<invoke name="a{n}"></invoke>' for n in range(10_000)),
        "[" + ", ".join("bash(command='x')" for _ in range(15_000)) + "]",
        "a." * 50_000 + "b()",
    ],
    ids=lambda text: text[:20],
)
def test_many_different_pieces_are_read_in_time(text: str) -> None:
    assert spent(lambda: through(text)) < PATIENCE


def test_an_ordinary_change_that_was_cut_is_refused_at_once() -> None:
    text = '{"path":"a.py","content":"' + 'def f(x):\\n    return {\\"a\\": [1, 2], \\"b\\": x}\\n' * 6000
    call = Call(id="1", name="write", arguments=text)
    assert spent(lambda: mend(call, TOOLS)) < 1
    assert "was cut" in mend(call, TOOLS).error


def test_one_budget_is_spent_on_all_parts_of_a_reply() -> None:
    parts = tuple(Text(text="<tool_call>{" * 2000) for _ in range(100))
    assert spent(lambda: extract_leaked_calls(parts, TOOLS)) < PATIENCE
    thoughts = tuple(Reasoning(text="<tool_call>{" * 2000) for _ in range(100))
    assert spent(lambda: extract_leaked_calls(thoughts, TOOLS)) < PATIENCE


def test_a_call_at_the_end_of_a_long_ordinary_reply_is_still_found() -> None:
    words = "The list `items[0] < limit` holds a <b>name</b>, see [TODO](x) and <tool> in {braces}.\n" * 40
    said = words + '\nI\'ll read it now.\n\n<tool_call>{"name": "read", "arguments": {"path": "a.py"}}</tool_call>'
    (_, call) = extract_leaked_calls((Text(text=said),), TOOLS).parts
    assert call == Call(id="leaked_1", name="read", arguments='{"path":"a.py"}')
