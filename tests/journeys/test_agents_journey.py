"""`--agent`, `--agents`, `overt agents` and `@agent` with the installed program."""

import json

import pytest
from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"))


def write_agent(place: Place, name: str, front: str, body: str) -> None:
    folder = place.home / ".config/overt/agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\n{front}\n---\n{body}\n")


def names_of(request: Recorded) -> list[str]:
    return [tool["function"]["name"] for tool in request.json().get("tools", [])]


def system_of(request: Recorded) -> str:
    return str(request.json()["messages"][0]["content"])


def test_the_main_agent_has_the_profile_that_it_was_started_with_and_keeps_it(place: Place) -> None:
    write_agent(
        place,
        "reviewer",
        "description: Reviews\ntools: Read, memory\nmodel: other-model\ntemperature: 0.1\nmaxTurns: 3",
        "You only review.",
    )
    with ModelServer(turns=[Turn(text="one"), Turn(text="two"), Turn(text="three")]) as server:
        assert place.run("run", "--agent", "reviewer", "go", server=server).out == "one\n"
        assert place.run("run", "-c", "on", server=server).out == "two\n"
        assert place.run("run", "-c", "--agent", "build", "on", server=server).out == "three\n"
        first, second, third = (post.json() for post in server.posts if post.path.endswith("completions"))
        requests = [post for post in server.posts if post.path.endswith("completions")]
    assert [names_of(request) for request in requests[:2]] == [["read", "memory"]] * 2
    assert [system_of(request).startswith("You only review.") for request in requests] == [True, True, False]
    assert (first["model"], second["model"]) == ("other-model", "other-model")
    assert (first["temperature"], second["temperature"]) == (0.1, 0.1)
    assert "temperature" not in third and "bash" in names_of(requests[2])
    assert requests[1].body.startswith(requests[0].body.rpartition(b'"messages"')[0][:40])


def test_the_agent_plan_begins_in_the_mode_plan(place: Place) -> None:
    with ModelServer(turns=[Turn(text="a plan")]) as server:
        run = place.run("run", "--agent", "plan", "--output-format", "stream-json", "go", server=server)
    opening = json.loads(run.out.splitlines()[0])
    assert opening["permissionMode"] == "plan"


def test_an_agent_that_cannot_lead_a_session_is_a_usage_error_and_no_session_is_made(place: Place) -> None:
    with ModelServer(turns=[Turn(text="never")]) as server:
        for name, words in (("nobody", "there is no agent `nobody`"), ("explore", "only works for other agents")):
            run = place.run("run", "--agent", name, "go", server=server)
            assert run.code == 2 and words in run.err and "build, plan" in run.err
        run = place.run("run", "--agents", "{", "go", server=server)
        assert run.code == 2 and "--agents must be JSON" in run.err
        assert server.posts == []
    assert place.sessions() == []


def test_agents_of_a_flag_lead_a_session_with_their_prompt(place: Place) -> None:
    agents = {"poet": {"description": "Writes", "prompt": "You are a poet.", "tools": ["Read"]}}
    with ModelServer(turns=[Turn(text="a poem")]) as server:
        run = place.run("run", "--agents", json.dumps(agents), "--agent", "poet", "go", server=server)
        assert (run.code, run.out) == (0, "a poem\n")
        assert system_of(server.posts[0]).startswith("You are a poet.") and names_of(server.posts[0]) == ["read"]


def test_a_prompt_file_and_sampling_settings_work_for_the_main_agent(place: Place) -> None:
    folder = place.home / ".config/overt"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[agent]\nsystem_prompt_file = "me.md"\ntemperature = 0.25\ntop_p = 0.5\n')
    (folder / "me.md").write_text("You speak in rhymes.")
    with ModelServer(turns=[Turn(text="ok")]) as server:
        assert place.run("run", "go", server=server).code == 0
        body = server.posts[0].json()
        assert (body["temperature"], body["top_p"]) == (0.25, 0.5)
        assert system_of(server.posts[0]).startswith("You speak in rhymes.")


def test_overt_agents_shows_where_each_agent_is_from_and_what_it_has(place: Place) -> None:
    write_agent(place, "reviewer", "description: Reviews\ntools: Read, LSP\ncolor: red", "You only review.")
    lines = place.run("agents").out.splitlines()
    assert lines[0] == "reviewer  [all]  ~/.config/overt/agents/reviewer.md  Reviews"
    assert lines[1] == "    `color` is not used by this version"
    assert lines[2].startswith("    `tools` names 'LSP', which no tool here is called")
    assert [line.split()[0] for line in lines[3:]] == ["build", "plan", "general", "explore", "worker"]
    shown = place.run("agents", "show", "reviewer").out
    assert "  tools: read\n" in shown and shown.endswith("\n\nYou only review.\n")
    every = json.loads(place.run("agents", "--all", "--json").out)
    assert [row["name"] for row in every][-3:] == ["title", "summary", "compaction"]
    assert place.run("agents", "show", "nobody").code == 2


def test_a_prompt_that_names_an_agent_asks_to_delegate_to_it(place: Place) -> None:
    write_agent(place, "reviewer", "description: Reviews", "You only review.")
    (place.work / "explore").write_text("a file\n")
    with ModelServer(turns=[Turn(text="ok")]) as server:
        run = place.run("run", "let @reviewer and @agent-explore and @explore look, not @nobody", server=server)
        assert run.code == 0
        texts = [str(message["content"]) for message in server.posts[0].json()["messages"]]
    asked = [text for text in texts if "call task with agent" in text]
    assert ['agent "reviewer"' in text for text in asked] == [True, False]
    assert ['agent "explore"' in text for text in asked] == [False, True]
    assert any("The user refers to explore:" in text and "a file" in text for text in texts)
