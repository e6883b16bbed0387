"""Sessions publish: who subscribes gets the same facts in the same order, in turns and between them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.session import EventQueue
from overt.app.start import open_conversation
from overt.core.capabilities import AVAILABLE, Effect
from overt.core.errors import ToolError
from overt.core.events import (
    Event,
    Noticed,
    Replied,
    TextStreamed,
    TitleSet,
    ToolFinished,
    TurnEnded,
    UserSpoke,
)
from overt.core.history import History
from overt.core.messages import Text, said
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, MODEL
from overt.sessions.entry_types import TYPE_OF
from overt.sessions.load import load
from overt.sessions.resume import resume

ONE, TWO = TitleSet(title="one", model="m"), TitleSet(title="two", model="m")
LINES = "".join(f"line {number} of the answer\n" for number in range(20))
READ_THEN_ANSWER = (calls(call("read", path="a.txt")), Turn(text="it says hello", chunk=2))


@asynccontextmanager
async def opened(
    folder: Path,
    turns: Sequence[Turn],
    monkeypatch: pytest.MonkeyPatch,
    *,
    effects: frozenset[Effect] = AVAILABLE,
    model: str = "fake-model",
) -> AsyncIterator[Conversation]:
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text(f"hello from {folder.name}\n")
    with ModelServer(turns, models=(model,)) as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", model)
        conversation = await open_conversation(Options(directory=str(folder), mode="yolo"), effects=effects)
        try:
            async with asyncio.timeout(30):
                yield conversation
        finally:
            await conversation.close()


def facts(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if type(event) in TYPE_OF]


def test_a_subscriber_that_joins_in_mid_turn_gets_the_same_facts_in_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(tmp_path / "w", READ_THEN_ANSWER, monkeypatch) as conversation:
            first: list[Event] = []
            second: list[Event] = []

            def join(event: Event) -> None:
                first.append(event)
                if isinstance(event, ToolFinished) and not second:
                    conversation.session.subscribe(second.append, name="second", catch_up=True)

            conversation.session.subscribe(join, name="first")
            await conversation.prompt("go")
            assert facts(first) == facts(second)
            assert [type(event) for event in facts(second)][-1] is TurnEnded

    asyncio.run(main())


def test_text_that_has_streamed_already_is_shown_to_a_subscriber_that_joins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(
            tmp_path / "w", [Turn(text=LINES, chunk=20, delay=0.005, framing="event")], monkeypatch
        ) as conversation:
            streamed: list[str] = []
            late: list[Event] = []

            def join(event: Event) -> None:
                if isinstance(event, TextStreamed):
                    streamed.append(event.text)
                    if len(streamed) == 1:
                        conversation.session.subscribe(late.append, name="late", catch_up=True)

            conversation.session.subscribe(join, name="first")
            await conversation.prompt("go")
            shown = "".join(event.text for event in late if isinstance(event, TextStreamed))
            assert shown == "".join(streamed) == LINES

    asyncio.run(main())


def test_a_slow_subscriber_delays_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path / "w", READ_THEN_ANSWER, monkeypatch) as conversation:
            quick: list[Event] = []
            slow: list[Event] = []
            events, release = EventQueue(), asyncio.Event()
            conversation.session.subscribe(events.put, name="slow")
            conversation.session.subscribe(quick.append, name="quick")

            async def read_slowly() -> None:
                async for event in events:
                    await release.wait()
                    slow.append(event)

            reader = asyncio.create_task(read_slowly())
            end = await conversation.prompt("go")
            assert (end.reason, quick[-1], slow) == ("done", end, [])
            release.set()
            events.end()
            await reader
            assert slow == quick

    asyncio.run(main())


def test_a_failing_subscriber_is_dropped_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path / "w", READ_THEN_ANSWER, monkeypatch) as conversation:
            received = 0
            seen: list[Event] = []

            def fail(event: Event) -> None:
                nonlocal received
                received += 1
                raise LookupError("no such window")

            conversation.session.subscribe(fail, name="second window")
            conversation.session.subscribe(seen.append, name="first window")
            end = await conversation.prompt("go")
            assert (end.reason, end.text, received) == ("done", "it says hello", 1)
            named = [event for event in seen if isinstance(event, Noticed)]
            assert [(notice.level, "second window" in notice.text) for notice in named] == [("error", True)]

    asyncio.run(main())


def test_events_between_turns_are_published_at_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(tmp_path / "w", [Turn(text="hello")], monkeypatch) as conversation:
            before: list[Event] = []
            after: list[Event] = []

            def answer(event: Event) -> None:
                before.append(event)
                if event == ONE:
                    conversation.record(TWO)

            conversation.session.subscribe(answer, name="before")
            conversation.session.subscribe(after.append, name="after")
            conversation.record(ONE)
            assert before == after == [ONE, TWO]
            await conversation.prompt("go")

    asyncio.run(main())


def test_each_agent_has_its_own_history_live_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> tuple[str, dict[str, History]]:
        async with opened(tmp_path / "w", READ_THEN_ANSWER, monkeypatch) as conversation:
            session = conversation.session
            session.emit(UserSpoke(agent="main/explore-1", message=said("look around", origin=HARNESS)))
            await conversation.prompt("go")
            (request, *_) = [entry.data for entry in load(conversation.path).entries if entry.type == "request"]
            session.emit(replace(request, agent="main/explore-1"))
            answer = said("nothing here", role="assistant", origin=MODEL)
            session.emit(Replied(agent="main/explore-1", message=answer, finish="stop", usage=Usage(input=5)))
            assert session.spend.session.input == 5 + sum(event.usage.input for event in replies(conversation.path))
            return conversation.path, dict(session.histories)

    path, live = asyncio.run(main())
    entries = load(path).entries
    assert {agent: resume(entries, agent=agent).history for agent in live} == live
    assert [message.text() for message in live["main/explore-1"].messages] == ["look around", "nothing here"]
    assert "look around" not in str(live["main"])


def replies(path: str) -> list[Replied]:
    entries = load(path).entries
    return [entry.data for entry in entries if isinstance(entry.data, Replied) and entry.agent == "main"]


def test_two_sessions_in_one_process_are_seen_by_one_subscriber_and_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other tools, other capabilities, other models, other folders; their turns run at the same time."""
    seen: list[tuple[str, Event]] = []

    def watch(name: str) -> Callable[[Event], None]:
        return lambda event: seen.append((name, event))

    reads = (calls(call("bash", command="touch made"), call("write", path="made", content="")), *READ_THEN_ANSWER)
    runs = (calls(call("bash", command="cat a.txt; touch made")), Turn(text="done in two"))
    reader: frozenset[Effect] = frozenset({"read", "notes"})

    async def main() -> dict[str, tuple[str, History]]:
        async with (
            opened(tmp_path / "one", reads, monkeypatch, effects=reader, model="reader") as one,
            opened(tmp_path / "two", runs, monkeypatch, model="runner") as two,
        ):
            for conversation in (one, two):
                conversation.session.subscribe(watch(Path(conversation.workspace).name), name="both")
            await asyncio.gather(one.prompt("first"), two.prompt("second"))
            assert (
                set(one.agent.spec.tools) == {"read", "list", "glob", "grep", "todowrite"} < set(two.agent.spec.tools)
            )
            assert (one.agent.spec.params.model, two.agent.spec.params.model) == ("reader", "runner")
            with pytest.raises(ToolError, match="may not use the effect run"):
                one.agent.runtime.hands.lend("c1", {"programs": "run"})
            two.agent.runtime.hands.lend("c1", {"programs": "run"})
            return {Path(each.workspace).name: (each.path, each.history) for each in (one, two)}

    histories = asyncio.run(main())
    for name, (path, history) in histories.items():
        assert resume(load(path).entries).history == history
        spoken = [event.message.text() for who, event in seen if who == name and isinstance(event, UserSpoke)]
        assert ("first" in spoken, "second" in spoken) == (name == "one", name == "two")
        results = [event.result for who, event in seen if who == name and isinstance(event, ToolFinished)]
        texts = [part.text for result in results for part in result.parts if isinstance(part, Text)]
        assert f"hello from {name}" in "".join(texts)
    assert (tmp_path / "two" / "made").exists() and not (tmp_path / "one" / "made").exists()
    assert {who for who, _ in seen} == {"one", "two"}
