"""The composer with emacs keys: what each key makes of the text, and what it leaves to the chat."""

import pytest

from overt.frontends.tui.composer.composer import Composer, KeyResult
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import plain

HANDLED = KeyResult("handled", changed=True)


def press(made: Composer, *names: str) -> KeyResult:
    return [made.press(Key(name)) for name in names][-1]


def written(text: str, *names: str, history: tuple[str, ...] = ()) -> Composer:
    made = Composer(history)
    made.press(Key("text", text))
    for name in names:
        made.press(Key(name))
    return made


def shown(made: Composer) -> str:
    text, at = made.now
    return f"{text[:at]}|{text[at:]}"


def drawn(made: Composer, columns: int = 40, most: int = 10) -> tuple[list[str], tuple[int, int]]:
    rows, cursor = made.draw(columns, most)
    return [plain(row) for row in rows], cursor


@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        ("hello", "left left", "hel|lo"),
        ("hello", "ctrl-a ctrl-f", "h|ello"),
        ("hello", "home ctrl-d", "|ello"),
        ("hello", "home delete end backspace", "ell|"),
        ("one two", "ctrl-w", "one |"),
        ("one two", "ctrl-a ctrl-k", "|"),
        ("one two", "alt-b ctrl-u", "|two"),
        ("one two", "alt-b ctrl-k ctrl-a ctrl-y", "two|one "),
        ("one two", "ctrl-w ctrl-w ctrl-y", "one two|"),
        ("one two", "ctrl-w left ctrl-k ctrl-a ctrl-y alt-y", "two|one"),
        ("one two", "ctrl-a alt-d alt-d ctrl-y", "one two|"),
        ("one two", "alt-backspace", "one |"),
        ("one two", "ctrl-a alt-u", "ONE| two"),
        ("one two", "ctrl-a alt-c alt-u", "One TWO|"),
        ("one two", "alt-t", "two one|"),
        ("ab", "ctrl-x ctrl-t", "ba|"),
        ("one two", "ctrl-left ctrl-left ctrl-right", "one| two"),
        ("one", "shift-enter alt-enter ctrl-j", "one\n\n\n|"),
        ("one", "ctrl-a ctrl-k ctrl-_", "|one"),
        ("one", "ctrl-_", "|"),
        ("one", "ctrl-_ alt-_", "one|"),
        ("请修复测试", "ctrl-w backspace", "请修复|"),
        ("a👨‍👩‍👧", "backspace", "a|"),
        ("one\\", "enter", "one\n|"),
        ("one\\two", "left left left enter", "one\n|two"),
    ],
)
def test_keys_of_readline_leave_this_text(text: str, keys: str, after: str) -> None:
    assert shown(written(text, *keys.split())) == after


def test_a_typed_run_is_undone_at_once_and_a_move_begins_another() -> None:
    made = Composer()
    for letter in "one":
        made.press(Key("text", letter))
    press(made, "home")
    for letter in "xy":
        made.press(Key("text", letter))
    press(made, "ctrl-_")
    assert shown(made) == "|one"
    press(made, "ctrl-_")
    assert shown(made) == "|"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("enter", "submit"), ("ctrl-g", "external"), ("ctrl-v", "image"), ("esc", "ignored"), ("tab", "ignored"),
        ("ctrl-c", "ignored"), ("ctrl-t", "ignored"), ("ctrl-o", "ignored"), ("ctrl-l", "ignored"),
        ("ctrl-z", "ignored"), ("shift-tab", "ignored"), ("pageup", "ignored"), ("f1", "ignored"),
    ],
)  # fmt: skip
def test_what_the_chat_decides_is_reported_and_changes_nothing(key: str, kind: str) -> None:
    made = written("text")
    assert (press(made, key).kind, shown(made)) == (kind, "text|")


def test_ctrl_d_deletes_in_a_text_and_is_left_to_the_chat_without_one() -> None:
    made = written("a", "home")
    assert made.press(Key("ctrl-d")) == HANDLED
    assert made.press(Key("ctrl-d")).kind == "ignored"
    assert press(written("x"), "ctrl-x", "ctrl-e").kind == "external"


def test_up_and_down_walk_through_the_history_and_come_back_to_the_draft() -> None:
    made = written("draft", history=("one", "two\nlines", "three"))
    seen = []
    for name in ("up", "up", "up", "up", "down", "down", "down", "down"):
        press(made, name)
        seen.append(made.text)
    assert seen == ["three", "two\nlines", "one", "one", "two\nlines", "three", "draft", "draft"]
    assert shown(made) == "draft|"


