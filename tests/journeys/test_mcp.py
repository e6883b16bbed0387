"""MCP servers used by the whole program: listed or looked up, called, denied, cut, and gone when Overt is gone."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls, results

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
