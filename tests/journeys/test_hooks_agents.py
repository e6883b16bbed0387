"""Hooks and deny rules hold inside sub-agents, which fire events of their own."""

import json
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place, call, calls
from tests.journeys.test_hooks import KEEP, configure, ledger, seen

HOOKIFY = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "claude-plugins" / "plugins" / "hookify"
BLOCK_ONCE = (
    "python3 -c 'import json, sys; event = json.load(sys.stdin); "
    'print("name the file", file=sys.stderr); sys.exit(0 if event["stop_hook_active"] else 2)\''
)


def one_agent(request: Recorded, _: int) -> Turn:
    """The main agent starts an agent, which runs a command and answers twice if it is sent back."""
    messages = request.json()["messages"]
    answered = [message for message in messages if message["role"] == "tool"]
    if "say hi" not in str(messages):
        return Turn(text="all done") if answered else calls(call("task", id="outer", prompt="say hi"))
    if not answered:
        return calls(call("bash", command="echo hi > hi.txt"))
    return Turn(text="hi.txt is written" if "name the file" in str(messages) else "ready")


def test_a_sub_agent_fires_its_own_events_with_the_session_of_the_main_agent(place: Place) -> None:
    events = ["SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "SubagentStop", "Stop", "SessionEnd"]
    configure(place, **dict.fromkeys(events, KEEP))
    with ModelServer(choose=one_agent) as server:
        assert place.run("run", "go", "--permission-mode", "acceptEdits", server=server).code == 0
    fired = [(line["hook_event_name"], line.get("agent_type", ""), line.get("tool_name", "")) for line in seen(place)]
    assert fired == [
        ("SessionStart", "", ""),
        ("UserPromptSubmit", "", ""),
        ("PreToolUse", "", "Task"),
        ("SubagentStart", "general", ""),
        ("PreToolUse", "general", "Bash"),
        ("SubagentStop", "general", ""),
        ("Stop", "", ""),
        ("SessionEnd", "", ""),
    ]
    assert len({line["session_id"] for line in seen(place)}) == 1
    stopped = next(line for line in seen(place) if line["hook_event_name"] == "SubagentStop")
    assert (stopped["agent_id"], stopped["last_assistant_message"]) == ("main/general-1", "ready")
    assert stopped["agent_transcript_path"] == stopped["transcript_path"]


def test_a_hook_of_an_agent_type_sends_only_that_agent_back_to_work(place: Place) -> None:
    group = {"hooks": [{"type": "command", "command": BLOCK_ONCE}]}
    configure(place, SubagentStop=[{"matcher": "general", **group}, {"matcher": "explore", **group}])
    with ModelServer(choose=one_agent) as server:
        assert place.run("run", "go", "--permission-mode", "acceptEdits", server=server).code == 0
        result = next(message for message in server.posts[-1].json()["messages"] if message["role"] == "tool")
    assert "hi.txt is written" in result["content"]
    assert [(line["event"], line.get("verdict", "")) for line in ledger(place)] == [
        ("SubagentStop", "deny"),
        ("SubagentStop", ""),
    ]


def test_a_hook_and_a_deny_rule_block_a_call_inside_a_sub_agent(place: Place) -> None:
    for hooks, flags in (({"PreToolUse": "exit 2"}, ()), ({}, ("--disallowedTools", "Bash(echo *)"))):
        group = {
            event: [{"matcher": "Bash", "hooks": [{"type": "command", "command": it}]}] for event, it in hooks.items()
        }
        configure(place, **group)
        with ModelServer(choose=one_agent) as server:
            place.run("run", "go", "--permission-mode", "bypassPermissions", *flags, server=server)
            inner = [request.json() for request in server.posts if "say hi" in str(request.json()["messages"])]
        assert "denied" in json.dumps(inner[-1]).lower()
        assert not (place.work / "hi.txt").exists()


@pytest.mark.skipif(not HOOKIFY.exists(), reason="the marketplace snapshot is not here")
def test_a_hook_of_the_public_marketplace_blocks_a_call_inside_a_sub_agent(place: Place) -> None:
    added = place.run("plugin", "add", "--yes", str(HOOKIFY))
    assert added.code == 0, added.err
    (place.work / ".claude").mkdir()
    rule = "---\nname: no-echo\nenabled: true\nevent: bash\npattern: echo\\s+hi\naction: block\n---\nSay it yourself.\n"
    (place.work / ".claude" / "hookify.no-echo.local.md").write_text(rule)
    with ModelServer(choose=one_agent) as server:
        ran = place.run("run", "go", "--permission-mode", "bypassPermissions", server=server)
        inner = [request.json() for request in server.posts if "say hi" in str(request.json()["messages"])]
    assert ran.code == 0, ran.err
    assert any("Denied (hook PreToolUse" in json.dumps(request) for request in inner)
    assert not (place.work / "hi.txt").exists()
