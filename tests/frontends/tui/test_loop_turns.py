"""One turn of the loop after another: what was typed is never kept waiting by what was posted."""

import os
from collections.abc import Iterator

import pytest

from overt.core.events import Noticed
from overt.frontends.session_thread import SessionItem
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.loop import SPELL, Callback, Item, Loop
from overt.frontends.wakeup_queue import Wake


class Typewriter:
    """A terminal that has a key to read each time it is asked, and no more when there are none left."""

    wait = None

    def __init__(self, log: list[str], typed: str) -> None:
        self._log, self._typed = log, list(typed)

    def enter(self) -> None:
        self._log.append("enter")

    def leave(self) -> None:
        self._log.append("leave")

    def read(self) -> bytes:
        return self._typed.pop(0).encode() if self._typed else b""


class Reader:
    """Takes so long for each item; over with the last one."""

    def __init__(self, log: list[str], items: int, each: float) -> None:
        self.over = False
        self.now = 10.0
        self._log, self._left, self._each = log, items, each

    def clock(self) -> float:
        return self.now

    def key(self, key: Key) -> None:
        self._log.append(f"key {key.text}")

    def item(self, item: SessionItem | Callback) -> None:
        assert isinstance(item, Noticed)
        self._log.append(f"item {item.text}")
        self.now += self._each
        self._left -= 1
        self.over = not self._left

    def tick(self, now: float) -> None:
        raise AssertionError

    def due(self, now: float) -> float | None:
        return None

    def paint(self) -> None:
        self._log.append("paint")

    def resized(self) -> None:
        raise AssertionError


@pytest.fixture
def wake() -> Iterator[Wake[Item]]:
    made = Wake[Item]()
    yield made
    made.close()


@pytest.fixture
def stdin() -> Iterator[None]:
    """The loop listens to the standard input: something is always there to read."""
    before = os.dup(0)
    read, write = os.pipe()
    os.write(write, b"x")
    os.dup2(read, 0)
    yield
    os.dup2(before, 0)
    for number in (before, read, write):
        os.close(number)


def played(wake: Wake[Item], typed: str, each: float) -> list[str]:
    log: list[str] = []
    wake.post(*(Noticed(text=text) for text in "123"))
    reader = Reader(log, 3, each)
    Loop(Typewriter(log, typed), wake, reader.clock).run(reader, lambda: None)  # type: ignore[arg-type]
    return log


@pytest.mark.usefixtures("stdin")
def test_a_key_comes_between_two_items_that_take_long(wake: Wake[Item]) -> None:
    log = played(wake, "abc", SPELL * 2)

    assert [entry for entry in log if entry != "paint"] == [
        "enter", "key a", "item 1", "key b", "item 2", "key c", "item 3", "leave",
    ]  # fmt: skip


@pytest.mark.usefixtures("stdin")
def test_a_key_is_painted_before_anything_else_is_done(wake: Wake[Item]) -> None:
    assert played(wake, "a", 0.0) == ["enter", "paint", "key a", "paint", "item 1", "item 2", "item 3", "leave"]
