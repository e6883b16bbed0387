"""The tools that an agent is shown are exactly those that it can run, and never more than those of its parent."""

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import FakeCall, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.options import Options
from overt.app.start import open_conversation
from overt.tools.registry import BUILT_IN

SERVERS = Path(__file__).parent.parent.parent / "mcp" / "servers"
MCP = {
    *("mcp__notes__look", "mcp__notes__change", "mcp__facts__look", "mcp__facts__change"),
    *("mcp__tracker__create_ticket", "mcp__tracker__list_board"),
}
"""`notes` and `facts` are listed, `facts` is read-only by the user's word; `tracker` is too large and is searched."""
UNIVERSE = (*sorted({tool.name for tool in BUILT_IN} | MCP), "nothing_like_this")
MISSING = "There is no tool called"
LISTABLE = (
    *("Read", "LS", "Grep", "Glob", "Bash", "BashOutput", "KillShell", "Edit", "Write", "MultiEdit", "apply_patch"),
    *("TodoWrite", "WebFetch", "WebSearch", "Task", "Agent(agent-1)", "Skill", "memory", "ToolSearch", "toolcall"),
    *("mcp__notes", "mcp__notes__look", "mcp__facts__*", "mcp__tracker", "mcp__tracker__create_ticket"),
    *("mcp__*__look", "mcp__gone__tool", "LSP", "read", "jobs"),
)
EFFECTS = ("read", "write", "run", "network", "ask", "delegate", "notes", "mcp", "discover", "skills", "memory")


def random_profile(chance: random.Random) -> dict[str, Any]:
    """Return an agent in the shape of `--agents`."""
    fields: dict[str, Any] = {"description": "random"}
    if chance.random() < 0.5:
        fields["tools"] = chance.sample(LISTABLE, chance.randint(0, 12))
    if chance.random() < 0.4:
        fields["disallowedTools"] = ", ".join(chance.sample(LISTABLE, chance.randint(1, 5)))
    if chance.random() < 0.3:
        fields["effects"] = chance.sample(EFFECTS, chance.randint(1, 9))
    if chance.random() < 0.3:
        fields["permission"] = dict.fromkeys(chance.sample(("edit", "bash", "mcp", "mcp__notes", "read"), 2), "deny")
    if chance.random() < 0.2:
        fields["permissionMode"] = "plan"
    return fields


class Probe:
    """Plays the model. The main agent starts agent A and A starts B; both call every tool there is, by its name."""

    def __init__(self) -> None:
        self.sent: dict[str, set[str]] = {}
        self.searchable: dict[str, set[str]] = {}
        self.ran: dict[str, set[str]] = {}
        self.task_result: dict[str, str] = {}
        self.pair = ("", "")
        self.results: dict[str, dict[str, str]] = {}

    def choose(self, request: Recorded, _: int) -> Turn:
        body = request.json()
        messages = body["messages"]
        name = str(messages[0]["content"]).partition("I am ")[2].partition(".")[0]
        done = [message for message in messages if message["role"] == "tool"]
        if not name:
            asked = str(messages[-1]["content"]) if messages[-1]["role"] == "user" else ""
            return calls(call("task", prompt="go", agent=self.pair[0])) if "start" in asked else Turn(text="done")
        if not done:
            self.sent[name] = {tool["function"]["name"] for tool in body.get("tools", [])}
            probes = [FakeCall(name=each, arguments={}, id=f"call-{each}") for each in UNIVERSE]
            searches = [
                FakeCall(name="toolsearch", arguments={"query": each, "limit": 1}, id=f"find-{each}")
                for each in sorted(set(UNIVERSE) - self.sent[name])
            ]
            start = [FakeCall(name="task", arguments={"prompt": "go", "agent": self.pair[1]}, id="start")]
            return Turn(calls=(*probes, *searches, *(start if name == self.pair[0] else [])))
        results = {message["tool_call_id"]: str(message["content"]) for message in done}
        self.results[name] = results
        self.ran[name] = {each for each in UNIVERSE if MISSING not in results[f"call-{each}"]}
        found = {id.removeprefix("find-"): text for id, text in results.items() if id.startswith("find-")}
        self.searchable[name] = {each for each, text in found.items() if f'"name":"{each}"' in text}
        self.task_result[name] = results.get("start", "")
        return Turn(text="done")


