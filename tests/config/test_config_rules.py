"""Rules as people write them."""

import pytest

from overt.config.rules import parse_rule, resolve_rule, split_rules
from overt.core.errors import ConfigError
from overt.core.settings import Rule
from overt.tools.registry import BUILT_IN


def resolved(rule: Rule) -> tuple[Rule, list[str]]:
    warnings: list[str] = []
    return resolve_rule(rule, lambda: BUILT_IN.rule_names, warnings), warnings


@pytest.mark.parametrize(
    ("text", "tool", "pattern"),
    [
        ("bash", "bash", ""),
        ("Bash(npm run *)", "bash", "npm run *"),
        ("Bash(npm run:*)", "bash", "npm run:*"),
        ("bash(echo (a))", "bash", "echo (a)"),
        (" read( .env ) ", "read", ".env"),
        ("str_replace_editor(src/**)", "edit", "src/**"),
        ("run_shell_command", "bash", ""),
        ("MULTIEDIT", "multiedit", ""),
        ("WebFetch(domain:example.org)", "webfetch", "domain:example.org"),
        ("mcp__git__*", "mcp__git__*", ""),
        ("*", "*", ""),
    ],
)
def test_a_rule_is_read_whoever_named_the_tool(text: str, tool: str, pattern: str) -> None:
    expected = Rule(action="ask", tool=tool, pattern=pattern, origin="x:1")
    assert resolved(parse_rule(text, "ask", "x:1")) == (expected, [])


@pytest.mark.parametrize("text", ["", "()", "bash()", "bash(ls", "bash)", "(ls)", "ba sh", "bash(ls) -l", "bash(\x1b)"])
def test_what_is_no_rule_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^x:1: .* is not a rule; write `tool` or `tool\(pattern\)`$"):
        parse_rule(text, "allow", "x:1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bash(git log *),Edit", ("Bash(git log *)", "Edit")),
        ("Bash(a, b) Read", ("Bash(a, b)", "Read")),
        (" , ", ()),
        ("Bash(a(b) c),x", ("Bash(a(b) c)", "x")),
    ],
)
def test_a_flag_of_rules_is_split_outside_brackets_only(text: str, expected: tuple[str, ...]) -> None:
    assert split_rules(text) == expected


@pytest.mark.parametrize(
    ("tool", "warning"),
    [
        ("bash", ""),
        ("mcp__a__b", ""),
        ("external_directory", ""),
        ("bsh", "x:1: no tool of this version is called `bsh`; did you mean `bash`?"),
        ("frobnicate", "x:1: no tool of this version is called `frobnicate`"),
    ],
)
def test_a_rule_for_an_unknown_tool_has_a_warning_with_a_suggestion(tool: str, warning: str) -> None:
    warnings = [warning] if warning else []
    assert resolved(parse_rule(tool, "allow", "x:1")) == (Rule(action="allow", tool=tool, origin="x:1"), warnings)


def test_an_unknown_tool_in_a_deny_rule_is_an_error_if_a_known_one_is_near() -> None:
    with pytest.raises(ConfigError, match="names no known tool; did you mean `bash`"):
        resolved(parse_rule("bsh", "deny", "x:1"))


def test_tool_modules_are_not_loaded_for_rules_about_commands_edits_and_reads() -> None:
    def unused() -> dict[str, str]:
        raise AssertionError

    for text in ("Bash(git *)", "edit", "Read(.env)", "WebFetch"):
        assert resolve_rule(parse_rule(text, "deny", "x:1"), unused, []).tool == text.partition("(")[0].lower()
