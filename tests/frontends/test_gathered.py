"""Bits of a stream on their way to the terminal: gathered for a moment, and in order with all else."""

import asyncio
from collections.abc import Iterator

import pytest

from overt.core.events import ReasoningStreamed, TextStreamed, ToolProgressed, TurnStarted
from overt.frontends.engine import MOST, PAUSE, Gathered, Posted
from overt.frontends.wake import Wake


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
def wake() -> Iterator[Wake[Posted]]:
    made = Wake[Posted]()
    yield made
    made.close()


def text(said: str, agent: str = "main") -> TextStreamed:
    return TextStreamed(agent=agent, text=said)


def taken(wake: Wake[Posted]) -> list[Posted]:
    found = list(wake.items)
    wake.items.clear()
    return found


def test_the_first_bit_is_posted_at_once_and_the_next_ones_together_after_a_pause(
    loop: StandingLoop, wake: Wake[Posted]
) -> None:
    gathered = Gathered(loop, wake)
    gathered.post(text("a"))
    assert taken(wake) == [text("a")]

    gathered.post(text("b"))
    gathered.post(text("c"))
    assert taken(wake) == []
    loop.pass_by(PAUSE)
    assert taken(wake) == [text("bc")]

    loop.pass_by(PAUSE * 10)
    assert taken(wake) == []


def test_the_terminal_is_woken_once_for_many_bits(loop: StandingLoop, wake: Wake[Posted]) -> None:
    gathered = Gathered(loop, wake)
    for _ in range(100):
        gathered.post(text("x"))
    loop.pass_by(PAUSE)

    assert wake.heard() == b".."
    assert taken(wake) == [text("x"), text("x" * 99)]


def test_anything_else_is_posted_at_once_and_behind_what_came_before(loop: StandingLoop, wake: Wake[Posted]) -> None:
    gathered = Gathered(loop, wake)
    gathered.post(text("a"))
    gathered.post(text("b"))
    gathered.post(TurnStarted(turn=2))
    assert taken(wake) == [text("a"), text("b"), TurnStarted(turn=2)]

    gathered.post(text("c"))
    gathered.post(None)
    assert taken(wake) == [text("c"), None]
    loop.pass_by(PAUSE * 2)
    assert taken(wake) == []


def test_only_neighbours_of_one_kind_and_one_agent_become_one(loop: StandingLoop, wake: Wake[Posted]) -> None:
    gathered = Gathered(loop, wake)
    gathered.post(text("-"))
    taken(wake)
    thought = ReasoningStreamed(text="t")
    progress = ToolProgressed(call_id="1", text="p")
    for bit in (text("a"), text("b"), thought, thought, text("c", "other"), text("d"), progress, progress, text("e")):
        gathered.post(bit)
    loop.pass_by(PAUSE)

    joined = ReasoningStreamed(text="tt")
    assert taken(wake) == [text("ab"), joined, text("c", "other"), text("d"), progress, progress, text("e")]


def test_a_long_bit_is_cut_so_that_keys_can_come_in_between(loop: StandingLoop, wake: Wake[Posted]) -> None:
    gathered = Gathered(loop, wake)
    gathered.post(text("a" * (MOST * 2 + 3)))
    assert taken(wake) == [text("a" * MOST), text("a" * MOST), text("aaa")]

    for said in ("b", "c" * (MOST - 1), "d", "e" * (MOST + 1), "f"):
        gathered.post(text(said))
    loop.pass_by(PAUSE)
    assert taken(wake) == [text("b" + "c" * (MOST - 1)), text("d"), text("e" * MOST), text("ef")]
