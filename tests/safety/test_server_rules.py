"""Permission rules and modes for tools of MCP servers."""

import pytest
from msgspec import Raw

from overt.core.requests import ServerTarget, ToolSpec
from overt.core.settings import Action, Mode, Rule
from overt.core.tool import JsonArguments, Outcome, Tool
from overt.core.views import Plain
from overt.mcp.server_tools import tool_name
from overt.safety.policy import PathFacts, World, judge, subject_of

SIGHT = PathFacts(root="/w", exists=lambda path: False)


async def run(args: JsonArguments) -> Outcome:
    return Outcome(text="", view=Plain(text=""))


def tool(
    server: str = "github",
    called: str = "create_issue",
    *,
    remote: bool = False,
    sends: bool = False,
    read_only: bool = False,
) -> Tool:
    name = tool_name(server, called)
    return Tool(
        name=name,
        args=JsonArguments,
        needs={"servers": "mcp"},
        run=run,
        spec=ToolSpec(name=name, description="", schema=Raw(b"{}")),
        permission="mcp",
        harmless=("*",) if read_only else (),
        server=ServerTarget(server=server, tool=called, remote=remote, sends=remote or sends),
    )


def verdict(each: Tool, *rules: Rule, mode: Mode = "review", boxed: bool = True) -> Action:
    subject = subject_of(each, JsonArguments({"title": "a"}).subjects(), SIGHT)
    return judge(subject, each.effects, rules=rules, mode=mode, world=World(boxed=boxed)).action


@pytest.mark.parametrize(
    "text",
    ["mcp", "mcp__github", "mcp__github__create_issue", "mcp__github__*", "mcp__*", "*", "mcp__github__create_*"],
)
def test_a_rule_names_all_servers_one_server_or_one_tool(text: str) -> None:
    assert verdict(tool(), Rule(action="deny", tool=text)) == "deny"
    assert verdict(tool(), Rule(action="allow", tool=text)) == "allow"


@pytest.mark.parametrize("text", ["mcp__git", "mcp__github__create", "mcp__linear", "bash", "mcp__github__close_*"])
def test_a_rule_about_something_else_does_not_speak_of_it(text: str) -> None:
    assert verdict(tool(), Rule(action="allow", tool=text)) == "ask"


def test_the_key_mcp_takes_a_pattern_of_server_and_tool() -> None:
    assert verdict(tool(), Rule(action="allow", tool="mcp", pattern="github__*")) == "allow"
    assert verdict(tool(), Rule(action="allow", tool="mcp", pattern="linear__*")) == "ask"


def test_deny_wins_over_allow() -> None:
    rules = (Rule(action="allow", tool="mcp"), Rule(action="deny", tool="mcp__github__create_issue"))
    assert verdict(tool(), *rules) == "deny"


@pytest.mark.parametrize(
    ("mode", "sandboxed", "remote", "without_sandbox"),
    [
        ("review", "ask", "ask", "ask"),
        ("auto", "allow", "allow", "ask"),
        ("yolo", "allow", "allow", "allow"),
        ("plan", "ask", "ask", "ask"),
    ],
)
def test_the_mode_decides_about_calls_that_no_rule_names(
    mode: Mode, sandboxed: Action, remote: Action, without_sandbox: Action
) -> None:
    assert verdict(tool(), mode=mode) == sandboxed
    assert verdict(tool(remote=True), mode=mode) == remote
    assert verdict(tool(), mode=mode, boxed=False) == without_sandbox


@pytest.mark.parametrize("mode", ["review", "auto", "plan", "yolo"])
def test_a_server_that_the_user_marked_read_only_is_not_asked_about(mode: Mode) -> None:
    assert verdict(tool(read_only=True), mode=mode) == "allow"


@pytest.mark.parametrize(
    ("server", "called", "text"),
    [
        ("my.srv", "run", "mcp__my.srv"),
        ("my.srv", "run", "mcp__my_srv"),
        ("l" * 60, "go", f"mcp__{'l' * 60}"),
        ("l" * 60, "go", f"mcp__{'l' * 60}__go"),
        ("l" * 60, "go", f"mcp__{'l' * 60}__*"),
        ("g", "delete_" + "x" * 70, f"mcp__g__delete_{'x' * 70}"),
    ],
)
def test_a_denial_holds_by_the_configured_name_and_by_the_shown_one(server: str, called: str, text: str) -> None:
    assert verdict(tool(server, called), Rule(action="deny", tool=text), mode="yolo") == "deny"


@pytest.mark.parametrize("text", ["mcp__my_hub", "mcp__my_hub__*", "mcp__my_hub__more"])
def test_what_is_allowed_to_one_server_is_not_allowed_to_another_with_a_longer_name(text: str) -> None:
    assert verdict(tool("my_hub__more", "t"), Rule(action="allow", tool=text)) == (
        "allow" if text.endswith("more") else "ask"
    )


def judged(each: Tool, *, mode: Mode, boxed: bool) -> tuple[Action, bool]:
    subject = subject_of(each, (), SIGHT)
    given = judge(subject, each.effects, rules=(), mode=mode, world=World(boxed=boxed))
    return given.action, bool(given.remedy)


def test_in_plan_mode_a_run_without_a_user_is_denied_with_and_without_a_sandbox() -> None:
    """A verdict with a remedy is denied where nobody can be asked."""
    assert judged(tool(), mode="plan", boxed=True) == ("ask", True)
    assert judged(tool(), mode="plan", boxed=False) == ("ask", True)


def test_a_program_with_the_network_is_not_contained_by_being_called_remote() -> None:
    assert judged(tool(sends=True), mode="auto", boxed=False)[0] == "ask"
    assert judged(tool(sends=True), mode="auto", boxed=True)[0] == "allow"
