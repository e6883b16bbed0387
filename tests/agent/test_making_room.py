"""Compaction as the loop runs it: real tools in a real folder, a model played from memory, and a small window."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace
from tests.agent.test_loop import Bench
from tests.fakes.played import Played, call, says

from overt.agent.agent import Agent
from overt.app.session import follow
from overt.context.assemble import Assembler
from overt.context.budget import Budget
from overt.context.text_calls import TextCallWire
from overt.core.errors import ProviderError
from overt.core.events import (
    Compacted,
    Noticed,
    Pinned,
    PrefixReset,
    Replied,
    RequestSent,
    TextStreamed,
    TurnEnded,
)
from overt.core.messages import Message, Result, Text
from overt.core.protocols import Wire
from overt.core.requests import Reply, Request
from overt.core.settings import Calls, Price
from overt.lib.tokens import estimate
from overt.providers.wires.anthropic import Anthropic
from overt.providers.wires.openai import OpenAIChat
from overt.providers.wires.responses import OpenAIResponses

OVERFLOW = ProviderError("The conversation is too long for m.", kind="overflow")
FREE = Price(input=0.0)
"""Where it costs only time, pruning hardly ever pays, so that the summary is what is seen."""
LONG = " ".join(f"{n} and {n * n}" for n in range(9000))
SUMMARY = "## Objective\nRead the files.\n## Next steps\nGo on."


class Told(Budget):
    """A budget that counts in the same simple way whatever the real one does, and knows what it was told."""

    def __init__(self, window: int, *, threshold: float = 0.8, reserve: int = 0) -> None:
        super().__init__(window=window, threshold=threshold)
        self.window, self.cap, self.due_above = window, max(0, window - reserve), int(window * threshold)
        self.observed: list[tuple[int, int]] = []

    def count(self, prefix: Any, messages: Any) -> int:
        return sum(map(self.message, messages))

    def message(self, message: Message) -> int:
        return estimate(
            "".join(
                inner.text
                for part in message.parts
                for inner in (part.parts if isinstance(part, Result) else (part,))
                if isinstance(inner, Text)
            )
        )

    def observe(self, prefix: Any, messages: Any, usage: Any) -> None:
        self.observed.append((len(messages), usage.input))


class Small(Bench):
    """A folder with files of about 1 000 tokens each, and a model that reads one at every step."""

    def __init__(
        self,
        folder: Path,
        *,
        window: int = 12_000,
        files: int = 12,
        summary: Played | None = None,
        threshold: float = 0.8,
        reserve: int = 0,
        size: int = 60,
        price: Price | None = FREE,
    ) -> None:
        for number in range(files):
            (folder / f"f{number}.txt").write_text("".join(f"a line of file {number}, {n}\n" for n in range(size)))
        self.summary: Played = says(SUMMARY) if summary is None else summary
        self.files = files
        self.asked = 0
        self.refusals = 0
        super().__init__(folder, [self.reply])
        self.budget = Told(window, threshold=threshold, reserve=reserve)
        agent = self.conversation.agent
        self.conversation.agent = Agent(
            replace(agent.spec, price=price),
            replace(agent.runtime, budget=self.budget, marks=lambda: self.conversation.session.marks),
        )

    def reply(self, request: Request) -> Reply:
        if asks(request):
            if isinstance(self.summary, ProviderError):
                raise self.summary
            return self.summary if isinstance(self.summary, Reply) else self.summary(request)
        if self.refusals:
            self.refusals -= 1
            raise OVERFLOW
        self.asked += 1
        if self.asked > self.files:
            return says("done")
        return says("", call("read", f"r{self.asked}", path=f"f{self.asked - 1}.txt"))

    def steps(self) -> list[RequestSent]:
        return [event for event in self.of(RequestSent) if event.purpose == "step"]

    def summaries(self) -> list[RequestSent]:
        return [event for event in self.of(RequestSent) if event.purpose == "summary"]

    def warnings(self) -> list[str]:
        return [event.text for event in self.of(Noticed) if event.level == "warning"]

    def go(self, text: str) -> TurnEnded:
        return asyncio.run(self.prompt(text))

    def follow(self, play: Callable[[], asyncio.Task[TurnEnded]]) -> TurnEnded:
        async def all_of_it() -> None:
            async with asyncio.timeout(60), aclosing(follow(self.conversation.session, play())) as events:
                async for event in events:
                    self.events.append(event)

        asyncio.run(all_of_it())
        assert isinstance(self.events[-1], TurnEnded)
        return self.events[-1]


def counts(bench: Small) -> list[int]:
    """Tokens of every request of a step, in the budget's own measure."""
    steps = (request for request in bench.player.requests if not asks(request))
    return [bench.budget.count(request.prefix, request.messages) for request in steps]


