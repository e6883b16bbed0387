"""Choosing from a list: the cursor, the filter, the preview, and what of it fits on a screen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.tui.panel_kit import key, numbered, text_of

from overt.frontends.tui.panels.cells import Column, lay_out_cells, widths
from overt.frontends.tui.panels.pager import Screenful, Scroll
from overt.frontends.tui.panels.picker import Picker
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Span, columns, plain


def picker(items: list[str], *, typed: bool = True, preview: bool = False) -> Picker[str]:
    made: Picker[str] = Picker("jobs", [Column(rest=True)], lambda text: [Span(text)], str, typed=typed)
    made.preview = Scroll() if preview else None
    made.set(items)
    return made


def drawn(made: Picker[str], width: int = 40, lines: int = 12) -> Screenful:
    return made.draw(width, lines, note="", empty="nothing there")


def did(made: Picker[str], *words: str) -> list[str]:
    return [made.press(key(word)) for word in words]


FRUIT = ["apple", "banana", "Blueberry", "quince", "苹果"]


def test_the_cursor_moves_and_stops_at_both_ends() -> None:
    made = picker(FRUIT)
    assert did(made, "up", "down", "down", "end", "down", "home") == [
        "used",
        "moved",
        "moved",
        "moved",
        "used",
        "moved",
    ]
    assert made.current == "apple"


def test_typing_narrows_the_list_and_keeps_the_cursor_where_it_can() -> None:
    made = picker(FRUIT)
    did(made, "down", "down")
    found = []
    for word in ("b", "e", "x", "backspace", "ctrl-u"):
        made.press(key(word))
        found.append((text_of(drawn(made))[1:3], made.current))
    assert found == [
        (["  banana", "› Blueberry"], "Blueberry"),
        (["› Blueberry", ""], "Blueberry"),
        (["nothing matches; Backspace widens the f…", ""], None),
        (["› Blueberry", ""], "Blueberry"),
        (["  apple", "  banana"], "Blueberry"),
    ]


def test_words_of_a_filter_stand_in_any_order_and_case() -> None:
    made = picker(["fix the Login page", "page numbers", "login"])
    made.press(Key("text", "PAGE log"))
    assert made.current == "fix the Login page"
    assert text_of(drawn(made))[0] == "Jobs  /PAGE log"


def test_the_cursor_of_the_terminal_stands_behind_the_filter() -> None:
    made = picker(FRUIT)
    assert drawn(made).cursor is None
    made.press(Key("text", "苹"))
    assert drawn(made).cursor == (0, len("Jobs  /") + 2)


@pytest.mark.parametrize(
    ("typed", "words", "last"),
    [
        (True, ["q"], "close"),
        (True, ["b", "q"], "moved"),
        (True, ["b", "esc"], "close"),
        (False, ["q"], "close"),
        (False, ["/", "q"], "moved"),
        (False, ["/", "b", "esc"], "moved"),
        (False, ["/", "b", "esc", "esc"], "close"),
        (False, ["/", "b", "enter"], "used"),
        (False, ["/", "b", "enter", "enter"], "chose"),
        (False, ["x"], ""),
        (False, ["j"], "moved"),
        (True, ["j"], "moved"),
        (True, ["zzz", "enter"], "used"),
        (True, ["enter"], "chose"),
    ],
)
def test_what_a_key_means_depends_on_whether_letters_filter(typed: bool, words: list[str], last: str) -> None:
    assert did(picker(FRUIT, typed=typed), *words)[-1] == last


def test_other_items_leave_the_cursor_on_the_same_one() -> None:
    made = picker(FRUIT)
    did(made, "down", "down")
    made.set(["new", *FRUIT])
    assert made.current == "Blueberry"
    made.set(["new"])
    assert made.current == "new"
    made.set([])
    assert [made.current, text_of(drawn(made))[1]] == [None, "nothing there"]


def test_a_long_list_scrolls_with_the_cursor() -> None:
    made = picker([str(number) for number in range(1000)])
    for word in ("end", "up", "up"):
        made.press(key(word))
        shown = text_of(drawn(made))
    assert (shown[1], shown[-4:-1]) == ("  990", ["› 997", "  998", "  999"])
    did(made, *["up"] * 10)
    assert text_of(drawn(made))[1:3] == ["› 987", "  988"]


@pytest.mark.parametrize(
    ("lines", "click", "told"),
    [
        (12, "click 2 5", ("moved", "banana")),
        (12, "click 1 0", ("chose", "apple")),
        (12, "click 0 5", ("used", "apple")),
        (12, "click 9 5", ("used", "apple")),
        (16, "click 3 5", ("moved", "banana")),
        (12, "click 2 60", ("used", "apple")),
        (12, "click", ("", "apple")),
    ],
)
def test_a_click_goes_to_an_item_and_a_second_one_chooses_it(lines: int, click: str, told: tuple[str, str]) -> None:
    made = picker(FRUIT, preview=True)
    drawn(made, 100, lines)
    assert (made.press(Key("mouse", click)), made.current) == told


def test_only_what_is_on_the_screen_is_drawn() -> None:
    asked: list[str] = []

    def cells(text: str) -> list[Span]:
        asked.append(text)
        return [Span(text)]

    made: Picker[str] = Picker("jobs", [Column(rest=True)], cells, str, typed=True)
    made.set([str(number) for number in range(100_000)])
    asked.clear()
    drawn(made)
    assert len(asked) == 10


@pytest.mark.parametrize(
    ("width", "lines", "both"), [(100, 12, True), (99, 24, True), (99, 19, False), (40, 12, False), (160, 50, True)]
)
def test_a_preview_stands_beside_or_below_and_where_there_is_no_room_behind_tab(
    width: int, lines: int, both: bool
) -> None:
    made = picker(FRUIT, preview=True)
    assert made.preview is not None
    made.preview.set(numbered(40, "preview"))
    shown = "\n".join(text_of(drawn(made, width, lines)))
    assert ("apple" in shown, "preview 1" in shown) == (True, both)
    made.press(Key("tab"))
    shown = "\n".join(text_of(drawn(made, width, lines)))
    assert ("apple" in shown, "preview 1" in shown) == (both, True)
    assert did(made, "down", "q", "q") == ["used", "used", "close"]
    assert made.current == "apple"


def test_what_is_chosen_is_seen_without_colours_too() -> None:
    first, second = drawn(picker(["one", "two"])).rows[1:3]
    assert (first, second) == ((Span("› ", "accent"), Span("one", "selected")), (Span("  "), Span("two")))


@given(st.lists(st.text(max_size=20), max_size=8), st.integers(8, 130), st.integers(4, 40), st.booleans())
@settings(max_examples=120, deadline=None)
def test_a_list_fits_every_screen(items: list[str], width: int, lines: int, reading: bool) -> None:
    shown = [item.encode("unicode_escape").decode() + "世界" for item in items]
    made = picker(shown, preview=True)
    assert made.preview is not None
    made.preview.set(numbered(9, "预览"))
    made.reading = reading
    for word in ("down", "a", "end"):
        made.press(key(word))
        rows = drawn(made, width, lines).rows
        assert len(rows) == lines
        assert max(columns(row) for row in rows) <= width


def test_columns_are_as_wide_as_what_is_in_them_and_the_least_needed_go_first() -> None:
    spec = (Column(most=6), Column(rest=True), Column(most=5, right=True, least=20))
    rows = [("a", "世界 and more", "12"), ("bcdefghi", "x", "3")]
    wanted = widths(rows, spec)
    lines = {
        room: [plain(lay_out_cells([Span(text) for text in row], wanted, spec, room)) for row in rows]
        for room in (40, 22, 15)
    }
    assert lines == {
        40: ["a       世界 and more  12", "bcdef…  x               3"],
        22: ["a       世界 and …  12", "bcdef…  x            3"],
        15: ["a       世界 a…", "bcdef…  x"],
    }
