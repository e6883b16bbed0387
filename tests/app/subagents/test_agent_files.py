"""Agent files of a public marketplace load as they are, and one of them runs as a sub-agent."""

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.app.subagents.test_delegation import first_prompt, last_text, opened
from tests.fakes.model_server import Recorded, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.options import Options
from overt.app.setting import read_setting
from overt.app.subagents.definitions import FIELDS, NOT_USED, SAME, read_profile
from overt.app.subagents.profiles import AgentLibrary
from overt.core.agents.profile import AgentProfile
from overt.core.events import Event, Noticed
from overt.extensions.agent_files import read_agent_files
from overt.extensions.discovery import ExtensionFolder

PUBLIC = Path(__file__).parents[4] / "shared/data/claude-plugins"
FOLDERS = sorted({*PUBLIC.glob("plugins/*/agents"), *PUBLIC.glob("external_plugins/*/agents")})
needs_data = pytest.mark.skipif(not FOLDERS, reason="the marketplace is not on this machine")


@needs_data
def test_all_agents_of_the_marketplace_are_profiles_and_what_is_not_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    setting = read_setting(Options(directory=str(tmp_path)))
    seen = 0
    for folder in FOLDERS:
        plugin = folder.parent.name
        place = ExtensionFolder(path=str(folder), scope="plugin", where=f"plugin {plugin}/agents", namespace=plugin)
        for file in read_agent_files([place]):
            profile = read_profile(
                AgentProfile(name=file.name, prompt=file.body, origin=file.where), file.fields, setting
            )
            seen += 1
            assert profile.name == f"{plugin}:{Path(file.path).stem}"
            assert profile.description and profile.prompt and profile.mode == "subagent"
            listed = file.fields.get("tools")
            assert (profile.tools is None) == (listed is None or listed == ["*"])
            assert profile.tools != ()
            assert profile.model == ""
            for key in file.fields:
                assert key in (*FIELDS, *SAME) or any(f"`{key}`" in warning for warning in profile.warnings), key
            for key in set(file.fields) & {*NOT_USED}:
                assert f"`{key}` is not used by this version" in profile.warnings
            if file.fields.get("model") in ("sonnet", "opus", "haiku"):
                assert any("no configured provider has the model" in warning for warning in profile.warnings)
    assert seen == sum(1 for folder in FOLDERS for path in folder.rglob("*.md") if path.name != "README.md") >= 12


@needs_data
def test_an_agent_of_the_marketplace_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = PUBLIC / "plugins/feature-dev/agents/code-explorer.md"
    agents = tmp_path / "home/.claude/agents"
    agents.mkdir(parents=True)
    shutil.copy(source, agents)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    sub_agents: list[Recorded] = []

    def choose(request: Recorded, _: int) -> Turn:
        if "trace the feature" in first_prompt(request):
            sub_agents.append(request)
            return Turn(text="it begins in a.txt")
        if "it begins in" in last_text(request):
            return Turn(text="done")
        return calls(call("Task", subagent_type="code-explorer", prompt="trace the feature", description="Trace"))

    async def main() -> None:
        async with opened(tmp_path / "w", choose, monkeypatch) as (conversation, server):
            notices: list[Event] = []
            conversation.session.subscribe(notices.append, name="notices")
            assert (await conversation.prompt("go")).text == "done"
            own = server.posts[0].json()
            (task,) = [tool for tool in own["tools"] if tool["function"]["name"] == "task"]
            assert "code-explorer (Deeply analyzes" in task["function"]["description"]
            shown = [event.text for event in notices if isinstance(event, Noticed)]
            assert [text for text in shown if text.startswith("Agent code-explorer: ")] != []

    asyncio.run(main())
    (request,) = sub_agents
    body = request.json()
    assert "You are an expert code analyst" in body["messages"][0]["content"]
    assert [tool["function"]["name"] for tool in body["tools"]] == [
        *("read", "list", "glob", "grep", "jobs", "todowrite"),  # a server on this machine: nothing leaves it
    ]
    assert body["model"] == "fake-model"


def test_what_a_sub_agent_is_sent_and_told_follows_its_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "home/.config/overt/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        '[agent]\ntemperature = 0.5\ntop_p = 0.7\n[agent.subagent_models]\nsmall = "tiny-model"\n'
        '[agent.small]\nprompt = "You are small."\ntools = "memory, Read"\ntemperature = 0\nmax_steps = 2\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    sub_agents: list[Recorded] = []

    def choose(request: Recorded, _: int) -> Turn:
        if "be brief" in first_prompt(request):
            sub_agents.append(request)
            return calls(call("read", path="a.txt"))
        return (
            Turn(text="done")
            if "limit" in last_text(request)
            else calls(call("task", prompt="be brief", agent="small"))
        )

    async def main() -> None:
        async with opened(tmp_path / "w", choose, monkeypatch) as (conversation, server):
            assert (await conversation.prompt("go")).text == "done"
            own = server.posts[0].json()
            assert (own["temperature"], own["top_p"], own["model"]) == (0.5, 0.7, "fake-model")

    asyncio.run(main())
    body = sub_agents[0].json()
    assert [tool["function"]["name"] for tool in body["tools"]] == ["read", "memory"]
    assert (body["temperature"], body["top_p"], body["model"]) == (0, 0.7, "tiny-model")
    assert "You are small." in body["messages"][0]["content"]
    assert len(sub_agents) in (2, 3)  # the last request, if there is one, asks for the answer


def test_a_denied_agent_and_one_that_is_not_there_are_clear_results_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "home/.config/overt/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\ndeny = ["Agent(explore)"]\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    results: list[str] = []

    def choose(request: Recorded, number: int) -> Turn:
        names = ("explore", "Explore", "nobody", "build")
        if number:
            results.append(last_text(request))
        return calls(call("task", prompt="go", agent=names[number])) if number < len(names) else Turn(text="done")

    async def main() -> None:
        async with opened(tmp_path / "w", choose, monkeypatch) as (conversation, server):
            await conversation.prompt("go")
            assert len(server.posts) == 5 and list(conversation.agents or ()) == []
            assert AgentLibrary(conversation.setting).find("explore") is not None

    asyncio.run(main())
    assert "task(explore)" in results[0] and "explore" in results[1]
    assert "there is no agent `nobody`" in results[2] and "there is no agent `build`" in results[3]


def test_a_command_that_names_an_agent_asks_to_delegate_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = tmp_path / "home/.claude/commands"
    commands.mkdir(parents=True)
    (commands / "look.md").write_text("---\nagent: Explore\n---\nLook at everything.\n")
    (commands / "lost.md").write_text("---\nagent: nobody\n---\nLook at everything.\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    async def main() -> None:
        async with opened(tmp_path / "w", lambda request, _: Turn(text="ok"), monkeypatch) as (conversation, server):
            notices: list[Event] = []
            conversation.session.subscribe(notices.append, name="notices")
            for line in ("/look", "/lost"):
                await (await conversation.run_prompt_command(line))
            texts = [str(message["content"]) for message in server.posts[-1].json()["messages"]]
            asked = [text for text in texts if "The user wants the agent" in text]
            assert len(asked) == 1 and 'call task with agent "explore"' in asked[0]
            assert sum(text == "Look at everything." for text in texts) == 2
            shown = [event.text for event in notices if isinstance(event, Noticed)]
            assert [text for text in shown if "/lost" in text and "the agent nobody" in text] != []

    asyncio.run(main())
