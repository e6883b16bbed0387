"""Reading a long text: where one is, what a key does to it, what is found, and what a resize leaves alone."""

from collections import UserList
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.frontends.tui.panel_kit import EVIL, body, numbered, press, text_of

from overt.frontends.tui.panels.pager import CLOSE, InputLine, Pager, Scroll, hints, text_rows
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span, columns, plain
from overt.frontends.tui.terminal.verbatim_text import chop
from overt.lib.text import visible

WORDS = st.text(alphabet="ab 世界e\u0301👩‍👩‍👧", max_size=60)


def seen(scroll: Scroll, width: int = 80, height: int = 5) -> list[str]:
    return [plain(row) for row in scroll.draw(width, height)]


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        ("down", 2),
        ("j j j", 4),
        ("jjj", 4),
        ("down up up", 1),
        ("pagedown", 5),
        ("space", 5),
        ("pagedown b", 1),
        ("ctrl-d", 3),
        ("end", 96),
        ("G", 96),
        ("G g", 1),
        ("end down pagedown", 96),
        ("end k", 95),
        ("end home", 1),
        ("enter", 2),
    ],
)
def test_keys_move_through_a_text_and_stop_at_its_ends(keys: str, first: int) -> None:
    pager = Pager("title", numbered(100))
    pager.draw(80, 7)
    for word in keys.split():
        press(pager, " " if word == "space" else word)
        pager.draw(80, 7)
    assert text_of(pager.draw(80, 7))[1:6] == [f"line {number}" for number in range(first, first + 5)]


def test_the_wheel_scrolls() -> None:
    pager = Pager("title", numbered(100))
    pager.draw(80, 7)
    for text in ("scroll-down", "scroll-down", "scroll-up", "click 3 4"):
        pager.press(Key("mouse", text))
    assert text_of(pager.draw(80, 7))[1] == "line 4"


@pytest.mark.parametrize("word", ["q", "esc", "ctrl-c"])
def test_a_pager_is_left(word: str) -> None:
    assert press(Pager("title", numbered(3)), word) == [CLOSE]


def test_a_screen_has_a_head_a_body_and_keys() -> None:
    assert text_of(Pager("Title", numbered(100), note="a note").draw(60, 6)) == [
        "Title  a note",
        "line 1",
        "line 2",
        "line 3",
        "line 4",
        "4/100  ↑↓ PgUp PgDn scroll · / search · n N next · q close",
    ]


def test_of_the_keys_the_one_that_leads_back_is_never_cut() -> None:
    told = "Enter open · r whole request · / filter · q close"
    assert [plain(hints(told, room)) for room in (80, 40, 30, 12)] == [
        told,
        "Enter open · r whole request · q close",
        "Enter open · q close",
        "q close",
    ]


def test_searching_goes_from_hit_to_hit_and_around_the_end() -> None:
    rows: list[Row] = [*numbered(20), (Span("the Needle"),), *numbered(20), (Span("a needle"),), *numbered(20)]
    pager = Pager("title", rows)
    pager.draw(80, 7)
    firsts = []
    for word in ("/", "needle", "enter", "n", "n", "N"):
        press(pager, word)
        firsts.append(text_of(pager.draw(80, 7))[1])
    assert firsts == ["line 1", "line 1", "the Needle", "a needle", "the Needle", "a needle"]


def test_a_capital_letter_counts_when_it_is_typed() -> None:
    scroll = Scroll([(Span("needle"),), (Span("Needle"),), *numbered(9)])
    seen(scroll)
    assert scroll.search("Needle")
    assert seen(scroll)[0] == "Needle"


def test_what_was_found_is_marked_and_what_was_not_is_said() -> None:
    pager = Pager("title", [(Span("a nee", "bold"), Span("dle in hay"))])
    press(pager, "/", "needle", "enter")
    drawn = pager.draw(80, 5)
    assert drawn.rows[1] == (
        Span("a ", "bold"),
        Span("nee", "bold reverse"),
        Span("dle", "reverse"),
        Span(" in hay"),
    )
    press(pager, "/", "x(", "enter")
    assert text_of(pager.draw(80, 5))[-1] == "nothing found: x("


def test_what_is_typed_to_search_stands_at_the_bottom_with_the_cursor_behind_it() -> None:
    pager = Pager("title", numbered(50))
    press(pager, "/", "世界", "q", "backspace")
    drawn = pager.draw(40, 8)
    assert (text_of(drawn)[-1], drawn.cursor) == ("/世界", (7, 5))
    assert press(pager, "esc") == []
    assert pager.draw(40, 8).cursor is None


