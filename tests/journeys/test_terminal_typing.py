"""Typing in every script, through the whole program: what was typed stands there, and the cursor behind it."""

import random
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, messages, until
from tests.journeys.tty_kit import Tty, tty

from overt.lib.display_width import clusters, width

PIECES = [
    "a",
    "Z",
    " ",
    "é",
    "e\u0301",
    "中",
    "文字",
    "日本",
    "かな",
    "한",
    "👍",
    "👍🏽",
    "👩\u200d👩\u200d👧",
    "🇨🇳",
    "❤\ufe0f",
    "ｱ",
    "Å",
    "ก\u0e33",
    "नि",
]
"""What a key, an input method or a paste brings."""
LEFT, RIGHT, BACK, DELETE, HOME, LAST = "\x1b[D", "\x1b[C", "\x7f", "\x1b[3~", "\x01", "\x05"
MARK = 2


def ready(chat: Tty) -> None:
    chat.expect(lambda shown: "fake-model ·" in shown and "? help" in shown)


class Line:
    """What an editor of clusters would hold."""

    def __init__(self) -> None:
        self.before: list[str] = []
        self.after: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.before + self.after)

    @property
    def column(self) -> int:
        return MARK + width("".join(self.before))

    def put(self, text: str) -> None:
        before, after = "".join(self.before) + text, "".join(self.after)
        whole, self.before, self.after = clusters(before + after), [], []
        for piece in whole:
            # Two that were put beside each other may have become one, which the cursor stands behind.
            (self.before if len("".join(self.before)) < len(before) else self.after).append(piece)

    def press(self, key: str) -> None:
        if key == LEFT and self.before:
            self.after.insert(0, self.before.pop())
        elif key == RIGHT and self.after:
            self.before.append(self.after.pop(0))
        elif key == BACK and self.before:
            self.before.pop()
            self.put("")
        elif key == DELETE and self.after:
            self.after.pop(0)
            self.put("")
        elif key == HOME:
            self.before, self.after = [], self.before + self.after
        elif key == LAST:
            self.before, self.after = self.before + self.after, []


def shown(chat: Tty) -> tuple[str, int]:
    """The row of the composer, and the column of the cursor in it."""
    line, column = chat.paper.cursor
    screen = chat.paper.screen
    text = "".join(screen.buffer[line][x].data for x in range(screen.columns)).rstrip()
    return text, column


def stands(chat: Tty, line: Line, _screen: str) -> bool:
    text, column = shown(chat)
    return column == line.column and (text == f"› {line.text}".rstrip() or not line.text)


def edited(chat: Tty, seed: int, edits: int) -> Line:
    chance, line = random.Random(seed), Line()
    for _ in range(edits):
        if width(line.text) > 60:
            chat.type("\x15\x0b")
            line = Line()
        if chance.random() < 0.6:
            piece = chance.choice(PIECES)
            chat.type(piece)
            line.put(piece)
        else:
            key = chance.choice([LEFT, RIGHT, BACK, DELETE, HOME, LAST, LEFT, BACK])
            chat.type(key)
            line.press(key)
        chat.expect(partial(stands, chat, line))
    return line


def test_the_cursor_stands_behind_what_was_typed_in_two_hundred_edits(place: Place) -> None:
    with ModelServer([Turn(text="Read.")]) as server, tty(place, env=place.environment(server)) as chat:
        ready(chat)
        line = edited(chat, 3, 200)
        chat.type(LAST + "完\r")
        until(lambda: server.posts)
        assert messages(server)[-1]["content"] == line.text + "完"
        chat.expect("Read.")


def said(server: ModelServer) -> list[str]:
    return [each["content"] for each in messages(server) if each["role"] == "user"] if server.posts else []


@pytest.mark.parametrize("gap", [0.0, 0.02])
def test_keys_typed_before_and_while_the_program_starts_are_kept_in_order_and_enter_sends(
    place: Place, gap: float
) -> None:
    """What was typed while the shell still had the terminal has line feeds where Enter was pressed."""
    wanted = [f"第{number} prompt e\u0301 {number}" for number in range(12)]
    with (
        ModelServer([Turn(text="Read.")], after="repeat") as server,
        tty(place, env=place.environment(server), start=False) as chat,
    ):
        chat.type(f"{wanted[0]}x\x7f\r{wanted[1]}\r{wanted[2][:4]}")
        chat.start()
        chat.read(20)
        chat.type(f"{wanted[2][4:]}\r")
        for text in wanted[3:]:
            chat.read(gap)
            chat.type(f"{text}\r")
        chat.expect(lambda _shown: said(server) == wanted)
        chat.type("and a draft\nof two lines")
        chat.expect("of two lines")
        assert said(server) == wanted


def test_what_is_typed_for_the_program_that_comes_back_is_kept_too(place: Place) -> None:
    """After `fg`, before the terminal is ours again."""
    folder = Path(sys.executable).parent
    with ModelServer([Turn(text="Read.")], after="repeat") as server:
        env = place.environment(server)
        env |= {"PS1": "$ ", "PATH": f"{folder}:{env['PATH']}"}
        with tty(place, env=env, argv=["dash", "-i"]) as chat:
            chat.type("overt\r")
            ready(chat)
            chat.type("draft \x1a")
            chat.expect(lambda shown: shown.endswith("$"))
            chat.type("fg\rgoes on\r")
            chat.expect("Read.")
            assert said(server) == ["draft goes on"]


@pytest.mark.parametrize(("term", "asked"), [("linux", False), ("xterm-256color", True)])
def test_newer_forms_of_keys_are_asked_for_only_where_the_question_is_not_drawn(
    place: Place, term: str, asked: bool
) -> None:
    with ModelServer([]) as server, tty(place, env=place.environment(server, {"TERM": term})) as chat:
        ready(chat)
        assert (b"\x1b[>4;1m" in chat.raw) == asked


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_the_cursor_stands_behind_what_was_typed_in_thousands_of_edits(place: Place, seed: int) -> None:
    with ModelServer([]) as server, tty(place, env=place.environment(server), size=(80, 24)) as chat:
        ready(chat)
        edited(chat, 100 + seed, 1000)
