"""Rules and modes of sub-agents: what is denied holds for every tool, and a copy loosens nothing outside of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.app.subagents.test_delegation import first_prompt
from tests.app.test_slash_sessions import awaited
from tests.fakes.model_server import FakeCall, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.options import Options
from overt.app.start import open_conversation
from overt.core.settings import Rule

PROMPT = "look around"


def one_agent(agent: str, *steps: FakeCall) -> Callable[[Recorded, int], Turn]:
    """The root starts this agent, which makes these calls one after the other."""

    def choose(request: Recorded, _: int) -> Turn:
        done = sum(message["role"] == "assistant" for message in request.json()["messages"])
        if PROMPT in first_prompt(request):
            return calls(steps[done]) if done < len(steps) else Turn(text="done")
        return Turn(text="end") if done else calls(call("task", prompt=PROMPT, description="Look", agent=agent))

    return choose


def results(server: ModelServer) -> list[str]:
    """The results of the calls of the agent, as it saw them last."""
    last = [request for request in server.posts if PROMPT in first_prompt(request)][-1]
    return [message["content"] for message in last.json()["messages"] if message["role"] == "tool"]


@awaited
@pytest.mark.parametrize("by", ["sub-agent", "main agent", "skill"])
async def test_what_an_agent_may_not_read_grep_and_glob_do_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    (tmp_path / "private").mkdir()
    for name in ("private/secret.txt", "open.txt"):
        (tmp_path / name).write_text("needle\n")
    steps = [call("grep", pattern="needle"), call("glob", pattern="**/*.txt"), call("read", path="private/secret.txt")]
    profile = {"description": "d", "prompt": "p", "mode": "all", "permission": {"read": {"private/**": "deny"}}}
    options = Options(directory=str(tmp_path), mode="auto", agents=json.dumps({"careful": profile}))
    options = replace(options, agent="careful") if by == "main agent" else options
    with ModelServer(choose=one_agent("careful", *steps), models=("fake-model",)) as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        conversation = await open_conversation(options)
        if by == "skill":
            rule = Rule(tool="read", pattern="private/**", action="deny", origin="skill")
            conversation.agent.runtime.gate.permissions.add_turn_rules([rule])
        try:
            await conversation.prompt("go" if by == "sub-agent" else PROMPT)
        finally:
            await conversation.close()
        matches, names, refused = results(server)
    assert ["secret" in each for each in (matches, names)] == [False, False]
    assert ["open.txt" in each for each in (matches, names)] == [True, True]
    assert "denied by the rule" in refused
