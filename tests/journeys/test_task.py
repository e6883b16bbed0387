"""A task of twelve steps from the command line to the right files, on a small project and in a large crowd."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer
from tests.journeys.journey_kit import (
    Place,
    assert_each_extends_the_one_before,
    assert_paired,
    entries,
    messages,
    results,
)
from tests.journeys.project_kit import (
    AFTER,
    ODD_NAMES,
    SHOWN_NAMES,
    around_the_crowd,
    make_crowd,
    make_project,
    mistakes,
    task,
)

STEPS = 12
CLAUDE_TOOLS = (
    "Read Write Edit MultiEdit Patch LS Glob Grep Bash BashOutput TodoWrite Task ToolSearch ToolCall".split()
)  # fmt: skip


@pytest.fixture(params=["text", "json", "stream-json"])
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_result(line: dict[str, Any], *, turns: int) -> None:
    """The last line of json and stream-json, field by field."""
    numbers = {key: line.pop(key) for key in ("duration_ms", "duration_api_ms")}
    assert all(isinstance(value, int) and value >= 0 for value in numbers.values())
    (used,) = line["modelUsage"].values()
    assert used == line["usage"] == line.pop("usage")
    assert set(used) == {
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    }
    assert used["input_tokens"] > 0 < used["cache_read_input_tokens"]
    assert len(line.pop("uuid")) == 32 and len(line.pop("session_id")) == 8
    assert line == {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": turns,
        "result": "All is mended.",
        "total_cost_usd": 0.0,
        "modelUsage": {"fake-model": used},
        "permission_denials": [],
    }


def assert_stream(lines: list[dict[str, Any]], place: Place) -> None:
    """Claude Code's shapes: what it does first, then what was said and answered, then the result."""
    first, *middle, last = lines
    session = first["session_id"]
    assert first.pop("uuid") and place.session().stem.endswith(session)
    assert first == {
        "type": "system",
        "subtype": "init",
        "session_id": session,
        "cwd": str(place.work),
        "model": "fake-model",
        "tools": CLAUDE_TOOLS,
        "mcp_servers": [],
        "permissionMode": "default",
        "slash_commands": [],
        "agents": ["plan", "general", "explore", "worker"],
        "skills": ["explore-codebase", "review-change", "write-tests"],
        "plugins": [],
    }
    assert {(line["parent_tool_use_id"], line["session_id"]) for line in middle} == {(None, session)}
    assert len({line["uuid"] for line in middle}) == len(middle)
    waiting: set[str] = set()
    for line in middle:
        message = line["message"]
        assert message["role"] == line["type"]
        for block in message["content"]:
            if block["type"] == "tool_use":
                assert isinstance(block["input"], dict) and block["name"] in CLAUDE_TOOLS
                waiting.add(block["id"])
            elif block["type"] == "tool_result":
                assert (set(block), line["type"]) == ({"type", "tool_use_id", "content", "is_error"}, "user")
                waiting.remove(block["tool_use_id"])
        if line["type"] == "assistant":
            assert set(message) == {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}
            calling = any(block["type"] == "tool_use" for block in message["content"])
            assert message["stop_reason"] == ("tool_use" if calling else "end_turn")
    assert waiting == set()
    assert [line["type"] for line in middle].count("assistant") == STEPS + 1
    assert last["session_id"] == session


def test_a_task_of_twelve_steps_ends_with_the_right_files(place: Place, shape: str) -> None:
    make_project(place.work)
    with ModelServer(task()) as server:
        done = place.run("run", "mend it", "--output-format", shape, server=server)
    assert (done.code, files(place.work)) == (0, AFTER)
    session = place.session().stem.rpartition("-")[2]
    closing = rf"5 files changed \(\+8 -4\) · 13 steps · 3\dk tokens · session {session} · undo: `overt undo`\n"
    assert re.fullmatch(closing if shape == "text" else "", done.err)
    assert len(server.posts) == STEPS + 1
    assert_each_extends_the_one_before(server)
    assert_paired(messages(server))
    assert [text for text in results(server) if "well" in text or "wrong" in text][1:] == [
        "shout is wrong\n[exit code 1]",
        "all is well",
    ]
    # The list was written and read in one reply, in this order.
    assert results(server)[-1] == "[x] mend add\n[x] mend names\n[not changed]"
    match shape:
        case "text":
            assert done.out == "All is mended.\n"
        case "json":
            assert_result(json.loads(done.out), turns=STEPS + 1)
        case _:
            lines = [json.loads(line) for line in done.out.splitlines()]
            assert_stream(lines, place)
            assert_result(lines[-1], turns=STEPS + 1)


