"""Whatever a history holds and whatever the model makes of it: room is made once, and nothing that matters is lost."""

import asyncio
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.fakes.played import Player, call, says

from overt.agent.agent import Agent, AgentSpec, Runtime
from overt.agent.compaction import compact, make_room
from overt.context.assemble import Assembler
from overt.context.budget import Budget
from overt.context.compaction_plan import find_tail
from overt.core.errors import ProviderError
from overt.core.events import Compacted, Event, Pinned, Replied, RequestSent, ToolFinished, UserSpoke
from overt.core.history import History, fold
from overt.core.messages import Call, Message, Result, Text, said
from overt.core.protocols import Wire
from overt.core.requests import Params, Prefix, Reply
from overt.core.settings import Limits
from overt.core.text_fragments import HARNESS, STEERED, USER, Fragment, Origin
from overt.core.views import Plain
from overt.providers.wires.anthropic import Anthropic
from overt.providers.wires.openai import OpenAIChat
from overt.providers.wires.responses import OpenAIResponses
from overt.tools.registry import BUILT_IN

PREFIX = Prefix(system=(Fragment(key="system", text="You are a test.", origin=HARNESS),), tools=())
WIRES: tuple[type[Any], ...] = (OpenAIChat, OpenAIResponses, Anthropic)
RULE = "You must never touch README.md."
SUMMARIES: dict[str, Reply | ProviderError] = {
    "good": says("## Objective\nRead on.\n## Next steps\nGo on."),
    "empty": says(""),
    "calls": says("", call("read", path="a")),
    "loops": says("once more and " * 200),
    "huge": says(" ".join(f"{n} and {n * n}" for n in range(20_000))),
    "cut": says("## Objective", finish="length"),
    "down": ProviderError("down", kind="down"),
    "overflow": ProviderError("too long", kind="overflow"),
}

texts = st.sampled_from(["go on", "请看", RULE, "word " * 60, "字" * 200, "x\n\n> y\n# Files touched\n- a: read", "  "])
sizes = st.sampled_from([0, 3, 40, 700, 4000])
happening = st.one_of(
    st.tuples(st.just("prompt"), texts),
    st.tuples(st.just("steer"), texts),
    st.tuples(st.just("pin"), st.sampled_from(["Version 7.", "第七版"])),
    st.tuples(st.just("file"), sizes),
    st.tuples(st.just("calls"), st.lists(st.tuples(sizes, st.booleans()), min_size=1, max_size=3)),
    st.tuples(st.just("answer"), texts),
)
happenings = st.one_of(st.lists(happening, max_size=10), st.lists(happening, min_size=16, max_size=60))


def lived(happened: list[tuple[str, Any]]) -> History:
    facts: list[Event] = [UserSpoke(message=said("Port the parser.", origin=USER))]
    for number, (kind, value) in enumerate(happened):
        match kind:
            case "prompt" | "steer":
                origin = USER if kind == "prompt" else STEERED
                facts.append(UserSpoke(message=said(value, origin=origin), steered=kind == "steer"))
            case "pin":
                facts.append(Pinned(text=value))
            case "file":
                shown = said("line\n" * value, origin=Origin(kind="file", where=f"f{number}.py", hash="h"))
                facts.append(UserSpoke(message=shown))
            case "answer":
                facts.append(_replied(Text(text=value)))
            case _:
                made = tuple(call("read", f"c{number}-{at}", path=f"f{number}.py") for at in range(len(value)))
                facts.append(_replied(*made))
                facts += [_outcome(each, size, wrong) for each, (size, wrong) in zip(made, value, strict=True)]
    history = History()
    for fact in facts:
        history = fold(history, fact)
    return history


def _replied(*parts: Text | Call) -> Replied:
    message = Message(role="assistant", parts=parts, origin=Origin(kind="model", where="played"))
    return Replied(message=message, finish="stop", usage=says("").usage)


def _outcome(made: Call, size: int, wrong: bool) -> ToolFinished:
    parts = (Text(text="".join(f"line {n} of it\n" for n in range(size))),)
    return ToolFinished(result=Result(call_id=made.id, parts=parts, error=wrong), view=Plain(text=""))


class Living:
    """An agent with a history, a window and a model that writes this summary."""

    def __init__(self, history: History, window: int, summary: Reply | ProviderError, wire: Wire) -> None:
        self.history = history
        self.events: list[Event] = []
        self.player = Player([summary])
        self.player.wire = wire
        nothing = cast(Any, None)
        spec = AgentSpec(
            path="main",
            params=Params(model="m"),
            prefix=PREFIX,
            tools={},
            effects=frozenset(),
            limits=Limits(),
        )
        runtime = Runtime(
            provider=self.player,
            gate=nothing,
            hands=nothing,
            assembler=Assembler(wire),
            hide=lambda text: text,
            find_tool=BUILT_IN.find,
            budget=Budget(window=window),
        )
        self.agent = Agent(spec, runtime)

    def emit(self, event: Event) -> None:
        self.events.append(event)
        self.history = fold(self.history, event)

    def run(self, making: Any) -> bool:
        """Whether it came to an end; False when what is left is too large all the same."""

        async def main() -> None:
            async with asyncio.timeout(30):
                await making

        try:
            asyncio.run(main())
        except ProviderError as error:
            assert error.kind in ("overflow", "down")
            return False
        return True

    def compact(self, cause: Any) -> bool:
        return self.run(compact(self.agent, lambda: self.history, self.emit, cause=cause))

    def make_room(self) -> bool:
        return self.run(make_room(self.agent, lambda: self.history, self.emit))

    def short(self) -> bool:
        budget = self.agent.runtime.budget
        assert budget is not None
        return self.agent.runtime.room.short(budget, budget.count(PREFIX, self.history.messages))

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def assert_kept(before: History, living: Living) -> None:
    """The first prompt as it was, pins and rules, the newest prompt, pairs, and an end that nobody has touched."""
    after = living.history
    assert_paired(after.messages)
    prompts = [message for message in before.messages if message.origin == USER]
    assert prompts[0] in after.messages and prompts[-1] in after.messages
    made = living.of(Compacted)
    told = "\n".join(message.text() for message in after.messages)
    if any(event.summary for event in made):
        assert all(f"> {pin}" in told for pin in before.pins)
    if any(RULE in message.text() for message in before.messages if message.origin.kind == "user"):
        assert RULE in told
    if not made:
        assert after.messages == before.messages


