"""Rules and modes of sub-agents: what is denied holds for every tool, and a copy loosens nothing outside of it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.app.subagents.isolation_kit import agent_refs, dirty_repository, opened, show, task_results
from tests.app.subagents.test_delegation import first_prompt
from tests.app.subagents.test_isolation import answer_with
from tests.app.test_slash_sessions import awaited
from tests.fakes.model_server import FakeCall, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.options import Options
from overt.app.start import open_conversation
from overt.config.paths import read_environment
from overt.core.agents.agent_events import AgentEnded
from overt.core.events import Event, PermissionAsked, PermissionDecided
from overt.core.protocols import Answer
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


@awaited
async def test_in_review_mode_an_agent_in_a_copy_is_asked_about_what_reaches_outside_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Path(read_environment().config_dir)
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text("[sandbox]\nnetwork = true\n")
    folder = tmp_path / "w"
    dirty_repository(folder)
    remember = call("memory", action="remember", text="run make first", everywhere=True)
    steps = [call("write", path="new.txt", content="mine\n"), call("bash", command="touch outside"), remember]
    async with opened(folder, one_agent("worker", *steps), monkeypatch, mode="review", interactive=True) as chat:
        conversation, server = chat
        asked = answer_with(conversation, Answer(choice="deny"))
        await conversation.prompt("go")
        written, ran, remembered = results(server)
    assert [question.call.name for question in asked] == ["bash", "task"]
    assert "new.txt" in written
    assert "denied" in ran
    assert "no tool called 'memory'" in remembered
    assert not list(config.rglob("*memory*"))


@awaited
async def test_in_review_mode_commands_without_the_network_run_unasked_in_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    choose = one_agent("worker", call("bash", command="touch new"))
    async with opened(folder, choose, monkeypatch, mode="review", interactive=True) as (conversation, _):
        asked = answer_with(conversation, Answer(choice="deny"))
        await conversation.prompt("go")
    assert [question.call.name for question in asked] == ["task"]


@awaited
async def test_an_agent_can_be_stopped_while_it_asks_about_its_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    choose = one_agent("worker", call("bash", command="echo mine > f4.txt"))
    async with opened(folder, choose, monkeypatch, mode="review", interactive=True) as (conversation, server):
        asked, seen = asyncio.Event(), list[Event]()

        def see(event: Event) -> None:
            seen.append(event)
            if isinstance(event, PermissionAsked):
                asked.set()

        conversation.session.subscribe(see, name="test", agents=True)
        turn, tree = conversation.prompt("go"), conversation.agents
        await asked.wait()
        assert tree is not None
        tree.stop("main/worker-1")
        assert (await turn).reason == "done"
        assert [node.state for node in tree] == ["stopped"]
        question = next(event for event in seen if isinstance(event, PermissionAsked))
        assert not conversation.answer(question.id, Answer(choice="once"))
        (told,) = task_results(server)
    decided = [event for event in seen if isinstance(event, PermissionDecided) and event.call_id == question.call.id]
    assert decided[-1].verdict == "deny"
    assert [event.reason for event in seen if isinstance(event, AgentEnded)] == ["interrupted"]
    assert (folder / "f4.txt").read_text() == "file 4\n"
    (ref,) = agent_refs(folder)
    assert "was stopped by the user" in told and ref in told
    assert show(folder, ref, "f4.txt") == "mine\n"
