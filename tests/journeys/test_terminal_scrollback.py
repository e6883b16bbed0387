"""What is finished stands in the terminal's own scrollback, once and in order, whatever is resized or opened."""

import random
import re
import termios
import time
from collections.abc import Iterator

import pytest
from tests.fakes.model_server import FakeCall, Fault, ModelServer, Turn
from tests.journeys.journey_kit import Place, until
from tests.journeys.pane_kit import Pane, needs_tmux, overt, pane
from tests.journeys.tty_kit import tty

TOKEN = re.compile(r"m(\d+);")
INSPECTORS = ("help", "context", "models", "permissions", "todo", "jobs", "diff", "rewind", "resume")
ANYTIME = ("help", "context", "models", "permissions", "todo", "jobs", "diff")
"""Those that open beside a turn."""
CTRL_O, CTRL_T = "C-o", "C-t"
INSIDE = ("PgDn", "Ctrl+L", "tool:bash")
"""Words that only inspectors show."""


class Marks:
    """Every word of its own, `m17;`, so that each can be found again, and how often."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, words: int = 1) -> str:
        self.count += words
        return " ".join(f"m{number};" for number in range(self.count - words, self.count))

    def answer(self, blocks: int) -> str:
        """Everything an answer is made of, in more than one script."""
        made = []
        for number in range(blocks):
            made += [
                f"## 标题 {self()}",
                f"Words **{self()}** and `{self()}` 中文 {self(30)} end.",
                f"- one {self()}\n- two {self(12)}\n    1. deep 深 {self()}\n    2. deeper {self()}",
                f"> said {self(9)}",
                f"| a | 值 |\n|---|---:|\n| {self()} | {self()} |\n| {self()} | 表 {self()} |",
                "```python\n" + "\n".join(f"x{line} = 'm' # {self()}" for line in range(6)) + "\n```",
            ]
            if number % 2:
                made.append("---")
        return "\n\n".join([*made, f"Last {self()}"])


def script(marks: Marks, blocks: int, delay: float) -> Iterator[Turn]:
    """The order in which things come to their end: the answer before the calls behind it, a prompt before both."""
    prompt = marks()
    assert prompt == "m0;"
    read = FakeCall(name="read", arguments={"path": "calc.py"})
    yield Turn(text=marks.answer(blocks), reasoning="thought " * 30, calls=(read,), chunk=9, delay=delay)
    yield Turn(text=marks.answer(1), calls=(read,), chunk=9, delay=delay)
    old, new = "m" * 3, marks()
    edit = FakeCall(name="edit", arguments={"path": "calc.py", "old_string": old, "new_string": new})
    yield Turn(calls=(edit,))
    yield Turn(
        calls=(FakeCall(name="bash", arguments={"command": f"touch made; printf 'ran %s\\n' 'm'{marks()[1:-1]}';'"}),)
    )
    yield Turn(text=marks.answer(blocks), chunk=9, delay=delay)


def finished(shown: str) -> list[int]:
    """tmux itself forgets here and there that a line goes on in the next one: what counts is the text."""
    text = "".join(line.rstrip() for line in shown.split("\n")).replace(" ", "")
    return [int(found) for found in TOKEN.findall(text)]


def resized(chat: Pane, chance: random.Random, times: int, pause: float) -> None:
    for _ in range(times):
        chat.resize(chance.randrange(24, 140), chance.randrange(5, 50))
        time.sleep(pause)


def alternate(chat: Pane, *, on: bool) -> None:
    until(lambda: chat.told("#{alternate_on}") == str(int(on)))


def answered(chat: Pane, question: str) -> None:
    """A key is no answer before anybody can have read the question."""
    chat.expect(question)
    time.sleep(0.4)
    chat.press("y")


def inspected(chat: Pane, chance: random.Random, names: tuple[str, ...], *, size: bool) -> None:
    for name in names:
        if name.startswith("C-"):
            chat.press(name)
        else:
            chat.type(f"/{name}")
            chat.press("Enter")
        alternate(chat, on=True)
        if size:
            resized(chat, chance, 2, 0.05)
        chat.press("q")
        alternate(chat, on=False)


def played(place: Place, seed: int, pause: float) -> None:
    chance, marks = random.Random(seed), Marks()
    (place.work / "calc.py").write_text("x = 'mmm'\n")
    place.distrust()
    turns = list(script(marks, blocks=2, delay=0.002))
    with ModelServer(turns) as server, pane(place, overt(), env=place.environment(server), size=(100, 30)) as chat:
        chat.expect("fake-model")
        chat.type("go m0; now")
        chat.press("Enter")
        until(lambda: server.posts)
        resized(chat, chance, 25, pause)
        chat.resize(100, 40)
        chat.expect("\nEdit calc.py?")
        resized(chat, chance, 3, pause)
        chat.resize(90, 40)
        answered(chat, "\nEdit calc.py?")
        answered(chat, "Allow bash?")
        until(lambda: len(server.posts) == len(turns))
        inspected(chat, chance, (CTRL_O, CTRL_T, *ANYTIME), size=True)
        resized(chat, chance, 22, pause)
        chat.resize(120, 40)
        chat.expect("? help")
        inspected(chat, chance, (CTRL_O, CTRL_T, *INSPECTORS), size=True)
        inspected(chat, chance, INSPECTORS, size=False)
        chat.resize(100, 30)
        chat.expect("? help")
        chat.press("C-d")
        chat.expect("LEFT WITH 0")
        shown = chat.scrollback()
    assert finished(shown) == list(range(marks.count))
    assert [word for word in INSIDE if word in shown] == []


@needs_tmux
def test_every_finished_block_is_there_once_after_fifty_resizes_and_every_inspector(place: Place) -> None:
    played(place, 1, 0.03)


@needs_tmux
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_every_finished_block_is_there_once_whatever_the_sizes(place: Place, seed: int) -> None:
    played(place, 100 + seed, (0.01, 0.05, 0.15, 0.3)[seed % 4])


def stormed(place: Place, seconds: float) -> None:
    """At an empty line, in an answer and in an inspector; between two sizes nothing is waited for."""
    chance = random.Random(5)
    long = Turn(text="word " * 2000, chunk=5, delay=0.002, fault=Fault(stall_after=1900))
    with (
        ModelServer([Turn(text="First."), long, Turn(text="Third.")]) as server,
        tty(place, env=place.environment(server)) as chat,
    ):
        chat.expect("? help")
        for keys, back, seen in (("", "one\r", "First."), ("two\r", "\x1b", "Interrupted"), ("?", "three\r", "Third.")):
            chat.type(keys)
            count = int(seconds * 200)
            began = time.monotonic()
            for number in range(count):
                termios.tcsetwinsize(chat.master, (chance.randrange(1, 60), chance.randrange(1, 200)))
                chat.read(0)
                time.sleep(max(began + number / 200 - time.monotonic(), 0))
            chat.resize(80, 24)
            chat.type("q" if keys == "?" else "\x0c")
            chat.idle()
            chat.type(back)
            chat.expect(seen)
        chat.type("\x04")
        assert chat.wait() == 0
        chat.assert_as_found()


def test_two_hundred_sizes_a_second_do_not_keep_anybody_from_working(place: Place) -> None:
    stormed(place, 0.7)


@pytest.mark.soak
def test_two_hundred_sizes_a_second_for_a_minute(place: Place) -> None:
    stormed(place, 20)