def asks(request: Request) -> bool:
    """Whether it asks for a summary."""
    return request.messages[-1].text().startswith("[overt] The conversation above is long")


def assert_paired(messages: tuple[Message, ...]) -> None:
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert [part.call_id for part in message.parts if isinstance(part, Result)] == waiting
            waiting = []
        assert waiting == []
        waiting = [call.id for call in message.calls()]


def test_the_older_middle_becomes_a_summary_above_the_threshold(tmp_path: Path) -> None:
    bench = Small(tmp_path)
    end = bench.go("Read them all. Never change one.")
    assert (end.reason, end.text) == ("done", "done")
    (made,) = bench.of(Compacted)
    assert (made.cause, made.start, len(made.summary), made.model) == ("limit", 1, 1, "m")
    assert made.before > bench.budget.due_above > made.after
    assert made.usage.input == 10
    messages = bench.conversation.history.messages
    assert_paired(messages)
    assert messages[0].text() == "Read them all. Never change one."
    assert messages[1].origin.where == "turn 1"
    assert "- f0.txt: read\n" in messages[1].text()
    assert messages[1].text().endswith(f"\n# Summary\n{SUMMARY}\n")
    assert max(counts(bench)) <= bench.budget.due_above
    assert bench.conversation.history.seen.keys() == {f"f{number}.txt" for number in range(12)}


def test_the_summary_is_asked_for_behind_the_same_bytes_and_with_the_same_tools(tmp_path: Path) -> None:
    bench = Small(tmp_path)
    bench.go("go")
    at = next(n for n, request in enumerate(bench.player.requests) if request.params.tool_choice == "none")
    before, asked = bench.player.requests[at - 1].body(), bench.player.requests[at].body()
    stable = before[: before.rindex(b"]")]
    assert asked.startswith(stable)
    assert json.decode(asked)["tools"] == json.decode(before)["tools"]
    (sent,) = bench.summaries()
    assert (sent.digest, sent.length) == (bench.player.requests[at].digest, len(asked))
    assert sent.also == bench.player.requests[at].messages[-1:]
    assert sent.shared >= len(stable)


def test_the_summary_is_no_answer(tmp_path: Path) -> None:
    bench = Small(tmp_path)
    bench.go("go")
    assert "".join(event.text for event in bench.of(TextStreamed)) == "done"
    assert [event.message.text() for event in bench.of(Replied) if event.message.text()] == ["done"]


def test_every_reply_of_a_request_that_was_counted_is_told_to_the_budget(tmp_path: Path) -> None:
    bench = Small(tmp_path)
    bench.go("go")
    assert bench.summaries()
    assert bench.budget.observed == [(event.messages, 10) for event in bench.of(RequestSent)]


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        (says(""), "the model wrote no summary."),
        (says("", call("read", path="f0.txt")), "the model wrote no summary."),
        (says("I will now read the file again. " * 50), "the summary repeats itself."),
        (says("## Objective", finish="length"), "the summary was cut off before its end."),
        (
            says(LONG),
            "the summary is no shorter than what it would replace.",
        ),
        (ProviderError("the server is down", kind="down"), "the server is down"),
    ],
    ids=["empty", "calls", "loops", "cut", "longer", "down"],
)
def test_a_summary_that_fails_changes_nothing_and_says_so(tmp_path: Path, summary: Played, said: str) -> None:
    bench = Small(tmp_path, files=11, summary=summary, window=12_000)
    end = bench.go("go")
    assert (end.reason, end.text) == ("done", "done")
    assert bench.of(Compacted) == bench.of(PrefixReset) == []
    assert bench.warnings() == [f"The context was not compacted, and nothing has changed: {said}"]
    assert [message.origin.kind for message in bench.conversation.history.messages].count("summary") == 0
    assert len(bench.conversation.history.messages) == 1 + 11 * 2 + 1
    paid = 0 if isinstance(summary, ProviderError) else 10
    assert end.usage.input == 10 * len(bench.steps()) + paid


