"""What models get wrong, as a table."""

from typing import Any

import pytest

from overt.core.codec import compact
from overt.core.messages import Call
from overt.repair.mend import mend
from overt.tools.registry import BUILT_IN

TOOLS = {tool.name: tool for tool in BUILT_IN}


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "expected", "notes"),
    [
        ("read", {"path": "a"}, "read", {"path": "a"}, ()),
        ("Read", {"file_path": "a"}, "read", {"path": "a"}, ("Read → read", "file_path → path")),
        ("read_file", {"path": "a", "start_line": 3}, "read", {"path": "a", "offset": 3},
         ("read_file → read", "start_line → offset")),
        ("functions.read", {"path": "a"}, "read", {"path": "a"}, ("functions.read → read",)),
        ("read", {"path": "a", "limit": "10"}, "read", {"path": "a", "limit": 10}, ("converted argument types",)),
        ("read", {"path": "a", "purpose": "x"}, "read", {"path": "a"}, ("ignored unknown `purpose`",)),
        ("read", {"path": "a", "offset": None}, "read", {"path": "a"}, ("dropped null offset",)),
        ("str_replace", {"path": "a", "old_str": "x", "new_str": "y"}, "edit",
         {"path": "a", "old_string": "x", "new_string": "y"},
         ("str_replace → edit", "old_str → old_string", "new_str → new_string")),
        ("run_command", {"cmd": "ls"}, "bash", {"command": "ls"}, ("run_command → bash", "cmd → command")),
    ],
)  # fmt: skip
def test_what_was_meant_is_understood_and_said(
    name: str, arguments: dict[str, Any], tool: str, expected: dict[str, Any], notes: tuple[str, ...]
) -> None:
    mended = mend(Call(id="1", name=name, arguments=compact(arguments)), TOOLS)
    assert mended.error == ""
    assert mended.call.name == tool
    assert {key: getattr(mended.args, key) for key in expected} == expected
    assert mended.notes == notes


def test_arguments_encoded_twice_are_unwrapped() -> None:
    mended = mend(Call(id="1", name="read", arguments=compact(compact({"path": "a"}))), TOOLS)
    assert (mended.args.path, mended.notes) == ("a", ("arguments were encoded twice",))


def test_edits_given_as_json_text_are_unwrapped() -> None:
    edits = compact([{"old_string": "a", "new_string": "b"}])
    mended = mend(Call(id="1", name="multiedit", arguments=compact({"path": "f", "edits": edits})), TOOLS)
    assert (mended.error, mended.args.edits[0].old_string) == ("", "a")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("raed", "{}"), ["no tool called 'raed'", "Did you mean read?", "Tools: read, write"]),
        (("read", '{"pa'), ["not a JSON object", "Expected {path: string"]),
        (("read", "[1]"), ["not a JSON object"]),
        (("edit", '{"path":"a"}'), ["Invalid arguments for edit", "missing", "old_string", "Expected {path: string"]),
        (("read", '{"path":["a"]}'), ["Invalid arguments for read", "path", "Expected"]),
        (("grep", '{"pattern":"x","mode":"all"}'), ["content|files|count"]),
    ],
)
def test_what_cannot_be_understood_comes_back_with_the_expected_shape(call: tuple[str, str], words: list[str]) -> None:
    mended = mend(Call(id="1", name=call[0], arguments=call[1]), TOOLS)
    assert mended.args is None
    for word in words:
        assert word in mended.error


def test_arguments_cut_at_the_token_limit_are_returned_as_cut() -> None:
    mended = mend(Call(id="1", name="write", arguments='{"path":"a","content":"half'), TOOLS, cut=True)
    assert mended.args is None
    assert "cut at its token limit" in mended.error
    assert "nothing was run" in mended.error
