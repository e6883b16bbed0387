"""Eight ways in which a call runs × nine things that a hook may do: each with its verdict, all in the ledger."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.fakes.model_server import FakeCall, ModelServer, Turn
from tests.journeys.journey_kit import PROMPT, Place, call, calls, results

GOOD = str(Path(__file__).parent.parent / "mcp" / "servers" / "good_server.py")


def decide(decision: str, **more: Any) -> str:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}
    return "echo " + shlex.quote(json.dumps({"hookSpecificOutput": specific}))


class HookCase(NamedTuple):
    """`command` may have to know the path; `runs` is whether the call runs, `verdict` what the ledger says."""

    name: str
    command: Callable[["CallPath"], str]
    verdict: str
    runs: bool
    failure: str = ""
    changes: bool = False


class CallPath(NamedTuple):
    """A way to run a call. `updated` are the arguments that a hook puts in place of its own, as hooks know them."""

    name: str
    flags: tuple[str, ...]
    made: FakeCall
    tool: str
    original: str
    changed: str
    updated: dict[str, Any]
    chat: bool = False


def bash(name: str, *flags: str, more: dict[str, Any] | None = None, chat: bool = False) -> CallPath:
    made = call("bash", command="echo one", **(more or {}))
    return CallPath(name, flags, made, "Bash", "one", "two", {"command": "echo two", **(more or {})}, chat)


SERVER = ("--mcp-config", json.dumps({"mcpServers": {"good": {"command": sys.executable, "args": [GOOD]}}}))
ADD = call("toolcall", name="mcp__good__add", arguments={"a": 2, "b": 3})
PATHS = [
    bash("main", "--permission-mode", "acceptEdits"),
    bash("background job", more={"run_in_background": True}),
    CallPath("MCP through toolcall", SERVER, ADD, "mcp__good__add", "5", "42", {"a": 40, "b": 2}),
    CallPath(
        "skill",
        (),
        FakeCall(name="skill", arguments={"name": "write-tests"}),
        "Skill",
        "# Write tests",
        "# Review a change",
        {"name": "review-change"},
    ),
    bash("typed command", chat=True),
    bash("plan mode", "--permission-mode", "plan"),
    bash("yolo", "--yolo"),
    bash("headless"),
]
CASES = [
    HookCase("exit 2", lambda path: "echo not here >&2; exit 2", "deny", runs=False),
    HookCase("JSON deny", lambda path: decide("deny", permissionDecisionReason="not here"), "deny", runs=False),
    HookCase("ask", lambda path: decide("ask"), "ask", runs=False),  # nobody is there to say yes
    HookCase("updatedInput", lambda path: decide("allow", updatedInput=path.updated), "allow", runs=True, changes=True),
    HookCase("time-out", lambda path: "sleep 30", "deny", runs=False, failure="timed out after 0.5 s"),
    HookCase("crash", lambda path: "kill -SEGV $$", "deny", runs=False, failure="signal 11"),
    HookCase("exit 127", lambda path: "no-such-program-here", "deny", runs=False, failure="exit code 127"),
    HookCase("garbage", lambda path: "echo '{not json'", "deny", runs=False, failure="not JSON"),
    HookCase("unknown fields", lambda path: 'echo \'{"future": {"x": 1}}\'', "", runs=True),
]


CELLS = [
    pytest.param(
        path,
        case,
        id=f"{path.name}-{case.name}",
        # `make test` plays each path and each case at least twice, `make soak` all of them.
        marks=() if (row - column) % 4 == 0 else pytest.mark.soak,
    )
    for row, path in enumerate(PATHS)
    for column, case in enumerate(CASES)
]


@pytest.mark.parametrize(("path", "case"), CELLS)
def test_every_hook_holds_on_every_path(place: Place, path: CallPath, case: HookCase) -> None:
    timeout = 0.5 if case.name == "time-out" else 20
    handler = {"type": "command", "command": case.command(path), "timeout": timeout}
    configuration = place.home / ".config" / "overt" / "config.json"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": path.tool, "hooks": [handler]}]}}))
    output = play_in_chat(place, case) if path.chat else play(place, path)

    expected = path.changed if case.changes else path.original
    if case.runs:
        assert expected in output.splitlines() or f"\n{expected}\n" in output
        assert case.changes == ("A hook changed the arguments" in output)
    else:
        words = "a hook asks" if path.chat and case.verdict == "ask" else "hook PreToolUse"
        assert words in output and path.original not in output.splitlines()
    (fired,) = ledger(place)
    (ran,) = fired["hooks"]
    assert (fired["event"], fired["tool"], fired.get("verdict", "")) == ("PreToolUse", path.tool, case.verdict)
    assert case.failure in ran.get("failure", "") and bool(case.failure) == ("failure" in ran)
    assert ran["origin"] == "~/.config/overt/config.json:1" and ran["ms"] >= 0
    assert json.loads(fired.get("changed", "null")) == (path.updated if case.changes else None)


def play(place: Place, path: CallPath) -> str:
    with ModelServer([calls(path.made), Turn(text="done")]) as server:
        ran = place.run("run", "go", *path.flags, server=server)
        assert ran.out == "done\n", ran.err
        (result,) = results(server)
    return result


def play_in_chat(place: Place, case: HookCase) -> str:
    with ModelServer([]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("!echo one")
        output = ""
        if case.verdict == "ask":
            output += terminal.expect("Allow? ")
            terminal.line("n")
            terminal.expect("Reason for the model")
            terminal.line("")
        output += terminal.expect(PROMPT)
        terminal.line("/exit")
        terminal.wait()
    return "\n".join(line for line in output.splitlines() if not line.startswith(("!", "$ ")))


def ledger(place: Place) -> list[dict[str, Any]]:
    shown = place.run("hooks", "log", "--json")
    assert shown.code == 0
    return [json.loads(line) for line in shown.out.splitlines()]
