"""MCP servers used by the whole program: listed or looked up, called, denied, cut, and gone when Overt is gone."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PATIENT, Place, call, calls, messages, results

GOOD = str(Path(__file__).parent.parent / "mcp" / "servers" / "good_server.py")


def configured(**servers: dict[str, Any]) -> tuple[str, str]:
    return "--mcp-config", json.dumps({"mcpServers": servers})


def good(**more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [GOOD], **more}


def toolcall(name: str, **arguments: Any) -> Turn:
    return calls(call("toolcall", name=name, arguments=arguments))


def tool_names(server: ModelServer, post: int = 0) -> list[str]:
    return [each["function"]["name"] for each in server.posts[post].json()["tools"]]


def test_a_tool_is_looked_up_and_called_and_nothing_stays(place: Place) -> None:
    turns = [
        calls(call("toolsearch", query="add numbers")),
        toolcall("mcp__good__add", a=2, b=3),
        Turn(text="It is 5."),
    ]
    with ModelServer(turns) as server:
        ran = place.run("run", "add", *configured(good=good()), server=server)
        assert (ran.code, ran.out) == (0, "It is 5.\n"), ran.err
        found, total = results(server)
        assert json.loads(found.splitlines()[0])["name"] == "mcp__good__add"
        assert total == "5"
        assert tool_names(server)[-2:] == ["toolsearch", "toolcall"]


def test_a_small_server_is_listed_whole_from_the_second_session_on(place: Place) -> None:
    with ModelServer([toolcall("mcp__good__add", a=1, b=1), Turn(text="2")]) as server:
        place.run("run", "add", *configured(good=good()), server=server)
        assert "mcp__good__add" not in tool_names(server)
    with ModelServer([calls(call("mcp__good__add", a=1, b=1)), Turn(text="2")]) as server:
        assert place.run("run", "add", *configured(good=good()), server=server).code == 0
        assert "mcp__good__add" in tool_names(server)
        assert results(server) == ["2"]


@pytest.mark.parametrize("rule", ["mcp", "mcp__good", "mcp__good__add"])
def test_a_denied_tool_is_refused_through_toolcall_too(place: Place, rule: str) -> None:
    turns = [calls(call("toolsearch", query="mcp__good__add")), toolcall("mcp__good__add", a=1, b=1), Turn(text="no")]
    with ModelServer(turns) as server:
        ran = place.run("run", "add", "--disallowedTools", rule, *configured(good=good()), server=server)
        found, refused = results(server)
        assert "mcp__good__add" not in found or "No tool fits" in found
        assert "There is no tool called" in refused or "Denied" in refused
        assert ran.out == "no\n"


def server_processes(place: Place) -> list[int]:
    """The processes of the good server that this home started, in the sandbox or not."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words, variables = path.read_bytes().split(b"\0"), (path.parent / "environ").read_bytes()
        except OSError:
            continue
        if words[1:2] == [GOOD.encode()] and f"HOME={place.home}".encode() in variables:
            pids.append(int(path.parent.name))
    return pids


def wait_for(condition: Callable[[], Any], within: float = 30.0) -> Any:
    deadline = time.monotonic() + within
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return value


def kill_newest(place: Place, seen: list[int]) -> None:
    """Kill the server as soon as it runs its tool: the tool writes a file that says so."""
    wait_for((place.work / "asleep").exists)
    seen += server_processes(place)
    for pid in seen:
        os.kill(pid, signal.SIGKILL)


def test_a_server_killed_in_mid_call_is_an_error_that_says_so_and_the_next_call_works(place: Place) -> None:
    turns = [
        toolcall("mcp__good__sleep", seconds=50, mark="asleep"),
        toolcall("mcp__good__add", a=2, b=2),
        Turn(text="It is 4."),
    ]
    killed: list[int] = []
    with ModelServer(turns) as server:
        killer = threading.Thread(target=kill_newest, args=(place, killed))
        killer.start()
        ran = place.run("run", "go", *configured(good=good()), server=server)
        killer.join()
        assert (ran.code, ran.out) == (0, "It is 4.\n"), ran.err
        cut, total = results(server)
        assert killed and "may have run" in cut
        assert total == "4"


