"""What is left of sub-agents: requests that can be made again, a tree after a resume, and sessions to open and fork."""

import asyncio
import json
from pathlib import Path
from threading import Event as Gate

import pytest
from tests.app.subagents.test_delegation import USAGE, first_prompt, last_text, opened
from tests.fakes.model_server import FakeCall, Recorded, Turn
from tests.journeys.journey_kit import call

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.records.rebuild import rebuild
from overt.app.records.replay import replay
from overt.app.registries import Registries
from overt.app.start import open_conversation
from overt.app.subagents.inspect_agents import agent_text, fork_agent, read_events, show_body, show_context
from overt.core.agents.agent_events import AgentEnded
from overt.core.errors import OvertError, SessionError
from overt.core.events import RequestSent, TextStreamed, TurnEnded
from overt.sessions.index import agent_paths, find_path, paths, summary
from overt.sessions.load import load

AGENTS = ("one", "two", "three")
PATHS = ("main/explore-1", "main/explore-2", "main/explore-3")


class Script:
    """The main agent starts three, each of which reads a file twice before it answers; an answer waits for `gate`."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.gate.set()

    def choose(self, request: Recorded, _: int) -> Turn:
        prompt, results = first_prompt(request), str(request.body).count('"role":"tool"')
        name = next((name for name in AGENTS if f"look at {name}" in prompt), "")
        if not name:
            started = "says hello" in last_text(request)
            tasks = (
                FakeCall(name="task", arguments={"prompt": f"look at {each}", "description": each, "agent": "explore"})
                for each in AGENTS
            )
            return Turn(text="all done", usage=USAGE) if started else Turn(calls=tuple(tasks), usage=USAGE)
        if results < 2:
            return Turn(text=f"{name} {results}", calls=(call("read", path="a.txt", limit=results + 1),), usage=USAGE)
        assert self.gate.wait(30)
        return Turn(text=f"{name} says hello", usage=USAGE)


def bodies(requests: list[Recorded], name: str) -> list[bytes]:
    return [request.body for request in requests if f"look at {name}" in first_prompt(request)]


def rebuilt(path: str) -> list[bytes]:
    requests = list(rebuild(load(path).entries))
    assert [request.differs for request in requests] == [""] * len(requests)
    return [request.request.body() for request in requests]


async def until(conversation: Conversation, steps: int) -> None:
    async with asyncio.timeout(30):
        while [node.steps for node in conversation.agents or ()] != [steps] * len(AGENTS):
            await asyncio.sleep(0.01)


def test_every_request_of_each_agent_can_be_made_again_to_the_byte_while_it_runs_and_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        script = Script()
        script.gate.clear()
        async with opened(tmp_path / "w", script.choose, monkeypatch) as (conversation, server):
            try:
                turn = conversation.prompt("go")
                await until(conversation, 3)
                for steps in (3, 3):  # while the last request of each waits for its answer, then after the end
                    nodes = {node.description: node for node in conversation.agents or ()}
                    for name in AGENTS:
                        sent = bodies(server.posts, name)
                        assert (len(sent), rebuilt(nodes[name].session_path)) == (steps, sent)
                        shown = [
                            json.loads((await show_body(conversation, nodes[name].path, at + 1)).text)
                            for at in range(3)
                        ]
                        assert shown == [json.loads(body) for body in sent]
                    script.gate.set()
                    assert (await turn).reason == "done"
            finally:
                script.gate.set()
            for path in agent_paths(conversation.path):
                report = await replay(load(path).id, Registries())
                assert (report.identical, [line.state for line in report.lines]) == (True, ["same"] * 3)

    asyncio.run(main())


def test_the_tree_is_there_again_after_a_resume_and_new_agents_get_new_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(tmp_path / "w", Script().choose, monkeypatch) as (conversation, _):
            await conversation.prompt("go")
            before = list(conversation.agents or ())
            await conversation.close()
            again = await open_conversation(Options(directory=str(tmp_path / "w"), continue_last=True, mode="yolo"))
            try:
                after = list(again.agents or ())
                assert after == before
                assert [(node.path, node.state, node.steps, node.spent.input) for node in after] == [
                    (path, "done", 3, 300) for path in PATHS
                ]
                events = (await read_events(again, "explore-2", 0)).events
                assert [event.text for event in events if isinstance(event, TurnEnded)] == [
                    f"{after[1].description} says hello"
                ]
                assert (await show_context(again, "explore-2", 0)).request.number == 3
                assert f"look at {after[1].description}" in "\n".join(await agent_text(again, "explore-2"))
                assert again.agents is not None
                assert again.agents.new_path("main", "explore") == "main/explore-4"
            finally:
                await again.close()

    asyncio.run(main())


def test_an_open_agent_is_followed_as_it_streams_and_is_stopped_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        script = Script()
        script.gate.clear()
        async with opened(tmp_path / "w", script.choose, monkeypatch) as (conversation, _):
            try:
                turn = conversation.prompt("go")
                await until(conversation, 3)
                early = await read_events(conversation, "main/explore-1", 0)
                assert sum(isinstance(event, RequestSent) for event in early.events) == 3
                ends: list[AgentEnded] = []
                conversation.session.subscribe(
                    lambda event: ends.append(event) if isinstance(event, AgentEnded) else None, name="ends"
                )
                assert conversation.agents is not None
                conversation.agents.stop("main/explore-2")
                async with asyncio.timeout(30):
                    while not ends:
                        await asyncio.sleep(0.01)
                assert [(end.agent, end.reason) for end in ends] == [("main/explore-2", "interrupted")]
                assert [node.state for node in conversation.agents] == ["running", "stopped", "running"]
                with pytest.raises(OvertError, match="is not running any more"):
                    conversation.agents.steer("main/explore-2", "faster")
            finally:
                script.gate.set()
            await turn
            late = await read_events(conversation, "main/explore-1", len(early.events))
            streamed = "".join(event.text for event in late.events if isinstance(event, TextStreamed))
            assert (streamed, late.agent.state) == (f"{late.agent.description} says hello", "done")

    asyncio.run(main())


def test_an_agent_is_forked_at_a_step_into_a_session_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(tmp_path / "w", Script().choose, monkeypatch) as (conversation, _):
            await conversation.prompt("go")
            forked = await fork_agent(conversation, "main/explore-1", 2)
            data_dir = conversation.setting.environment.data_dir
            path = find_path(data_dir, forked.session)
            assert path in paths(data_dir, str(tmp_path / "w"))
            loaded = load(path)
            assert (loaded.id, loaded.opened.parent, loaded.opened.agent_path) == (
                forked.session,
                forked.agent.session,
                "",
            )
            requests = [entry for entry in loaded.entries if isinstance(entry.data, RequestSent)]
            assert [entry.step for entry in requests] == [1, 2]
            assert rebuilt(path) == rebuilt(forked.agent.session_path)[:2]
            assert summary(forked.agent.session_path).title == f"look at {forked.agent.description}"
            with pytest.raises(SessionError, match="has 3 steps, so it cannot be forked at step 4"):
                await fork_agent(conversation, "main/explore-1", 4)
            again = await open_conversation(Options(directory=str(tmp_path / "w"), resume=forked.session, mode="yolo"))
            try:
                assert (await again.prompt("go on")).text == f"{forked.agent.description} says hello"
            finally:
                await again.close()

    asyncio.run(main())
