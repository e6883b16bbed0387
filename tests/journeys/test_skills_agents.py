"""Skills that say in their front matter that a sub-agent runs them."""

import json
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place, call, calls, results

BODY = "Count the lines of $ARGUMENTS and answer with the number."
AGENT = {"runAs": "runAs: subagent", "context": "context: fork\nagent: explore"}


def install(place: Place, extra: str) -> None:
    folder = place.home / ".config" / "overt" / "skills" / "line-counter"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: line-counter\ndescription: Counts the lines of a file.\ntriggers: [number of lines]\n"
        f"allowed-tools: Bash(wc:*)\n{extra}\n---\n\n{BODY}\n"
    )


def counting(request: Recorded, _: int) -> Turn:
    """The main agent loads the skill; whoever reads its text counts with a command."""
    messages = request.json()["messages"]
    answered = [message for message in messages if message["role"] == "tool"]
    prompt = next(str(message["content"]) for message in messages if message["role"] == "user")
    if "Count the lines of" in prompt:
        return Turn(text="It has 3 lines.") if answered else calls(call("bash", command="wc -l notes.txt"))
    if "which answers" in str(messages):
        return Turn(text="Three.")
    return calls(call("skill", name="line-counter", arguments="notes.txt"))


@pytest.mark.parametrize("extra", AGENT.values(), ids=AGENT)
def test_a_skill_runs_in_a_sub_agent_with_its_own_rules_and_only_the_answer_returns(place: Place, extra: str) -> None:
    install(place, extra)
    (place.work / "notes.txt").write_text("a\nb\nc\n")
    with ModelServer(choose=counting) as server:
        ran = place.run("run", "count", "--permission-mode", "dontAsk", "--output-format", "stream-json", server=server)
        assert ran.code == 0, ran.err
        (result,) = results(server)
    profile = "explore" if "explore" in extra else "general"
    assert result.startswith(f"Skill line-counter was run by main/{profile}-1 (session ")
    assert result.endswith("which answers:\n\nIt has 3 lines.")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    inner = [line for line in lines if line.get("parent_tool_use_id") and line["type"] == "user"]
    assert "3 notes.txt" in str(inner), inner


def test_the_command_of_such_a_skill_runs_the_agent_first_and_a_trigger_only_names_it(place: Place) -> None:
    install(place, "runAs: subagent")
    (place.work / "notes.txt").write_text("a\nb\nc\n")
    with ModelServer(choose=counting) as server:
        ran = place.run("run", "/line-counter notes.txt", server=server)
        assert (ran.code, ran.out) == (0, "Three.\n"), ran.err
        first, *_, last = (request.json()["messages"] for request in server.posts)
    assert "Count the lines of notes.txt" in str(first) and "The user ran /line-counter" not in str(first)
    assert "Count the lines of" not in str(last) and "The user ran /line-counter notes.txt" in str(last)
    with ModelServer([Turn(text="ok")]) as server:
        assert place.run("run", "what is the number of lines?", server=server).code == 0
        sent = str(server.posts[0].json()["messages"])
    assert "A sub-agent runs it: call `skill`." in sent and "Count the lines of" not in sent


def test_an_agent_that_may_start_no_others_loads_the_skill_itself(place: Place) -> None:
    install(place, "runAs: subagent")
    Path(place.work / "overt.toml").write_text("[agent]\nmax_depth = 0\n")
    with ModelServer([calls(call("skill", name="line-counter", arguments="a.txt")), Turn(text="ok")]) as server:
        assert place.run("run", "count", server=server).code == 0
        assert "task" not in [tool["function"]["name"] for tool in server.posts[0].json()["tools"]]
        assert "Count the lines of a.txt" in results(server)[0]
