"""Sub-agents: sessions of their own whose events, costs and changes reach the session that started them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.start import open_conversation
from overt.core.agents.agent_events import AgentCharged, AgentEnded, AgentStarted
from overt.core.events import Event, TextStreamed
from overt.sessions.index import agent_paths, find_path, latest_path
from overt.sessions.load import load
from overt.sessions.resume import resume

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def last_text(request: Recorded) -> str:
    """Return the text of the last message of a request."""
    content = request.json()["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def first_prompt(request: Recorded) -> str:
    return next(str(message["content"]) for message in request.json()["messages"] if message["role"] == "user")


@asynccontextmanager
async def opened(
    folder: Path, choose: Callable[[Recorded, int], Turn], monkeypatch: pytest.MonkeyPatch, *, mode: str = "yolo"
) -> AsyncIterator[tuple[Conversation, ModelServer]]:
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text("hello\n")
    with ModelServer(choose=choose, models=("fake-model",)) as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        conversation = await open_conversation(Options(directory=str(folder), mode=mode))
        try:
            async with asyncio.timeout(60):
                yield conversation, server
        finally:
            await conversation.close()


def one_task(request: Recorded, _: int) -> Turn:
    prompt, last = first_prompt(request), last_text(request)
    if "look into a.txt" in prompt:
        reply = calls(call("read", path="a.txt")) if "look into" in last else Turn(text="a.txt says hello")
    elif "says hello" in last:
        reply = Turn(text="done: it says hello")
    else:
        reply = calls(call("task", prompt="look into a.txt", description="Read a file", agent="explore"))
    return Turn(text=reply.text, calls=reply.calls, usage=USAGE)


def test_a_sub_agent_is_a_session_of_its_own_and_returns_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(tmp_path / "w", one_task, monkeypatch) as (conversation, _):
            own: list[Event] = []
            whole: list[Event] = []
            conversation.session.subscribe(own.append, name="own")
            conversation.session.subscribe(whole.append, name="whole", agents=True)
            end = await conversation.prompt("go")
            assert (end.reason, end.text) == ("done", "done: it says hello")

            started = next(event for event in own if isinstance(event, AgentStarted))
            ended = next(event for event in own if isinstance(event, AgentEnded))
            assert (started.agent, started.profile, ended.reason, ended.steps) == (
                "main/explore-1",
                "explore",
                "done",
                2,
            )
            assert not [event for event in own if isinstance(event, TextStreamed) and event.agent != "main"]
            nested = [event.text for event in whole if isinstance(event, TextStreamed) and "/" in event.agent]
            assert "".join(nested) == "a.txt says hello"

            (path,) = agent_paths(conversation.path)
            loaded = load(path)
            assert loaded.opened.parent == conversation.id
            assert loaded.opened.agent_path == "main/explore-1"
            assert resume(loaded.entries).history.messages[-1].text() == "a.txt says hello"
            data_dir = conversation.setting.environment.data_dir
            assert find_path(data_dir, started.session) == path
            assert latest_path(data_dir, str(tmp_path / "w")) == conversation.path

    asyncio.run(main())


def test_the_session_counts_what_its_sub_agents_spend_live_and_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(tmp_path / "w", one_task, monkeypatch) as (conversation, _):
            charges: list[Event] = []
            conversation.session.subscribe(
                lambda event: charges.append(event) if isinstance(event, AgentCharged) else None, name="charges"
            )
            await conversation.prompt("go")
            assert (len(charges), conversation.spend.session.requests) == (2, 4)
            assert conversation.spend.session.usage.input == 400
            assert resume(load(conversation.path).entries).spend.session == conversation.spend.session
            (path,) = agent_paths(conversation.path)
            assert resume(load(path).entries).spend.session.requests == 2

    asyncio.run(main())