def test_verbose_tells_on_stderr_what_the_tools_do(place: Place) -> None:
    make_project(place.work)
    with ModelServer(task()) as server:
        done = place.run("-p", "mend it", "--verbose", server=server)
    assert (done.code, done.out) == (0, "All is mended.\n")
    assert "→ edit calc/core.py" in done.err
    assert "✓ updated calc/core.py (+1 -1)" in done.err


EXPECTED_MISTAKES = (
    # An indentation of blanks where the file has a tab.
    ("nearest place is line 2", "\\t'add': 'plus'"),
    ("stands 2 times, at lines 2, 3", "replace_all"),
    ("calc/shout.py exists and has not been read", "Read it first"),
    ("calc/cores.py does not exist", "Did you mean calc/core.py"),
    ("The call to edit was cut", "nothing was run", "smaller edits"),
    ("no tool called 'refactor_everything'", "Tools: read, write"),
)


def test_the_task_passes_among_ten_thousand_files_after_six_mistakes(place: Place) -> None:
    make_project(place.work)
    make_crowd(place.work, 10_000)
    wrong, crowd = mistakes(), around_the_crowd()
    with ModelServer([*wrong, *crowd, *task()]) as server:
        done = place.run("run", "mend it", server=server)
    assert (done.code, done.out, done.err.splitlines()[-1].partition(" · ")[0]) == (
        0,
        "All is mended.\n",
        "11 files changed (+14 -10)",
    )
    assert len(server.posts) == len(wrong) + len(crowd) + STEPS + 1
    assert_each_extends_the_one_before(server)
    assert_paired(messages(server))

    told = results(server)
    for text, words in zip(told[2:8], EXPECTED_MISTAKES, strict=True):
        assert all(word in text for word in words), text
    assert_crowd(told[8:29])
    odd = {name: (os.fsencode(place.work) + b"/odd/" + name) for name in ODD_NAMES}
    assert {Path(os.fsdecode(path)).read_bytes() for path in odd.values()} == {b"odd one in\n"}
    assert (place.work / "crowd/00/part_3.py").read_bytes() == b"def part():\r\n\treturn 33\r\n"
    for name, content in AFTER.items():
        assert (place.work / name).read_bytes() == content
    assert len(list((place.work / "crowd").rglob("*.py"))) == 10_000
    assert all(line["v"] == 1 for line in entries(place.session()))


def assert_crowd(told: list[str]) -> None:
    listed, globbed, found = told[:3]
    assert set(listed.splitlines()) == set(SHOWN_NAMES)
    assert set(globbed.splitlines()) == {f"odd/{name}" for name in SHOWN_NAMES}
    assert set(found.splitlines()) == {f"odd/{name}:1:odd one out" for name in SHOWN_NAMES}
    assert told[3:8] == ["     1\todd one out"] * 5
    assert told[8:13] == [f"updated odd/{name} (+1 -1), line 1" for name in SHOWN_NAMES]
    window, line, linked, *outside, hit, parts, edited = told[13:]
    assert window.splitlines() == [f"{n + 1:>6}\t{n:07} all quiet on this line of the log" for n in (109_998, 109_999)]
    assert line == "77778:0077777 all quiet on this line of the log"
    assert linked.startswith("     1\tdef add(a, b):\n     2\t    return a - b")
    assert outside == [f"     1\t{Path('/etc/hostname').read_text().strip()}"] * 2
    assert hit == "crowd/19/part_9998.py:2:\treturn 9998"
    assert len(parts.splitlines()) == 6 and "[5 of 111 shown" in parts
    assert edited == "updated crowd/00/part_3.py (+1 -1), line 2"