def test_after_a_failure_it_is_tried_again_only_when_more_has_come(tmp_path: Path) -> None:
    bench = Small(tmp_path, files=60, summary=says(""), window=12_000, size=8)
    bench.go("go")
    assert len(bench.steps()) == 60 + 1
    tries = [bench.events.index(event) for event in bench.summaries()]
    between = [bench.events[one:other] for one, other in pairwise(tries)]
    assert all(sum(isinstance(event, RequestSent) for event in each) > 3 for each in between)


def test_pruning_alone_is_enough_where_it_pays(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=12_000, files=20, price=None)
    end = bench.go("go")
    assert end.reason == "done"
    made = bench.of(Compacted)
    assert made
    assert bench.summaries() == []
    assert all(event.pruned and not event.summary for event in made)
    assert all(event.after <= 0.6 * bench.budget.due_above for event in made)
    first = bench.conversation.history.messages[2].parts[0]
    assert isinstance(first, Result)
    assert first.parts[0].text.startswith("[overt] This result was taken out to make room: it had ")  # type: ignore[union-attr]


def test_pruning_that_leaves_more_than_two_fifths_of_the_window_is_not_enough(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=12_000, files=6, price=None)
    bench.asked = 100
    for number in range(4):
        bench.go(f"{number}: " + "word " * 1_200)
    bench.asked = 0
    bench.go("now read")
    made = bench.of(Compacted)
    assert bench.summaries() and all(event.summary for event in made)
    assert all(event.after <= 0.4 * bench.budget.window for event in made)


def test_pins_and_all_prompts_survive_three_compactions(tmp_path: Path) -> None:
    bench = Small(tmp_path, files=4)
    bench.go("first: never use tabs")
    bench.conversation.record(Pinned(text="the port is 8443"))
    for number in range(2, 10):
        bench.asked = 0
        bench.go(f"prompt {number}: you must keep rule {number}")
    assert [event.cause for event in bench.of(Compacted)] == ["limit"] * 3
    messages = bench.conversation.history.messages
    everything = "\n".join(message.text() for message in messages)
    assert messages[0].text() == "first: never use tabs"
    assert "> the port is 8443" in everything
    for number in range(2, 10):
        assert everything.count(f"prompt {number}: you must keep rule {number}") == 1
    assert bench.conversation.history.pins == ("the port is 8443",)


def test_an_overflow_makes_room_once_and_sends_once_more(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=0, files=10)
    bench.go("go")
    assert bench.of(Compacted) == []
    bench.asked, bench.refusals = 100, 1
    end = bench.go("more")
    assert (end.reason, end.text) == ("done", "done")
    made = bench.of(Compacted)
    assert {event.cause for event in made} == {"overflow"}
    assert made[-1].after < made[0].before / 2
    assert len(bench.steps()) == 11 + 2


def test_a_second_overflow_is_an_error(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=0, files=10)
    bench.go("go")
    bench.asked, bench.refusals = 100, 5
    end = bench.go("more")
    assert (end.reason, end.kind, end.text) == ("error", "overflow", OVERFLOW.message)
    assert len(bench.steps()) == 11 + 2


def test_an_overflow_that_nothing_can_be_cut_for_is_not_sent_again(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=0)
    bench.refusals = 5
    end = bench.go("go")
    assert (end.reason, end.kind) == ("error", "overflow")
    assert (len(bench.steps()), bench.of(Compacted)) == (1, [])


def test_when_the_summary_overflows_as_well_the_record_alone_speaks(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=0, files=10, size=3, summary=OVERFLOW)
    bench.go("go")
    bench.asked, bench.refusals = 100, 1
    end = bench.go("more")
    assert end.reason == "done"
    (made,) = [event for event in bench.of(Compacted) if event.summary]
    assert "No model has summarised it" in made.summary[0].text()
    assert "- f0.txt: read\n" in made.summary[0].text()


