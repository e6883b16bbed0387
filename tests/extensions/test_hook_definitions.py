"""What hook configurations mean, and what a hook says by its exit code and output."""

import pytest
from msgspec import json

from overt.core.settings import HookTable
from overt.extensions.hook_replies import read_reply
from overt.extensions.hooks import Hook, read_hooks


def hook(matcher: str, event: str = "PreToolUse") -> Hook:
    return Hook(event=event, origin="overt.toml:1", matcher=matcher, command="true")


@pytest.mark.parametrize(
    ("matcher", "matched", "passed"),
    [
        ("", ["Bash"], []),
        ("*", ["Bash", "mcp__a__b"], []),
        ("Bash", ["Bash"], ["BashOutput", "bash"]),
        ("Edit|Write", ["Edit", "Write"], ["MultiEdit", "Edi"]),
        ("mcp__.*", ["mcp__a__b"], ["xmcp__a"]),
        ("^Edit.*", ["Edit", "Editor"], ["MultiEdit"]),
        ("Notebook.*|Bash", ["NotebookEdit", "Bash"], ["MyBash"]),
    ],
)
def test_a_matcher_is_a_name_a_list_or_an_anchored_regex(matcher: str, matched: list[str], passed: list[str]) -> None:
    assert [name for name in (*matched, *passed) if hook(matcher).matches((name,))] == matched


def test_prompts_and_stops_have_no_matcher() -> None:
    assert hook("Bash", "Stop").matches(("anything",))


def handlers(*handlers: object, matcher: object = "Bash", event: str = "PreToolUse") -> tuple[Hook, ...]:
    group = {"matcher": matcher, "hooks": list(handlers), "note": "unknown fields are ignored"}
    return read_hooks(HookTable(event=event, text=json.encode(group).decode(), origin="x:1"))


def test_a_handler_is_read_with_its_fields() -> None:
    (one,) = handlers({"type": "command", "command": "check", "timeout": 5, "if": "Bash(git *)", "statusMessage": "…"})
    assert (one.command, one.timeout_s, one.condition, one.matcher, one.problem) == (
        "check",
        5.0,
        "Bash(git *)",
        "Bash",
        "",
    )


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        ({"type": "http", "url": "https://x"}, "'http' are not supported"),
        ({"type": "prompt", "prompt": "x"}, "'prompt' are not supported"),
        ({"type": "command"}, "no `command`"),
        ({"type": "command", "command": "x", "timeout": "long"}, "`timeout`"),
        ({"type": "command", "command": "x", "timeout": True}, "`timeout`"),
        ("x", "not a table"),
    ],
)
def test_a_handler_that_cannot_run_says_why(handler: object, problem: str) -> None:
    assert problem in handlers(handler)[0].problem


def test_a_broken_matcher_is_a_problem_and_matches_everything() -> None:
    (one,) = handlers({"command": "x"}, matcher="(")
    assert "regular expression" in one.problem and one.matches(("Bash",))


def test_an_unknown_event_is_accepted_and_listed_as_not_fired() -> None:
    (one,) = handlers({"command": "x"}, event="UserPromptExpansion")
    assert (one.is_fired, one.problem) == (False, "")


@pytest.mark.parametrize(
    ("code", "stdout", "verdict", "fails"),
    [
        (0, "", "", False),
        (0, "all good", "", False),
        (2, "", "deny", False),
        (1, "", "deny", True),
        (127, "", "deny", True),
        (-11, "", "deny", True),
        (0, '{"hookSpecificOutput": {"permissionDecision": "deny"}}', "deny", False),
        (0, '{"hookSpecificOutput": {"permissionDecision": "ask"}}', "ask", False),
        (0, '{"hookSpecificOutput": {"permissionDecision": "allow"}}', "allow", False),
        (0, '{"hookSpecificOutput": {"permissionDecision": "defer"}}', "", False),
        (0, '{"hookSpecificOutput": {"permissionDecision": "perhaps"}}', "deny", True),
        (0, '{"hookSpecificOutput": {"permissionDecision": 1}}', "deny", True),
        (0, '{"hookSpecificOutput": {"decision": {"behavior": "deny"}}}', "deny", False),
        (0, '{"hookSpecificOutput": {"updatedInput": "x"}}', "deny", True),
        (0, '{"decision": "block", "reason": "no"}', "deny", False),
        (0, '{"decision": "approve"}', "allow", False),
        (0, '{"some": "field", "hookSpecificOutput": {"other": 1}}', "", False),
        (0, '{"decision": "deny"', "deny", True),
    ],
)
def test_a_gating_hook_denies_when_it_fails(code: int, stdout: str, verdict: str, fails: bool) -> None:
    reply = read_reply("PreToolUse", code, stdout, "")
    assert (reply.verdict, bool(reply.failure)) == (verdict, fails)


def test_a_failure_elsewhere_only_warns() -> None:
    for code, stdout in ((1, ""), (127, ""), (0, "{")):
        reply = read_reply("Stop", code, stdout, "oh no")
        assert (reply.verdict, bool(reply.failure)) == ("", True)


def test_plain_text_is_context_where_a_session_or_a_prompt_begins() -> None:
    assert read_reply("SessionStart", 0, "use tabs\n", "").context == "use tabs"
    assert read_reply("UserPromptSubmit", 0, "use tabs", "").context == "use tabs"
    assert read_reply("PostToolUse", 0, "use tabs", "").context == ""


def test_the_answer_of_a_hook_that_says_async_is_its_next_line() -> None:
    reply = read_reply("PreToolUse", 0, '{"async": true}\nlog\n{"decision": "block", "reason": "no"}\n', "")
    assert (reply.verdict, reply.reason) == ("deny", "no")


def test_the_common_fields_are_read() -> None:
    output = {"continue": False, "stopReason": "enough", "systemMessage": "hi", "suppressOutput": True}
    reply = read_reply("PostToolUse", 0, json.encode(output).decode(), "")
    assert (reply.stop, reply.message, reply.verdict) == ("enough", "hi", "")
    assert read_reply("PostToolUse", 2, "", "fix it\n").reason == "fix it"
