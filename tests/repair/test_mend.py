"""What models get wrong, as a table."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json, to_builtins

from overt.core.codec import compact
from overt.core.messages import Call
from overt.core.views import Todo
from overt.repair.repair_call import mend
from overt.tools.registry import BUILT_IN

TOOLS = {tool.name: tool for tool in BUILT_IN}
DATA = Path(__file__).parent.parent / "data"
BROKEN: list[dict[str, Any]] = json.decode((DATA / "broken_calls.json").read_bytes())


@pytest.mark.parametrize("sample", BROKEN, ids=lambda sample: sample["name"])
def test_a_broken_call_is_run_as_meant_or_answered(sample: dict[str, Any]) -> None:
    call = Call(id="1", name=sample["tool"], arguments=sample["arguments"])
    mended = mend(call, TOOLS, cut=sample["finish"] == "length")
    if not sample["asked"]:
        assert (mended.tool, mended.args) == (None, None)
        assert "Expected" in mended.error or "nothing was run" in mended.error or "no tool called" in mended.error
        return
    (meant,) = sample["asked"]
    exact = mend(Call(id="2", name=meant["tool"], arguments=compact(meant["arguments"])), TOOLS)
    assert mended.error == ""
    assert (mended.call.name, to_builtins(mended.args)) == (meant["tool"], to_builtins(exact.args))


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
        ("Grep", {"pattern": "x", "output_mode": "files_with_matches", "head_limit": 5}, "grep",
         {"pattern": "x", "mode": "files", "limit": 5},
         ("Grep → grep", "output_mode → mode", "head_limit → limit", "files_with_matches → files")),
        ("grep", {"pattern": "x", "output_mode": "content"}, "grep", {"mode": "content"}, ("output_mode → mode",)),
        ("grep", {"pattern": "x", "mode": "Count"}, "grep", {"mode": "count"}, ("converted argument types",)),
        ("update_plan", {"plan": [{"step": "a", "status": "in_progress"}, {"step": "b", "status": "done"}]},
         "todowrite",
         {"todos": (Todo(content="a", status="in_progress"), Todo(content="b", status="completed"))},
         ("update_plan → todowrite", "plan → todos", "step → content", "done → completed")),
        ("write_todos", {"todos": [{"description": "a", "status": "not-started"}]}, "todowrite",
         {"todos": (Todo(content="a"),)},
         ("write_todos → todowrite", "description → content", "not-started → pending")),
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


def test_a_description_never_becomes_the_content_of_a_file() -> None:
    mended = mend(Call(id="1", name="write", arguments=compact({"path": "a", "description": "x", "step": "y"})), TOOLS)
    assert "missing `content`" in mended.error


def test_arguments_encoded_twice_are_unwrapped() -> None:
    mended = mend(Call(id="1", name="read", arguments=compact(compact({"path": "a"}))), TOOLS)
    assert (mended.args.path, mended.notes) == ("a", ("arguments were encoded twice",))


def test_edits_given_as_json_text_are_unwrapped() -> None:
    edits = compact([{"old_string": "a", "new_string": "b"}])
    mended = mend(Call(id="1", name="multiedit", arguments=compact({"path": "f", "edits": edits})), TOOLS)
    assert (mended.error, mended.args.edits[0].old_string) == ("", "a")


@pytest.mark.parametrize(
    ("arguments", "path", "notes"),
    [
        ('{"path": "a.py"}', "a.py", ()),
        ('"{\\"path\\": \\"a.py\\"}"', "a.py", ("arguments were encoded twice",)),
        ('```json\n{"path": "a.py"}\n```', "a.py", ("took the arguments out of a code fence",)),
        ('{"path": "a.py"} I hope this helps.', "a.py", ("ignored text after the arguments",)),
        ('{"path": "a.py"}}', "a.py", ("ignored text after the arguments",)),
        ('Here: {"path": "a.py"}', "a.py", ("ignored text before the arguments",)),
        ("{'path': 'a.py'}", "a.py", ("read single quotes and Python words",)),
        ('{"path": "a.py",}', "a.py", ("removed a trailing comma",)),
        ('{path: "a.py"}', "a.py", ("quoted bare keys",)),
        ('{"path": "a.py" /* the file */}', "a.py", ("ignored comments",)),
        ('{"path": "a\tb"}', "a\tb", ("escaped raw line breaks",)),
        ('{"path": "a\\d"}', "a\\d", ("kept stray backslashes",)),
        ('{}{"path": "a.py"}', "a.py", ("ignored an empty object before the arguments",)),
        ('{"path": "a.py"}{"path": "a.py"}', "a.py", ("ignored the arguments' second copy",)),
        ('[{"path": "a.py"}]', "a.py", ("took the arguments out of a list",)),
        ('{"path": "a.p', "a.p", ("closed truncated JSON",)),
        ('{"path": "a.py", "lim', "a.py", ("closed truncated JSON",)),
        ('{"path": "a.py"', "a.py", ("closed truncated JSON",)),
        ('{"path": "a "b" c"}', 'a "b" c', ("repaired broken JSON",)),
        ('{"arguments": {"path": "a.py"}}', "a.py", ("took the arguments out of `arguments`",)),
        ('{"name": "read", "parameters": {"path": "a.py"}}', "a.py", ("took the arguments out of `parameters`",)),
        ('{"file_path": "a.py"}', "a.py", ("file_path → path",)),
        ('{"FilePath": "a.py"}', "a.py", ("FilePath → path",)),
        ('{"path": "a.py", "offset": 0}', "a.py", ("raised offset to 1",)),
        ('{"path": "a.py", "limit": "20"}', "a.py", ("converted argument types",)),
        ('{"path": "a.py", "limit": 20.0}', "a.py", ("converted argument types",)),
        ('{"path": "a.py", "start_line": 3, "end_line": 9}', "a.py", ("end_line → limit", "start_line → offset")),
        ('{"path": "a.py", "view_range": [3, 9]}', "a.py", ("view_range → offset, limit",)),
        ('{"path": "a.py", "offset": null}', "a.py", ("dropped null offset",)),
    ],
)
def test_arguments_in_every_dress_are_read_and_the_change_is_said(
    arguments: str, path: str, notes: tuple[str, ...]
) -> None:
    mended = mend(Call(id="1", name="read", arguments=arguments), TOOLS)
    assert (mended.error, mended.args and mended.args.path, mended.notes) == ("", path, notes)


def test_first_and_last_line_become_a_first_line_and_a_length() -> None:
    for text in ('{"path": "a", "start_line": 3, "end_line": 9}', '{"path": "a", "view_range": [3, 9]}'):
        args = mend(Call(id="1", name="view", arguments=text), TOOLS).args
        assert (args.offset, args.limit) == (3, 7)


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "expected"),
    [
        ("bash", '{"command": ["bash", "-lc", "ls -la"]}', "bash", {"command": "ls -la"}),
        ("shell", '{"command": ["git", "commit", "-m", "a b"]}', "bash", {"command": "git commit -m 'a b'"}),
        ("bash", '{"command": "ls", "timeout": 9000000}', "bash", {"command": "ls", "timeout": 600_000}),
        ("bash", "{'command': 'ls', 'run_in_background': True}", "bash", {"command": "ls", "run_in_background": True}),
        ("write", '{"path": "a.json", "content": {"a": 1}}', "write", {"path": "a.json", "content": '{\n  "a": 1\n}'}),
        ("write", '{"path": "a", "content": "one\ntwo"}', "write", {"path": "a", "content": "one\ntwo"}),
        ("edit", '{"path": "a", "old_string": "{1}", "new_string": "[2]", "replace_all": "true"}', "edit",
         {"path": "a", "old_string": "{1}", "new_string": "[2]", "replace_all": True}),
        ("str_replace_editor", '{"command": "view", "path": "a"}', "read", {"path": "a"}),
        ("str_replace_editor", '{"command": "create", "path": "a", "file_text": "x"}', "write",
         {"path": "a", "content": "x"}),
        ("str_replace_based_edit_tool",
         '{"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"}', "edit",
         {"path": "a", "old_string": "x", "new_string": "y"}),
        ("BashOutput", '{"bash_id": "b1"}', "jobs", {"action": "output", "id": "b1"}),
        ("KillShell", '{"shell_id": "b1"}', "jobs", {"action": "stop", "id": "b1"}),
        ("functions.read:0", '{"path": "a"}', "read", {"path": "a"}),
        ("default_api.read_file", '{"path": "a"}', "read", {"path": "a"}),
        ("READ", '{"path": "a"}', "read", {"path": "a"}),
        ("read-file", '{"path": "a"}', "read", {"path": "a"}),
        ("SearchText", '{"query": "x"}', "grep", {"pattern": "x"}),
        ("glob", '{"glob": "*.py"}', "glob", {"pattern": "*.py"}),
        ("list_directory", '{"dir_path": "src"}', "list", {"path": "src"}),
        ("todo_write", '{"todos": "[{\\"content\\": \\"a\\", \\"status\\": \\"pending\\"}]"}', "todowrite", {}),
        ("todoread", "null", "todowrite", {"todos": None}),
        ("TodoRead", "", "todowrite", {"todos": None}),
    ],
)  # fmt: skip
def test_what_other_agents_would_have_said_is_understood(
    name: str, arguments: str, tool: str, expected: dict[str, Any]
) -> None:
    mended = mend(Call(id="1", name=name, arguments=arguments), TOOLS)
    assert (mended.error, mended.call.name) == ("", tool)
    assert {key: getattr(mended.args, key) for key in expected} == expected


WHOLE = {
    "write": {"path": "a.py", "content": "x = {1: 'a'}\n"},
    "edit": {"path": "a.py", "old_string": "rm", "new_string": 'say "hi"'},
    "multiedit": {"path": "a.py", "edits": [{"old_string": "a", "new_string": "b"}]},
    "patch": {"patch": "*** Begin Patch\n*** Delete File: a\n*** End Patch"},
    "bash": {"command": "rm -rf /tmp/x/ab/cd", "timeout": 1000},
    "jobs": {"action": "stop", "id": "j1"},
    "todowrite": {"todos": [{"content": "a", "status": "pending"}, {"content": "b", "status": "pending"}]},
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("cut", [True, False])
def test_no_change_is_made_from_arguments_that_were_cut(name: str, cut: bool) -> None:
    text = compact(WHOLE[name])
    for form in (text, compact(text), text.replace('"', "'")):
        whole = mend(Call(id="1", name=name, arguments=text), TOOLS, cut=cut)
        assert whole.error == ""
        for end in range(1, len(form)):
            mended = mend(Call(id="1", name=name, arguments=form[:end]), TOOLS, cut=cut)
            assert mended.error != "", form[:end]
            assert "nothing was run" in mended.error
            assert mended.tool is None


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("write", '{"path": "a", "content": "half', ["was cut", "nothing was run", "then add the rest with edit"]),
        ("bash", '{"command": "rm -rf /tmp/x/ab', ["was cut", "nothing was run", "put a long script into a file"]),
        ("write", '{"path": "a", "content": "say "hi" now"}', ["broken JSON", "nothing was run", "Escape quotes"]),
        ("bash", '{"command": "echo "}" && ls"}', ["broken JSON", "nothing was run"]),
        ("bash", '{"command": "ls"}{"command": "rm a"}', ["more than one way", "nothing was run"]),
        ("edit", '{"path": "a", "old": "x", "nwe_string": "y"}', ["missing `new_string`", "is `nwe_string` meant"]),
        ("read", '{"path": "a", "limit": "many"}', ["`limit`", "Expected {path: string", 'got {"path":"a"']),
        ("grep", '{"pattern": 1.5, "mode": "all"}', ["`mode`", "content|files|count"]),
        ("read", "just words", ["not a JSON object", "Expected {path: string"]),
    ],
)
def test_what_is_not_run_says_why_and_what_to_do(name: str, arguments: str, words: list[str]) -> None:
    mended = mend(Call(id="1", name=name, arguments=arguments), TOOLS)
    assert mended.tool is None
    for word in words:
        assert word in mended.error


def test_a_whole_call_runs_although_the_reply_reached_its_limit() -> None:
    call = Call(id="1", name="write", arguments='{"path":"a","content":"all"}')
    assert mend(call, TOOLS, cut=True).args.content == "all"


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=20) | st.sampled_from([*TOOLS, "Read", "shell"]),
    st.text(max_size=60)
    | st.lists(st.sampled_from(list("{}[]\"':,\\`\n 1te") + ['"path"', '"command"', "null", "```", '\\"'])).map(
        "".join
    ),
    st.booleans(),
)
def test_no_arguments_break_the_mending(name: str, arguments: str, flatten: bool) -> None:
    mended = mend(Call(id="1", name=name, arguments=arguments), TOOLS, flatten=flatten)
    assert (mended.tool is None) == bool(mended.error)
    assert mended.tool is None or mended.tool.name in TOOLS


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