@pytest.mark.parametrize("summary", [says(SUMMARY), says("")], ids=["a summary", "none"])
def test_no_request_is_above_the_cap_and_every_cut_is_recorded(tmp_path: Path, summary: Played) -> None:
    bench = Small(tmp_path, window=4_000, reserve=600, files=20, summary=summary, size=54)
    bench.go("go")
    assert max(counts(bench)) <= bench.budget.cap == 3_400
    assert bench.of(Compacted)
    assert_paired(bench.conversation.history.messages)
    assert all(event.after < event.before for event in bench.of(Compacted))


def test_a_prompt_that_does_not_fit_is_named_and_not_sent(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=4_000)
    long = "word " * 20_000
    end = bench.go(long)
    assert (end.reason, end.kind) == ("error", "overflow")
    assert "The largest part is a message of yours" in end.text
    assert bench.steps() == []
    assert bench.conversation.history.messages[-1].text() == long


def test_without_a_threshold_nothing_happens_by_itself(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=12_000, threshold=0, files=30)
    end = bench.go("go")
    assert bench.of(Compacted) == bench.summaries() == []
    assert (end.reason, end.kind) == ("error", "overflow")
    assert max(counts(bench)) <= bench.budget.cap


def test_who_has_switched_it_off_gets_the_servers_refusal_and_an_untouched_history(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=0, threshold=0, files=30)
    bench.refusals = 1
    end = bench.go("go")
    assert (end.reason, end.kind, end.text) == ("error", "overflow", OVERFLOW.message)
    assert bench.of(Compacted) == bench.summaries() == []


def test_it_can_be_asked_for_with_a_focus(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=0, files=8)
    bench.go("go")
    end = bench.follow(lambda: bench.conversation.compact("the names, not the-key"))
    assert (end.reason, end.text) == ("done", "")
    (made,) = bench.of(Compacted)
    assert made.cause == "asked"
    (sent,) = bench.summaries()
    assert sent.also[0].text().endswith("above all to be kept: the names, not [redacted]")


def test_a_short_conversation_without_large_results_is_not_compacted_and_says_so(tmp_path: Path) -> None:
    bench = Small(tmp_path, files=0)
    for number in range(6):
        bench.go(f"prompt {number}")
    bench.follow(lambda: bench.conversation.compact())
    assert bench.of(Noticed)[-1].text == "There is nothing old enough to make room with."
    assert bench.of(Compacted) == bench.summaries() == []


@pytest.mark.parametrize("window", [0, 100_000])
def test_a_short_conversation_with_large_results_shrinks_to_less_than_half_when_asked(
    tmp_path: Path, window: int
) -> None:
    bench = Small(tmp_path, window=window, files=10, size=180)
    bench.go("Read them all.")
    before = bench.budget.count(None, bench.conversation.history.messages)
    assert before > 25_000
    bench.follow(lambda: bench.conversation.compact())
    (made,) = bench.of(Compacted)
    assert made.before == before and made.after < 0.3 * before
    assert made.summary and made.pruned
    assert_paired(bench.conversation.history.messages)


def test_one_large_result_is_removed_without_a_summary_when_asked(tmp_path: Path) -> None:
    bench = Small(tmp_path, files=1, size=180)
    bench.go("Read it.")
    bench.follow(lambda: bench.conversation.compact())
    (made,) = bench.of(Compacted)
    assert (made.cause, made.pruned, made.summary, bench.summaries()) == ("asked", ("r1",), (), [])
    assert made.after < made.before / 10


def test_asked_for_and_failed_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=0, files=8, summary=ProviderError("the server is down", kind="down"))
    bench.go("go")
    before = bench.conversation.history
    end = bench.follow(lambda: bench.conversation.compact())
    assert (end.reason, end.text) == ("error", "the server is down")
    assert bench.conversation.history == before


def test_an_interrupted_summary_changes_nothing(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=0, files=8)
    bench.go("go")
    before = bench.conversation.history

    def stop(_request: Request) -> Reply:
        bench.conversation.interrupt()
        return says(SUMMARY)

    bench.summary = stop
    end = bench.follow(lambda: bench.conversation.compact())
    assert end.reason == "interrupted"
    assert bench.of(Compacted) == []
    assert bench.conversation.history == before