def test_a_recalled_text_that_is_touched_is_edited_like_any_other_and_stays_changed_until_something_is_sent() -> None:
    made = Composer(["one", "two\nlines"])
    press(made, "up", "left", "up")
    assert shown(made) == "two|\nlines"
    made.press(Key("text", "!"))
    press(made, "up")
    assert made.text == "one"
    press(made, "down")
    assert made.text == "two!\nlines"
    assert made.take() == "two!\nlines"
    press(made, "up", "up")
    assert made.text == "two\nlines"


def test_up_and_down_follow_the_rows_on_the_screen_and_keep_their_column() -> None:
    made = written("中文中文中文中文\nab\n0123456789")
    assert drawn(made, 13)[0] == ["› 中文中文中", "  文中文", "  ab", "  0123456789"]
    places = []
    for name in ("up", "up", "up", "down", "down", "down"):
        press(made, name)
        places.append(drawn(made, 13)[1])
    assert places == [(2, 4), (1, 8), (0, 10), (1, 8), (2, 4), (3, 12)]


def test_what_is_sent_goes_into_the_history_once() -> None:
    made = Composer()
    for text in ("one", "one", "two"):
        made.press(Key("text", text))
        assert made.take() == text
        assert (made.text, made.empty) == ("", True)
    press(made, "up", "up", "up")
    assert made.text == "one"
    press(made, "ctrl-_", "down", "down", "down")
    assert made.text == ""


def test_older_prompts_can_come_later_without_moving_the_one_that_is_shown() -> None:
    made = written("draft")
    made.take()
    press(made, "up")
    made.load_history(["oldest", "old"])
    press(made, "up")
    assert made.text == "old"
    press(made, "down", "down")
    assert made.text == ""


HISTORY = ("fix the Parser", "run tests", "fix the docs\nand more", "run tests")


@pytest.mark.parametrize(
    ("keys", "after"),
    [
        ("f i x enter", "fix| the docs\nand more"),
        ("f i x ctrl-r enter", "fix| the Parser"),
        ("f i x ctrl-r ctrl-s tab", "fix| the docs\nand more"),
        ("p a r s enter", "fix the Pars|er"),
        ("P enter", "fix the P|arser"),
        ("t e s t s ctrl-r enter", "run tests|"),
        ("f i x esc", "draft|"),
        ("f i x ctrl-g", "draft|"),
        ("z z enter", "draft|"),
        ("p a x backspace enter", "fix the Pa|rser"),
        ("f i x ctrl-a", "|fix the docs\nand more"),
    ],
)
def test_ctrl_r_finds_older_prompts_as_letters_come(keys: str, after: str) -> None:
    made = written("draft", "ctrl-r", history=HISTORY)
    for name in keys.split():
        made.press(Key("text", name) if len(name) == 1 else Key(name))
    assert (shown(made), made.searching) == (after, False)


def test_a_search_shows_what_it_found_and_has_the_cursor_in_its_own_line() -> None:
    made = written("draft", "ctrl-r", history=HISTORY)
    assert drawn(made) == (["› ", "search: "], (1, 8))
    made.press(Key("text", "docs"))
    rows, cursor = made.draw(40, 10)
    assert [plain(row) for row in rows] == ["› fix the docs", "  and more", "search: docs"]
    assert ([span.text for span in rows[0] if span.style == "reverse"], cursor) == (["docs"], (2, 12))
    made.press(Key("text", "x"))
    assert drawn(made)[0][-1] == "no match: docsx"
    assert drawn(made, 40, 1) == (["no match: docsx"], (0, 15))


def test_ctrl_s_puts_the_draft_aside_and_brings_it_back() -> None:
    made = written("draft", "left")
    press(made, "ctrl-s")
    assert (shown(made), made.stashed) == ("|", True)
    made.press(Key("text", "in between"))
    assert made.take() == "in between"
    press(made, "ctrl-s")
    assert (shown(made), made.stashed) == ("draf|t", False)
    press(made, "ctrl-s")
    made.press(Key("text", "new"))
    press(made, "ctrl-s")
    assert (made.text, made.stashed) == ("draft", True)


def test_a_cleared_text_can_be_brought_back() -> None:
    made = written("precious")
    made.clear()
    assert made.empty
    press(made, "ctrl-_")
    assert made.text == "precious"