def test_nothing_of_a_server_is_left_when_overt_is_killed(place: Place) -> None:
    turns = [toolcall("mcp__good__sleep", seconds=50, mark="asleep"), Turn(text="never")]
    with (
        ModelServer(turns) as server,
        place.started("run", "go", *configured(good=good()), server=server) as overt,
    ):
        wait_for((place.work / "asleep").exists)
        assert server_processes(place)
        overt.kill()
        wait_for(lambda: not place.alive())


def test_servers_that_hang_or_are_missing_delay_nothing_and_are_named(place: Place) -> None:
    config = configured(
        good=good(),
        hangs={"command": "sleep", "args": ["1000"]},
        missing={"command": "no-such-program"},
        remote={"type": "http", "url": "http://127.0.0.1:9/mcp"},
    )
    turns = [
        toolcall("mcp__good__add", a=1, b=2),
        toolcall("mcp__missing__x"),
        toolcall("mcp__remote__x"),
        Turn(text="3"),
    ]
    with ModelServer(turns) as server:
        ran = place.run("run", "go", "--permission-mode", "auto", *config, server=server)
        assert (ran.code, ran.out) == (0, "3\n"), ran.err
        total, missing, remote = results(server)
        assert total == "3"
        assert "MCP server missing cannot be used" in missing
        assert "MCP server remote cannot be used" in remote


def test_a_call_to_a_remote_server_needs_a_rule_in_a_non_interactive_run(place: Place) -> None:
    with ModelServer([toolcall("mcp__good__add", a=1, b=2), Turn(text="no")]) as server:
        ran = place.run("run", "go", *configured(good=good(network=True)), server=server)
        (denied,) = results(server)
        assert "--allowedTools mcp__good__add" in denied
        assert ran.code == 3
    with ModelServer([toolcall("mcp__good__add", a=1, b=2), Turn(text="3")]) as server:
        words = ("--allowedTools", "mcp__good__add")
        assert place.run("run", "go", *words, *configured(good=good(network=True)), server=server).code == 0
        assert results(server) == ["3"]


def test_a_prompt_of_a_server_is_a_command_and_a_resource_is_attached(place: Place) -> None:
    with ModelServer([Turn(text="Hello Ada.")]) as server:
        ran = place.run("run", "/mcp__good__greet Ada", *configured(good=good()), server=server)
        assert (ran.code, ran.out) == (0, "Hello Ada.\n"), ran.err
        assert "Ada" in messages(server)[-1]["content"]
    with ModelServer([Turn(text="Milk.")]) as server:
        ran = place.run("run", "what is in @good:memo://today ?", *configured(good=good()), server=server)
        assert ran.code == 0, ran.err
        attached = [str(each["content"]) for each in messages(server) if each["role"] == "user"]
        assert any("The user refers to the resource memo://today of the MCP server good" in text for text in attached)


def test_an_unknown_prompt_is_a_usage_error(place: Place) -> None:
    with ModelServer([]) as server:
        ran = place.run("run", "/mcp__good__grete Ada", *configured(good=good()), server=server)
        assert ran.code == 2
        assert "/mcp__good__greet" in ran.err


def test_a_question_of_a_server_is_declined_in_a_non_interactive_run_and_the_model_is_told(place: Place) -> None:
    with ModelServer([toolcall("mcp__good__ask"), Turn(text="ok")]) as server:
        ran = place.run("run", "go", *configured(good=good()), server=server)
        assert ran.code == 0, ran.err
        (answer,) = results(server)
        assert answer.startswith("decline")
        assert "The question was declined" in answer
    with ModelServer([toolcall("mcp__good__ask"), Turn(text="ok")]) as server:
        place.run("run", "go", *configured(good=good(elicitation="defaults")), server=server)
        assert results(server) == ["accept blue 3"]