def test_the_last_prompt_can_be_retried_after_a_compaction(tmp_path: Path) -> None:
    bench = Small(tmp_path)
    bench.asked = 10
    bench.go("one")
    bench.asked = 0
    bench.go("two")
    assert bench.of(Compacted)
    bench.asked = 100
    end = bench.follow(lambda: bench.conversation.retry())
    assert end.reason == "done"
    kinds = [(message.origin.kind, message.text()[:7]) for message in bench.conversation.history.messages]
    assert kinds == [("user", "one"), ("summary", "[overt]"), ("user", "two"), ("model", "done")]


@pytest.mark.parametrize("calls", ["schema", "text"])
def test_it_works_for_models_that_call_tools_in_words(tmp_path: Path, calls: Calls) -> None:
    def spoken(number: int) -> Reply:
        if number > 12:
            return says('{"tool": "final", "text": "done"}' if calls == "schema" else "done")
        path = f"f{number - 1}.txt"
        if calls == "schema":
            return says(f'{{"tool": "read", "path": "{path}"}}')
        return says(f'<tool_call>{{"name": "read", "arguments": {{"path": "{path}"}}}}</tool_call>')

    summary = '{"tool": "final", "text": "All read."}' if calls == "schema" else "All read."
    bench = Small(tmp_path, window=8_000, reserve=400, summary=says(summary))
    agent = bench.conversation.agent
    wire = TextCallWire(bench.player.wire, calls)
    prefix = replace(agent.spec.prefix, tools=())
    bench.conversation.agent = Agent(
        replace(agent.spec, prefix=prefix, calls=calls), replace(agent.runtime, assembler=Assembler(wire))
    )
    plain = bench.reply

    def reply(request: Request) -> Reply:
        found = plain(request)
        return spoken(bench.asked) if found.parts and found is not bench.summary else found

    bench.player._replies = [reply]
    end = bench.go("go")
    assert (end.reason, end.text) == ("done", "done")
    assert bench.of(Compacted)
    last = [event for event in bench.of(Compacted) if event.summary][-1]
    assert last.summary[0].text().endswith("\n# Summary\nAll read.\n")
    assert max(counts(bench)) <= bench.budget.cap
    roles = [each["role"] for each in json.decode(bench.player.requests[-1].body())["messages"]]
    assert "tool" not in roles


@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses(), Anthropic()], ids=lambda wire: wire.name)
def test_what_is_left_is_valid_for_every_wire(tmp_path: Path, wire: Wire) -> None:
    bench = Small(tmp_path, files=20)
    bench.go("one")
    bench.asked = 8
    bench.go("two")
    assert len(bench.of(Compacted)) > 1
    agent, history = bench.conversation.agent, bench.conversation.history
    body = json.decode(Assembler(wire).assemble(agent.spec.prefix, history.messages, agent.spec.params).request.body())
    said = body.get("messages") or body["input"]
    made, answered = ids(said, ("tool_calls", "tool_use", "function_call")), ids(said, ("tool", "tool_result"))
    answered += [item["call_id"] for item in said if item.get("type") == "function_call_output"]
    assert made == answered != []
    assert said[0 if "input" in body or wire.name == "anthropic" else 1]["role"] in ("user", "developer", "system")


def ids(said: list[dict[str, Any]], kinds: tuple[str, ...]) -> list[str]:
    """Of calls or of results, in order, wherever a wire puts them."""
    found: list[str] = []
    for item in said:
        found += [call["id"] for call in item.get("tool_calls") or () if "tool_calls" in kinds]
        if item.get("type") == "function_call" and "function_call" in kinds:
            found.append(item["call_id"])
        if item.get("role") == "tool" and "tool" in kinds:
            found.append(item["tool_call_id"])
        for block in item["content"] if isinstance(item.get("content"), list) else ():
            if block["type"] in kinds:
                found.append(block.get("id") or block["tool_use_id"])
    return found


def test_a_middle_that_is_hardly_anything_is_not_summarised_at_a_price(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=20_000, threshold=0.2, files=1, size=310)
    bench.asked = 100
    for number in range(4):
        bench.go(f"prompt {number}")
    bench.asked = 0
    bench.go("now read")
    assert bench.summaries() == []
    assert max(counts(bench)) > bench.budget.due_above
    assert len(bench.conversation.history.messages) == 4 * 2 + 1 + 2 + 1