def test_a_completion_takes_the_place_of_what_was_typed() -> None:
    made = written("look at @ca and go", *["left"] * 7)
    made.put("look at @shop/cart.py  and go", 22)
    assert shown(made) == "look at @shop/cart.py | and go"


def test_a_new_text_has_plain_line_ends() -> None:
    made = Composer()
    made.set("a\r\nb\rc")
    assert made.text == "a\nb\nc"


def test_an_empty_composer_shows_the_mark_and_what_can_be_done() -> None:
    made = Composer(placeholder="Ask or tell")
    assert drawn(made) == (["› Ask or tell"], (0, 2))
    assert drawn(made, 8) == (["› Ask o…"], (0, 2))
    assert drawn(Composer()) == (["› "], (0, 2))


@pytest.mark.parametrize(
    ("text", "columns", "rows", "cursor"),
    [
        ("hello world foo", 14, ["› hello world", "  foo"], (1, 5)),
        ("hello worldly", 12, ["› hello", "  worldly"], (1, 9)),
        ("abcdefghijkl", 9, ["› abcdef", "  ghijkl"], (1, 8)),
        ("中文中文中", 9, ["› 中文中", "  文中"], (1, 6)),
        ("ab中文", 8, ["› ab中", "  文"], (1, 4)),
        ("a\tb", 40, ["› a    b"], (0, 8)),
        ("a\x1b[31mb", 40, ["› a\\x1b[31mb"], (0, 12)),
        ("one\n\nthree\n", 40, ["› one", "", "  three", ""], (3, 2)),
        ("trailing  ", 40, ["› trailing"], (0, 12)),
        ("abcdef ", 9, ["› abcdef", ""], (1, 2)),
        ("!ls -l", 40, ["! ls -l"], (0, 7)),
        ("!", 40, ["! "], (0, 2)),
    ],
)
def test_a_text_is_drawn_in_these_rows(text: str, columns: int, rows: list[str], cursor: tuple[int, int]) -> None:
    made = Composer()
    made.set(text)
    assert drawn(made, columns) == (rows, cursor)


def test_the_mark_of_shell_mode_is_the_first_character_itself() -> None:
    made = written("!ls", "home")
    assert drawn(made) == (["! ls"], (0, 0))
    press(made, "right")
    assert drawn(made)[1] == (0, 2)
    press(made, "backspace")
    assert drawn(made) == (["› ls"], (0, 2))


def window(made: Composer, most: int = 5) -> list[str]:
    rows, cursor = drawn(made, 40, most)
    return [f"{row}|" if number == cursor[0] else row for number, row in enumerate(rows)]


def test_a_long_text_is_seen_through_a_window_around_the_cursor() -> None:
    made = Composer()
    made.set("\n".join(f"line {number}" for number in range(1, 10)))
    assert window(made) == ["  … 5 more lines", "  line 6", "  line 7", "  line 8", "  line 9|"]
    press(made, *["up"] * 4)
    assert window(made) == ["  … 4 more lines", "  line 5|", "  line 6", "  line 7", "  … 2 more lines"]
    press(made, *["up"] * 4)
    assert window(made) == ["› line 1|", "  line 2", "  line 3", "  line 4", "  … 5 more lines"]
    press(made, *["down"] * 4)
    assert window(made) == ["  … 2 more lines", "  line 3", "  line 4", "  line 5|", "  … 4 more lines"]
    assert window(made, 2) == ["  line 4", "  line 5|"]
    assert window(made, 1) == ["  line 5|"]


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 10])
def test_the_narrowest_terminal_gets_rows_that_fit_it(columns: int) -> None:
    made = Composer(placeholder="Ask")
    for text in ("", "中文 text", "!中\x00"):
        made.set(text)
        rows, cursor = made.draw(columns, 3)
        assert cursor[1] < columns
        assert len(rows) <= 3


class Counted(dict[str, int]):
    """Widths of clusters, and how often one was asked for."""

    asked = 0

    def get(self, piece: str, otherwise: object = None) -> int | None:  # type: ignore[override]
        self.asked += 1
        return super().get(piece)


def test_a_key_lays_out_again_only_what_changed() -> None:
    made = Composer()
    made.set("请修复这些测试并且解释。" * 500)
    made.draw(80, 10)
    layout = made._drawing._layout
    layout._sizes = counted = Counted(layout._sizes)
    made.press(Key("text", "好"))
    made.draw(80, 10)
    assert 0 < counted.asked < 200