def assert_tail(before: History, living: Living, cause: str) -> None:
    """The end stays word for word but for large results, and is no longer than a fifth of the window.

    Where no window is known, and where a short history is compacted on request, it is a fifth of what there was.
    """
    made, budget = living.of(Compacted), living.agent.runtime.budget
    assert budget is not None
    if len(made) != 1 or not made[0].summary or living.of(RequestSent) == []:
        return
    (event,) = made
    tail = before.messages[event.end :]
    assert event.end and before.messages[event.end].role != "tool"
    for old, new in zip(tail, living.history.messages[-len(tail) :], strict=True):
        removed = any(isinstance(part, Result) and part.call_id in event.pruned for part in old.parts)
        assert (old == new) is not removed
    filled = budget.count(PREFIX, before.messages)
    window = budget.window or filled
    window = min(window, filled) if cause == "asked" else window
    least = find_tail(
        before.messages, 0, budget.message, find_tool=BUILT_IN.find
    ).start  # the last exchange stays whatever its size
    kept = living.history.messages[-len(tail) :]
    assert event.end == least or sum(map(budget.message, kept)) <= window / 5 + 1


def assert_paired(messages: tuple[Message, ...]) -> None:
    waiting: list[str] = []
    for message in messages:
        answers = [part.call_id for part in message.parts if isinstance(part, Result)]
        assert answers == waiting
        waiting = [each.id for each in message.calls()]
    assert waiting == []


@settings(max_examples=150, deadline=None)
@given(
    happened=happenings,
    window=st.sampled_from([0, 2_000, 8_000, 32_000, 1_000_000]),
    summary=st.sampled_from(sorted(SUMMARIES)),
    wire=st.sampled_from(WIRES),
    cause=st.sampled_from(["limit", "asked", "overflow"]),
)
@example(happened=[("prompt", "go on")] * 18, window=0, summary="overflow", wire=OpenAIChat, cause="limit")
def test_any_history_is_compacted_once_and_stays_whole(
    happened: list[tuple[str, Any]], window: int, summary: str, wire: type[Any], cause: str
) -> None:
    before = lived(happened)
    living = Living(before, window, SUMMARIES[summary], wire())
    ended = living.compact(cause)
    assert len(living.of(RequestSent)) <= 1
    assert_kept(before, living)
    for request in living.player.requests:
        assert_paired(request.messages)
    end = living.history.messages
    assert_tail(before, living, cause)
    if ended and window and cause != "asked":
        budget = living.agent.runtime.budget
        assert budget is not None and budget.count(PREFIX, end) <= budget.cap
    assert all(event.after < event.before for event in living.of(Compacted))


PARROT = [*[("prompt", "go on")] * 12, ("prompt", RULE), ("file", 4000), ("answer", RULE), *[("prompt", "go on")] * 2]
"""The model says the person's rule again: its words do not keep the person's."""


@settings(max_examples=100, deadline=None)
@given(happened=happenings, window=st.sampled_from([2_000, 8_000, 32_000]), summary=st.sampled_from(sorted(SUMMARIES)))
@example(happened=PARROT, window=2_000, summary="calls")
def test_room_that_was_made_is_not_made_again_before_more_has_come(
    happened: list[tuple[str, Any]], window: int, summary: str
) -> None:
    before = lived(happened)
    living = Living(before, window, SUMMARIES[summary], OpenAIChat())
    if not living.short() or not living.make_room():
        return
    assert not living.short()
    assert len(living.player.requests) <= 1
    assert_kept(before, living)
    assert_tail(before, living, "limit")


@pytest.mark.parametrize(("window", "words"), [(2_000, 6), (2_000, 60), (8_000, 900), (16_000, 60)])
@pytest.mark.parametrize("summary", ["good", "down"])
def test_however_many_prompts_there_were_the_next_one_fits(window: int, words: int, summary: str) -> None:
    living = Living(lived([("prompt", RULE)]), window, SUMMARIES[summary], OpenAIChat())
    for number in range(120):
        prompt = f"Prompt {number}: you should do it" + ", now" * words
        for fact in (UserSpoke(message=said(prompt, origin=USER)), _replied(Text(text=f"{number} is done. " * 20))):
            living.history = fold(living.history, fact)
        if living.short():
            assert living.make_room(), number
        assert not living.short()
    told = [message.text() for message in living.history.messages]
    assert told[0] == "Port the parser."
    assert any(prompt in text for text in told)
    assert living.of(Compacted)
