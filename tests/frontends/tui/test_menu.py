"""The menu below the composer: keys, what is drawn of it, and at which widths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.app.completion.choices import Choice, Completion
from overt.frontends.tui.composer.menu import STEPS, Menu
from overt.frontends.tui.terminal.rows import Row, Span, columns, plain

FEW = (
    Choice("/mode", "/mode", "how calls are judged"),
    Choice("/model", "/model", "another model"),
    Choice("/x", "/x"),
)


def menu(*choices: Choice, selected: int = 0, more: int = 0) -> Menu:
    return Menu(Completion("command", 0, 1, choices=choices or FEW, selected=selected, more=more))


def many(count: int, **rest: int) -> Menu:
    return menu(*(Choice(f"f{number}", f"f{number}") for number in range(count)), **rest)


def texts(rows: list[Row]) -> list[str]:
    return [plain(row) for row in rows]


def test_up_and_down_go_round_and_pages_stop_at_the_ends() -> None:
    shown = many(20)
    places = [shown.at]
    for key in ("down", "ctrl-n", "up", "ctrl-p", "up", "down", "pagedown", "pagedown", "pagedown", "pageup"):
        assert shown.move(key)
        places.append(shown.at)
    assert places == [0, 1, 2, 1, 0, 19, 0, 8, 16, 19, 11]


@pytest.mark.parametrize("key", ["text", "left", "right", "home", "shift-tab", "ctrl-c", "paste", "backspace", "space"])
def test_other_keys_are_not_for_the_menu(key: str) -> None:
    assert not menu().move(key)


def test_where_nothing_is_chosen_up_is_not_for_the_menu() -> None:
    shown = menu(selected=-1)
    assert shown.selected is None
    assert not shown.move("up") and not shown.move("pageup")
    assert shown.move("down")
    assert shown.selected == FEW[0]


def test_a_better_answer_keeps_the_cursor_with_its_choice() -> None:
    shown = menu()
    shown.move("down")
    shown.renew(Completion("command", 0, 1, choices=(FEW[2], *FEW[:2])))
    assert shown.selected == FEW[1]
    shown.renew(Completion("command", 0, 1, choices=(FEW[2],)))
    assert shown.selected == FEW[2]


def test_the_selected_row_is_marked_over_its_text_only_and_details_are_dim() -> None:
    assert menu().draw(60, 8) == [
        (Span("▸ /mode   how calls are judged", "selected"),),
        (Span("  /model  "), Span("another model", "dim")),
        (Span("  /x"),),
    ]


def test_a_long_list_says_how_many_more_there_are_and_scrolls_with_the_cursor() -> None:
    shown = many(20, more=5)
    assert texts(shown.draw(40, 4)) == ["▸ f0", "  f1", "  f2", "  … 22 more"]
    for _ in range(4):
        shown.move("down")
    assert texts(shown.draw(40, 4)) == ["  f2", "  f3", "▸ f4", "  … 20 more"]
    shown.move("up")
    assert texts(shown.draw(40, 4)) == ["  f2", "▸ f3", "  f4", "  … 20 more"]
    last = many(20)
    last.move("up")
    assert texts(last.draw(40, 4)) == ["  f17", "  f18", "▸ f19", "  … 17 above"]
    assert texts(many(3, more=9).draw(40, 8)) == ["▸ f0", "  f1", "  f2", "  … 9 more"]


def test_little_room_shows_the_selected_one() -> None:
    shown = many(5)
    shown.move("down")
    assert texts(shown.draw(40, 1)) == ["▸ f1"]
    assert shown.draw(40, 0) == []


def test_at_forty_columns_a_path_is_cut_at_its_beginning_and_a_detail_at_its_end() -> None:
    path = "packages/interface/source/components/menu.py"
    shown = menu(Choice(path, path), Choice("b", "b"))
    assert texts(shown.draw(40, 8)) == ["▸ …s/interface/source/components/menu.py", "  b"]
    told = menu(Choice("购物车", "购物车模块", "很长的说明" * 10), Choice("b", "b", "word " * 30))
    rows = told.draw(40, 8)
    assert [plain(row)[-1] for row in rows] == ["…", "…"]
    assert texts(rows)[1].startswith("  b           word word")


def test_what_others_wrote_cannot_drive_the_terminal() -> None:
    shown = menu(Choice("x", "a\x1b]0;t\x07b", "c\x9b31m\nd\u202ee"))
    assert texts(shown.draw(80, 8)) == ["▸ a\\x1b]0;t\\x07b  c\\x9b31m d<U+202E>e"]


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=60), st.text(max_size=80)), min_size=1, max_size=12),
    st.integers(12, 200),
    st.integers(1, 12),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=8),
)
def test_no_row_is_wider_than_the_screen_none_ends_blank_and_the_selected_one_is_shown(
    choices: list[tuple[str, str]], width: int, most: int, keys: list[str]
) -> None:
    shown = menu(*(Choice(str(number), *words) for number, words in enumerate(choices)))
    for key in keys:
        shown.move(key)
    rows = shown.draw(width, most)
    assert 0 < len(rows) <= most
    assert all(columns(row) <= width for row in rows)
    assert [plain(row).startswith("▸ ") for row in rows].count(True) == 1
    for text in texts(rows):
        assert text == text.rstrip()
        assert not set("\n\t\x1b") & set(text)
