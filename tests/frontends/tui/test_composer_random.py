"""Random editing in every script: nothing is lost, the cursor is where it is drawn, and the screen shows it so."""

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.frontends.tui.screen_kit import on_paper

from overt.frontends.tui.composer.composer import Composer
from overt.frontends.tui.composer.folded_pastes import Folds
from overt.frontends.tui.composer.rows import Layout
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import columns, cut, plain
from overt.frontends.tui.terminal.rows import row as row_of
from overt.frontends.tui.terminal.screen import Frame
from overt.lib.display_width import clusters, width
from overt.lib.text import visible

WORDS = ["hello", " ", "  ", "world ", "\t", "a-b/c.py:12", "!", "\x1b[31m", "\x07", "\u200d", "\u0301", "\u3000"]
WORDS += ["中文", "测试，", "请修复。", "（）", "—", "𠀀", "ひらがな", "カタカナ", "한국어", "\u1112\u1161\u11ab"]
WORDS += ["é", "e\u0301", "ก็", "हिन्दी", "👍🏽", "👨‍👩‍👧", "🇨🇳", "🇩", "❤️", "1️⃣"]
MOVES = ["left", "right", "up", "down", "home", "end", "alt-b", "alt-f", "ctrl-home", "ctrl-end"]
CHANGES = ["backspace", "delete", "ctrl-w", "alt-d", "alt-backspace", "ctrl-k", "ctrl-u", "ctrl-y", "alt-y", "alt-t"]
CHANGES += ["ctrl-x ctrl-t", "shift-enter", "ctrl-_", "alt-_", "alt-u", "ctrl-s"]
LONG = "pasted\n" * 11
FLAGS = ("🇨🇳", "🇩")
"""The paper screen counts each half of a flag as two columns, terminals count one."""


class Editing(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.made = Composer(["an older one", "中文 的\n历史 👍🏽"])
        self.columns = 20

    def press(self, name: str, text: str = "") -> None:
        for each in name.split():
            self.made.press(Key(each, text))

    @rule(text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map("".join))
    def types(self, text: str) -> None:
        before, at = self.made.now
        self.press("text", text)
        assert self.made.now.text == before[:at] + text + before[at:]

    @rule(name=st.sampled_from(MOVES))
    def moves(self, name: str) -> None:
        before = self.made.now.text
        self.press(name)
        assert name in ("up", "down") or self.made.now.text == before

    @rule(name=st.sampled_from(CHANGES))
    def changes(self, name: str) -> None:
        self.press(name)

    @rule(name=st.sampled_from(["backspace", "delete"]))
    def deletes_one_cluster(self, name: str) -> None:
        before, at = self.made.now
        self.press(name)
        now = self.made.now
        gone = len(before) - len(now.text)
        start = at - gone if name == "backspace" else at
        assert now.text == before[:start] + before[start + gone :]

    @rule()
    def pastes(self) -> None:
        before = self.made.text
        self.press("paste", LONG)
        assert len(self.made.text) == len(before) + len(LONG)

    @rule(columns=st.integers(6, 60))
    def resizes(self, columns: int) -> None:
        self.columns = columns

    @rule()
    def takes_back(self) -> None:
        """Undo after a change is where it was."""
        before = self.made.now
        self.press("paste", "x")
        self.press("ctrl-_")
        assert self.made.now == before

    @invariant()
    def the_cursor_stands_between_clusters(self) -> None:
        text, at = self.made.now
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        places = {start}
        place = start
        for part in _between_folds(text[start : end if end >= 0 else len(text)]):
            for piece in clusters(part):
                place += len(piece)
                places.add(place)
        assert at in places

    @invariant()
    def rows_hold_the_whole_text_and_the_cursor_is_as_far_right_as_the_text_before_it(self) -> None:
        text, at = self.made.now
        rows, cursor = self.made.draw(self.columns, 1000)
        layout = self.made._drawing._layout
        skip = int(text.startswith("!"))
        stretches = layout.rows(text, max(self.columns - 3, 2), skip)
        assert stretches == Layout(self.made._folds).rows(text, max(self.columns - 3, 2), skip)
        ends = [stretch.end for stretch in stretches]
        starts = [stretch.start for stretch in stretches]
        assert [start - end for start, end in zip(starts[1:], ends, strict=False)] == [
            int(text[end : end + 1] == "\n" and start > end) for start, end in zip(starts[1:], ends, strict=False)
        ]
        assert (starts[0], ends[-1]) == (skip if text else 0, len(text))
        if not text:
            return
        # Only a single cluster can be wider than the narrowest row; what sticks out is cut.
        whole = [_drawn(self.made, text[start:end]).rstrip(" ") for start, end in stretches]
        assert [plain(row)[2:] for row in rows] == [plain(cut(row_of(each), self.columns - 2)) for each in whole]
        here = stretches[cursor[0]]
        before = _drawn(self.made, text[here.start : at])
        assert cursor[1] == (min(2 + width(before), self.columns - 1) if at >= skip else 0)

    @invariant()
    def no_row_is_wider_than_the_screen(self) -> None:
        rows, cursor = self.made.draw(self.columns, 7)
        assert max(columns(row) for row in rows) <= self.columns
        assert 0 <= cursor[0] < len(rows) <= 7


def _between_folds(line: str) -> list[str]:
    parts, held = [], ""
    for char in line:
        if char >= "\U0010f000":
            parts += [held, char]
            held = ""
        else:
            held += char
    return [part for part in [*parts, held] if part]


def _drawn(made: Composer, text: str) -> str:
    shown = []
    for part in _between_folds(text):
        if part >= "\U0010f000":
            shown.append(made._drawing._layout.shown(part))
        else:
            shown.append(visible(part).replace("\t", "    "))
    return "".join(shown)


Editing.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestEditing = Editing.TestCase


def test_after_each_of_500_random_edits_the_screen_shows_the_rows_and_its_cursor_stands_at_our_column() -> None:
    dice = random.Random(6)
    terminal, paper = on_paper(30, 12)
    made = Composer(["an older prompt", "早先的 prompt 👍🏽\n第二行", "カタカナ " * 20])
    keys = [*MOVES, *(name for name in CHANGES if " " not in name)]
    words = [word for word in WORDS if word not in FLAGS]
    wide = 0
    for _ in range(500):
        lot = dice.random()
        if lot < 0.55:
            made.press(Key("text", dice.choice(words)))
        elif lot < 0.58:
            made.press(Key("paste", LONG))
        else:
            made.press(Key(dice.choice(keys)))
        rows, cursor = made.draw(30, 8)
        terminal.show(Frame(rows, cursor))
        expected = [plain(row).rstrip() for row in rows]
        while expected and not expected[-1]:
            expected.pop()
        assert paper.display() == expected
        assert paper.cursor == cursor
        wide += cursor[1] != 2
    assert wide > 250


def test_a_layout_that_remembers_is_the_same_as_a_fresh_one_in_long_lines() -> None:
    dice = random.Random(7)
    layout = Layout(Folds())
    text = "请修复 the tests 並びに 문서 "
    for _ in range(300):
        at = dice.randrange(len(text) + 1)
        if dice.random() < 0.6 or len(text) < 300:
            text = text[:at] + dice.choice(WORDS) * dice.randrange(1, 4) + text[at:]
        else:
            text = text[:at] + text[at + dice.randrange(40) :]
        room = dice.choice((17, 17, 17, 18))
        assert layout.rows(text, room) == Layout(Folds()).rows(text, room)
