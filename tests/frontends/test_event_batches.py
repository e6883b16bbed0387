"""Bits of a stream on their way to the terminal: batcher for a moment, and in order with all else."""

import asyncio
from collections.abc import Iterator

import pytest

from overt.core.events import ReasoningStreamed, TextStreamed, ToolProgressed, TurnStarted
from overt.frontends.session_thread import BATCH_DELAY_S, MAX_BATCH_TEXT, EventBatcher, SessionItem
from overt.frontends.wakeup_queue import Wake


class StandingLoop(asyncio.SelectorEventLoop):
    """Its clock moves only when it is moved."""

    now = 100.0

    def time(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.run_until_complete(asyncio.sleep(0))


@pytest.fixture
def loop() -> Iterator[StandingLoop]:
    made = StandingLoop()
    yield made
    made.close()


@pytest.fixture
def wake() -> Iterator[Wake[SessionItem]]:
    made = Wake[SessionItem]()
    yield made
    made.close()


def text(said: str, agent: str = "main") -> TextStreamed:
    return TextStreamed(agent=agent, text=said)


def taken(wake: Wake[SessionItem]) -> list[SessionItem]:
    found = list(wake.items)
    wake.items.clear()
    return found


def test_the_first_bit_is_posted_at_once_and_the_next_ones_together_after_a_pause(
    loop: StandingLoop, wake: Wake[SessionItem]
) -> None:
    batcher = EventBatcher(loop, wake)
    batcher.post(text("a"))
    assert taken(wake) == [text("a")]

    batcher.post(text("b"))
    batcher.post(text("c"))
    assert taken(wake) == []
    loop.pass_by(BATCH_DELAY_S)
    assert taken(wake) == [text("bc")]

    loop.pass_by(BATCH_DELAY_S * 10)
    assert taken(wake) == []


def test_the_terminal_is_woken_once_for_many_bits(loop: StandingLoop, wake: Wake[SessionItem]) -> None:
    batcher = EventBatcher(loop, wake)
    for _ in range(100):
        batcher.post(text("x"))
    loop.pass_by(BATCH_DELAY_S)

    assert wake.drain() == b".."
    assert taken(wake) == [text("x"), text("x" * 99)]


def test_anything_else_is_posted_at_once_and_behind_what_came_before(
    loop: StandingLoop, wake: Wake[SessionItem]
) -> None:
    batcher = EventBatcher(loop, wake)
    batcher.post(text("a"))
    batcher.post(text("b"))
    batcher.post(TurnStarted(turn=2))
    assert taken(wake) == [text("a"), text("b"), TurnStarted(turn=2)]

    batcher.post(text("c"))
    batcher.post(None)
    assert taken(wake) == [text("c"), None]
    loop.pass_by(BATCH_DELAY_S * 2)
    assert taken(wake) == []


def test_only_neighbours_of_one_kind_and_one_agent_become_one(loop: StandingLoop, wake: Wake[SessionItem]) -> None:
    batcher = EventBatcher(loop, wake)
    batcher.post(text("-"))
    taken(wake)
    thought = ReasoningStreamed(text="t")
    progress = ToolProgressed(call_id="1", text="p")
    for bit in (text("a"), text("b"), thought, thought, text("c", "other"), text("d"), progress, progress, text("e")):
        batcher.post(bit)
    loop.pass_by(BATCH_DELAY_S)

    joined = ReasoningStreamed(text="tt")
    assert taken(wake) == [text("ab"), joined, text("c", "other"), text("d"), progress, progress, text("e")]


def test_a_long_bit_is_cut_so_that_keys_can_come_in_between(loop: StandingLoop, wake: Wake[SessionItem]) -> None:
    batcher = EventBatcher(loop, wake)
    batcher.post(text("a" * (MAX_BATCH_TEXT * 2 + 3)))
    assert taken(wake) == [text("a" * MAX_BATCH_TEXT), text("a" * MAX_BATCH_TEXT), text("aaa")]

    for said in ("b", "c" * (MAX_BATCH_TEXT - 1), "d", "e" * (MAX_BATCH_TEXT + 1), "f"):
        batcher.post(text(said))
    loop.pass_by(BATCH_DELAY_S)
    most = MAX_BATCH_TEXT
    assert taken(wake) == [text("b" + "c" * (most - 1)), text("d" + "e" * (most - 1)), text("eef")]
