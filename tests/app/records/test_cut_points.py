"""Recorded sessions, cut at any byte, go on with a message list that every wire can send.

The sessions are recorded by the program itself: tools, calls side by side, a picture, a stream that was cut, a
compaction, a rewind and a retry. What a wire makes of the resumed history is judged on its JSON, by the rules of
its vendor: every call is answered once, in its place, and nothing is answered that was not called.
"""

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.app.records.export_kit import PIXEL
from tests.app.test_conversation import turn
from tests.fakes.model_server import Fault, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import call, calls
from tests.sessions.samples import PREFIX, assert_valid

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.session import follow
from overt.app.start import open_conversation
from overt.context.assemble import Assembler
from overt.core.protocols import Wire
from overt.core.requests import Params
from overt.core.settings import ModelFacts
from overt.providers.wires.anthropic import Anthropic
from overt.providers.wires.openai import OpenAIChat
from overt.providers.wires.responses import OpenAIResponses
from overt.sessions.load import load
from overt.sessions.log import SessionLog
from overt.sessions.resume import resume

SUMMARY = "## Objective\nKeep the files in order.\n\n## Files touched\na.txt, b.txt\n\n## Next steps\nGo on."
SIDE_BY_SIDE = calls(
    call("read", path="a.txt"),
    call("read", path="p.png"),
    call("bash", command="echo hi"),
    call("todoread"),
    text="All.",
)


def play(steps: list[Turn]) -> Callable[[Recorded, int], Turn]:
    """The turns in order; a summary whenever one is asked for."""
    left = iter(steps)

    def choose(request: Recorded, _number: int) -> Turn:
        return Turn(text=SUMMARY) if request.json().get("tool_choice") == "none" else next(left, Turn(text="fine"))

    return choose


async def lived(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session in which everything happens that changes a history."""
    (folder / "a.txt").write_text("a\n")
    (folder / "p.png").write_bytes(PIXEL)
    steps = [
        SIDE_BY_SIDE,
        calls(call("write", path="b.txt", content="b\n"), call("nosuch", x=1), call("read", path="missing.txt")),
        Turn(text="Done.", reasoning="hm"),
        calls(call("todowrite", todos=[{"content": "x", "status": "pending"}]), call("read", path="b.txt")),
        Turn(text="Noted 记下了。"),
        *(turn for _ in range(4) for turn in (calls(call("read", path="a.txt"), call("list")), Turn(text="Looked."))),
        Turn(text="half a sentence", chunk=4, fault=Fault(stall_after=3)),
        SIDE_BY_SIDE,
        Turn(text="again"),
        calls(call("bash", command="sleep 30"), call("read", path="a.txt")),
        SIDE_BY_SIDE,
        Turn(text="after the rewind"),
        calls(call("read", path="a.txt")),
        Turn(text="the end"),
    ]
    with ModelServer(choose=play(steps)) as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        conversation = await open_conversation(Options(directory=str(folder), mode="yolo"))
        try:
            async with asyncio.timeout(60):
                await live(conversation)
        finally:
            await conversation.close()
    return conversation.path


async def live(conversation: Conversation) -> None:
    for text in ("look around", "note it", "again", "again", "again", "again"):
        await turn(conversation, text)
    await interrupted(conversation, "TextStreamed")
    await drained(follow(conversation.session, conversation.retry()))
    await interrupted(conversation, "ToolStarted")
    await drained(follow(conversation.session, conversation.compact()))
    await turn(conversation, "go on")
    conversation.rewind(conversation.session.marks[2])
    await turn(conversation, "another way")


async def interrupted(conversation: Conversation, after: str) -> None:
    async with aclosing(follow(conversation.session, conversation.prompt("quickly"))) as events:
        async for event in events:
            if type(event).__name__ == after:
                conversation.interrupt()


async def drained(events: Any) -> None:
    async with aclosing(events) as every:
        async for _ in every:
            pass


# ── what a vendor's server accepts ───────────────────────────────────────────────────────────────────────


def judge_chat(body: dict[str, Any]) -> int:
    open_calls: list[str] = []
    count = 0
    for message in body["messages"]:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert open_calls == [], "something stands between a call and its result"
        open_calls = [made["id"] for made in message.get("tool_calls", ())]
        assert len(set(open_calls)) == len(open_calls)
        count += len(open_calls)
    assert open_calls == []
    return count


def judge_responses(body: dict[str, Any]) -> int:
    called: list[str] = []
    answered: list[str] = []
    for item in body["input"]:
        if item.get("type") == "function_call":
            called.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            assert item["call_id"] in called, "an answer before its call"
            answered.append(item["call_id"])
        elif item.get("role") == "user":
            assert sorted(called) == sorted(answered), "a prompt before every call is answered"
    assert sorted(called) == sorted(answered)
    assert len(set(called)) == len(called)
    return len(called)


def judge_anthropic(body: dict[str, Any]) -> int:
    count = 0
    waiting: list[str] = []
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text"}]
        assert blocks, "an empty message"
        kinds = [block["type"] for block in blocks]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(waiting), "results stand in the message behind their calls"
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results come first"
        assert not results or message["role"] == "user"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert not waiting or message["role"] == "assistant"
        count += len(waiting)
    assert waiting == []
    return count


ABOUT = ModelFacts(name="m", images=True)
WIRES: tuple[tuple[Callable[[], Wire], Callable[[dict[str, Any]], int]], ...] = (
    (lambda: OpenAIChat(ABOUT), judge_chat),
    (lambda: OpenAIResponses(ABOUT), judge_responses),
    (lambda: Anthropic(ABOUT), judge_anthropic),
)


def judge(path: str) -> set[int]:
    """Resume for good, as the program does, and have every wire's body judged; the numbers of calls they hold."""
    log, loaded = SessionLog.open(path)
    found = resume(loaded.entries)
    for event in found.healing:
        log.append(event, turn=found.turn, step=found.step)
    log.close()
    assert resume(load(path).entries).history == found.history
    assert_valid(found.history)
    numbers: set[int] = set()
    for wire, rules in WIRES:
        made = Assembler(wire(), vendor="v").assemble(PREFIX.prefix, found.history.messages, Params(model="m"))
        numbers.add(rules(json.loads(made.request.body())))
    return numbers


def cut(folder: Path, monkeypatch: pytest.MonkeyPatch, points: int) -> None:
    (folder / "work").mkdir()
    path = Path(asyncio.run(lived(folder / "work", monkeypatch)))
    kinds = [entry.type for entry in load(str(path)).entries]
    assert {"partial", "compaction", "reset", "outcome", "reply", "end"} <= set(kinds)
    whole = path.read_bytes()
    order = random.Random(6)
    most = 0
    for point in (len(whole), *(order.randrange(len(whole)) for _ in range(points))):
        path.write_bytes(whole[:point])
        numbers = judge(str(path))
        assert len(numbers) == 1, f"cut at {point}: the wires do not agree: {numbers}"
        most = max(most, *numbers)
        Path(f"{path}.torn").unlink(missing_ok=True)
    assert most >= 10, "there were calls to pair"


def test_three_hundred_cut_points_resume_to_what_every_wire_can_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(tmp_path, monkeypatch, 300)


@pytest.mark.soak
def test_a_thousand_cut_points_resume_to_what_every_wire_can_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(tmp_path, monkeypatch, 1000)