def test_another_width_keeps_the_line_that_is_read() -> None:
    rows: list[Row] = [(Span(f"{number} " + "word " * 30),) for number in range(100)]
    scroll = Scroll(rows)
    seen(scroll, 80, 10)
    assert scroll.search("30 word")
    sizes = ((80, 10), (40, 10), (200, 50), (17, 3), (80, 10))
    assert [seen(scroll, width, height)[0].split()[0] for width, height in sizes] == ["30"] * 5


def test_a_text_read_at_its_end_is_followed_as_it_grows_and_one_read_above_stays() -> None:
    scroll = Scroll(numbered(50), end=True)
    assert seen(scroll)[-1] == "line 50"
    scroll.set(numbered(60))
    assert seen(scroll)[-1] == "line 60"
    scroll.press("up")
    scroll.set(numbered(80))
    assert seen(scroll)[-1] == "line 59"
    scroll.press("end")
    scroll.set(numbered(90))
    assert seen(scroll)[-1] == "line 90"


def test_rows_made_for_a_width_are_made_again_for_another() -> None:
    asked: list[int] = []

    def lay(width: int) -> list[Row]:
        asked.append(width)
        return numbered(100, f"at {width}:")

    scroll = Scroll(lay, end=True)
    assert (seen(scroll, 80)[-1], seen(scroll, 80)[-1], seen(scroll, 40)[-1]) == (
        "at 80: 100",
        "at 80: 100",
        "at 40: 100",
    )
    assert asked == [80, 40]


def test_a_text_of_megabytes_is_laid_out_only_where_it_is_read() -> None:
    class Counting(UserList[Row]):
        read = 0

        def __getitem__(self, at: Any) -> Any:
            Counting.read += 1
            return super().__getitem__(at)

    scroll = Scroll(Counting(numbered(100_000)))
    seen(scroll)
    scroll.press("end")
    assert seen(scroll)[-1] == "line 100000"
    assert Counting.read < 100


def test_a_line_that_never_ends_is_shown_whole() -> None:
    line = "x" * 100_000 + "世" * 3
    rows = Scroll([(Span(line),)]).draw(80, 2000)
    assert "".join(plain(row) for row in rows) == line
    assert max(columns(row) for row in rows) == 80


@given(
    st.lists(WORDS, max_size=12),
    st.integers(4, 50),
    st.integers(1, 12),
    st.lists(st.sampled_from("jkgGbn "), max_size=8),
)
@settings(max_examples=150, deadline=None)
def test_no_row_is_wider_or_more_than_the_screen(texts: list[str], width: int, height: int, keys: list[str]) -> None:
    pager = Pager("标题 title", [row for text in texts for row in text_rows(text)])
    for word in ["/", "a", "enter", *keys]:
        press(pager, word)
        drawn = pager.draw(width, height + 2)
        assert len(drawn.rows) == height + 2
        assert max(columns(row) for row in drawn.rows) <= width


@given(WORDS, st.integers(2, 30))
@example("👩‍👩‍👧a", 2)
def test_breaking_a_line_at_the_edge_loses_no_character_but_spaces_at_its_end(text: str, width: int) -> None:
    assert "".join(plain(row) for row in chop(text_rows(text)[0], width)) == visible(text).rstrip(" ")


def test_nothing_of_a_text_can_drive_a_terminal() -> None:
    shown = body(Pager("title", text_rows(f"one{EVIL}\ttwo\n\nthree")))
    assert shown[1:3] == [r"one\x1b]0;owned\x07\x1b[2J<U+202E>\x9b31m    two", "three"]


def test_a_typed_line_is_edited_by_what_a_person_takes_for_a_character() -> None:
    typing = InputLine()
    told = []
    for each in (
        Key("text", "ab 世"),
        Key("paste", "e\u0301\nx"),
        Key("backspace"),
        Key("backspace"),
        Key("backspace"),
    ):
        typing.press(each)
        told.append(typing.text)
    assert told == ["ab 世", "ab 世e\u0301 x", "ab 世e\u0301 ", "ab 世e\u0301", "ab 世"]
    assert (typing.press(Key("ctrl-w")), typing.text) == (True, "ab ")
    assert (typing.press(Key("ctrl-u")), typing.text, typing.press(Key("ctrl-u"))) == (True, "", False)