async def probe(folder: Path, probes: Probe, profiles: list[dict[str, Any]]) -> set[str]:
    """Run each profile, with the next one as its sub-agent. Return the tools of the main agent."""
    agents = {
        f"agent-{number}": {**fields, "prompt": f"I am agent-{number}."} for number, fields in enumerate(profiles)
    }
    conversation = await open_conversation(
        Options(directory=str(folder), mode="yolo", agents=json.dumps(agents), persist=False)
    )
    try:
        for number in range(0, len(profiles), 2):
            probes.pair = (f"agent-{number}", f"agent-{number + 1}")
            async with asyncio.timeout(60):
                end = await conversation.prompt("start")
            assert end.reason == "done", end
        unlisted = conversation.agent.runtime.unlisted
        assert unlisted is not None
        return {*conversation.agent.spec.tools, *(name for name in UNIVERSE if unlisted.find(name))}
    finally:
        await conversation.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    config = tmp_path / "home/.config/overt/config.toml"
    config.parent.mkdir(parents=True)
    few = json.dumps([sys.executable, str(SERVERS / "few_tools.py")])
    many = json.dumps([sys.executable, str(SERVERS / "many_tools.py"), "tracker", "0", "/dev/null", "-"])
    config.write_text(
        "[context]\ncontext_window = 1000000\n"
        f"[mcp.notes]\ncommand = {few}\n"
        f"[mcp.facts]\ncommand = {few}\nread_only = true\n[mcp.tracker]\ncommand = {many}\n"
        '[agent.explore]\nprompt = "I am explore."\n'
    )
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


async def learn_servers(folder: Path) -> None:
    """Let the servers say once what they offer, so that the small ones are listed from then on."""
    conversation = await open_conversation(Options(directory=str(folder), persist=False))
    try:
        servers = conversation.session_workspace.shared.servers()
        for name in ("notes", "facts", "tracker"):
            async with asyncio.timeout(60):
                await servers.load_manifest(name)
    finally:
        await conversation.close()


def test_explore_has_no_tool_of_an_mcp_server_but_what_the_user_has_marked_as_reading(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERT_MODEL", "fake-model")
    monkeypatch.setenv("OVERT_BASE_URL", "http://127.0.0.1:9/v1")
    probes = Probe()

    async def main() -> None:
        await learn_servers(folder)
        with ModelServer(choose=probes.choose, models=("fake-model",)) as server:
            monkeypatch.setenv("OVERT_BASE_URL", server.url)
            conversation = await open_conversation(Options(directory=str(folder), mode="yolo", persist=False))
            try:
                probes.pair = ("explore", "general")
                async with asyncio.timeout(60):
                    await conversation.prompt("start")
            finally:
                await conversation.close()

    asyncio.run(main())
    assert probes.ran["explore"] & MCP == {"mcp__facts__look"}
    assert not probes.ran["explore"] & {"write", "edit", "multiedit", "patch", "task", "memory"}
    assert MISSING in probes.task_result["explore"]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.soak)])
def test_an_agent_can_run_exactly_what_it_is_shown_and_no_more_than_its_parent(
    folder: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    chance = random.Random(17)
    at_once = 50

    monkeypatch.setenv("OVERT_MODEL", "fake-model")
    monkeypatch.setenv("OVERT_BASE_URL", "http://127.0.0.1:9/v1")

    async def main() -> None:
        await learn_servers(folder)
        for _ in range(0, count, at_once):
            profiles = [random_profile(chance) for _ in range(at_once)]
            probes = Probe()
            with ModelServer(choose=probes.choose, models=("fake-model",)) as server:
                monkeypatch.setenv("OVERT_BASE_URL", server.url)
                of_main = await probe(folder, probes, profiles)
            for number, fields in enumerate(profiles):
                name, parent = f"agent-{number}", f"agent-{number - 1}"
                if number % 2 and "task" not in probes.ran[parent]:
                    assert name not in probes.ran  # it was never started
                    continue
                if number % 2 and name not in probes.ran:
                    assert "may not start the agent" in probes.task_result[parent]
                    continue
                sent, ran = probes.sent[name], probes.ran[name]
                shown = (sent & {*UNIVERSE}) | probes.searchable[name]
                assert shown == ran, (fields, {each: probes.results[name][f"call-{each}"] for each in shown ^ ran})
                assert ran <= (probes.ran[parent] if number % 2 else of_main), fields
                if "tools" in fields:
                    assert probes.searchable[name] == set() and sent == ran | (sent - {*UNIVERSE})
                if fields.get("permissionMode") == "plan":
                    assert ran & MCP <= {"mcp__facts__look"}

    asyncio.run(main())