def test_secrets_of_an_entry_reach_neither_the_model_nor_the_session(place: Place) -> None:
    secret = "tok-5e1f9ac27b604d8896a1"
    turns = [calls(call("bash", command=f"echo {secret}")), Turn(text="done")]
    with ModelServer(turns) as server:
        config = configured(good=good(env={"SERVICE_TOKEN": secret}))
        assert place.run("run", "go", *config, server=server).code == 0
        assert secret not in results(server)[0]
    files = [path for path in place.home.rglob("*") if path.is_file()]
    assert [path for path in files if secret.encode() in path.read_bytes() and "sessions" not in str(path)] == []


def test_files_that_a_server_writes_are_taken_back_by_undo(place: Place) -> None:
    place.under = PATIENT
    (place.work / "notes.txt").write_text("before\n")
    turns = [toolcall("mcp__good__save", path="notes.txt", text="after\n"), Turn(text="saved")]
    with ModelServer(turns) as server:
        assert place.run("run", "go", *configured(good=good()), server=server).code == 0
    assert (place.work / "notes.txt").read_text() == "after\n"
    undone = place.run("undo", "--force")
    assert (place.work / "notes.txt").read_text() == "before\n", undone


def test_a_server_cannot_write_outside_the_workspace(place: Place) -> None:
    outside = place.work.parent / "outside.txt"
    with ModelServer([toolcall("mcp__good__save", path=str(outside), text="x"), Turn(text="no")]) as server:
        place.run("run", "go", *configured(good=good()), server=server)
    assert not outside.exists()  # the server may have written to a private folder with that name


WRITES_AT_ONCE = "open('started.txt', 'w').close()"


@pytest.mark.parametrize(
    "words",
    [
        ("--permission-mode", "plan"),
        ("--permission-mode", "auto"),
        ("--disallowedTools", "mcp"),
        ("--disallowedTools", "mcp__eager"),
        ("--sandbox", "read-only"),
    ],
)
def test_a_server_that_is_only_asked_what_it_offers_cannot_write(place: Place, words: tuple[str, ...]) -> None:
    code = f"import runpy; {WRITES_AT_ONCE}; runpy.run_path({GOOD!r}, run_name='__main__')"
    eager = {"command": sys.executable, "args": ["-c", code]}
    turns = [calls(call("toolsearch", query="add numbers")), Turn(text="ok")]
    with ModelServer(turns) as server:
        place.run("run", "go", *words, *configured(eager=eager, good=good()), server=server)
        if "--disallowedTools" not in words:
            assert "/mcp reconnect eager or `overt mcp inspect eager`" in results(server)[0]
    assert not (place.work / "started.txt").exists()


def test_a_server_may_write_once_a_call_to_it_was_allowed(place: Place) -> None:
    turns = [
        calls(call("toolsearch", query="write a file of the workspace")),
        toolcall("mcp__good__save", path="made.txt", text="x"),
        Turn(text="ok"),
    ]
    with ModelServer(turns) as server:
        place.run("run", "go", *configured(good=good()), server=server)
        assert results(server)[1] == "saved made.txt"
    assert (place.work / "made.txt").read_text() == "x"


def test_a_denied_server_is_not_started(place: Place) -> None:
    turns = [calls(call("toolsearch", query="add")), toolcall("mcp__good__add", a=1, b=1), Turn(text="no")]
    with ModelServer(turns) as server:
        marked = good(env={"MARK": "1"})
        marked["args"] = ["-c", "import sys; open('/dev/null'); sys.exit('started')"]
        place.run("run", "go", "--disallowedTools", "mcp__good", *configured(good=marked), server=server)
        assert not any("cannot be used" in text for text in results(server))
