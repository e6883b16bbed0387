"""Completion as the composer sees it: when it asks, which answers it drops, what Enter and Tab make of the text."""

import subprocess
import sys

import pytest

from overt.app.completion.choices import Choice, Completion
from overt.frontends.tui.composer.complete import CompletionMenu, CompletionQuery, MenuResult, apply_choice
from overt.frontends.tui.terminal.rows import plain

MODE = Choice("/mode", "/mode", again=True)
MODEL = Choice("/model", "/model")
CART = Choice("@src/cart.py", "cart.py")
SHOP = Choice("@src/shop/", "shop/", folder=True, again=True)


def took(text: str, cursor: int, *, send: bool = False) -> MenuResult:
    return MenuResult("took", text, cursor, send)


def commands(end: int, *choices: Choice) -> Completion:
    return Completion("command", 0, end, choices=choices)


def files(start: int, end: int, *choices: Choice) -> Completion:
    return Completion("file", start, end, choices=choices)


def opened(text: str, found: Completion) -> CompletionMenu:
    """With a menu that answers this text, the cursor at the end."""
    completing = CompletionMenu()
    ask = completing.changed(text, len(text))
    assert ask is not None
    assert completing.answered(ask.serial, found) == MenuResult("handled")
    return completing


# ── what a choice makes of the text ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "found", "choice", "enter", "tab"),
    [
        ("/mo", commands(3), MODEL, took("/model", 6, send=True), took("/model ", 7)),
        ("/mo", commands(3), MODE, took("/mode ", 6), took("/mode ", 6)),
        ("/mo plan", commands(3), MODE, took("/mode plan", 6), took("/mode plan", 6)),
        ("a @src/c", files(2, 8), CART, took("a @src/cart.py ", 15), took("a @src/cart.py ", 15)),
        ("a @src/c b", files(2, 8), CART, took("a @src/cart.py b", 15), took("a @src/cart.py b", 15)),
        ("(@src/c)", files(1, 7), CART, took("(@src/cart.py)", 13), took("(@src/cart.py)", 13)),
        ("看@src/c，", files(1, 7), CART, took("看@src/cart.py，", 13), took("看@src/cart.py，", 13)),
        ("看@src/c里", files(1, 7), CART, took("看@src/cart.py 里", 14), took("看@src/cart.py 里", 14)),
        ("@src/s", files(0, 6), SHOP, took("@src/shop/", 10), took("@src/shop/", 10)),
    ],
)
def test_enter_sends_a_whole_command_and_a_blank_follows_a_file(
    text: str, found: Completion, choice: Choice, enter: MenuResult, tab: MenuResult
) -> None:
    assert apply_choice(text, found, choice, enter=True) == enter
    assert apply_choice(text, found, choice, enter=False) == tab


def test_the_cursor_stays_inside_the_quotes_of_a_folder() -> None:
    folder = Choice('@"my folder/"', "my folder/", folder=True, again=True, back=1)
    assert apply_choice("@my", files(0, 3), folder, enter=True) == took('@"my folder/"', 12)
    inside = Choice('@"my folder/a"', "a")
    assert apply_choice('@"my folder/"', files(0, 13), inside, enter=True) == took('@"my folder/a" ', 15)


def test_an_argument_is_sent_by_enter_and_only_inserted_by_tab() -> None:
    found = Completion("argument", 6, 8)
    assert apply_choice("/mode pl", found, Choice("plan", "plan"), enter=True) == took("/mode plan", 10, send=True)
    assert apply_choice("/mode pl", found, Choice("plan", "plan"), enter=False) == took("/mode plan", 10)
    turn = Choice("3", "3", again=True)
    assert apply_choice("/rewind ", Completion("argument", 8, 8), turn, enter=True) == took("/rewind 3 ", 10)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────


def test_only_what_can_be_completed_is_asked_and_each_question_has_its_number() -> None:
    completing = CompletionMenu()
    assert completing.changed("hello", 5) is None
    assert completing.changed("/m", 2) == CompletionQuery(1, "/m", 2)
    assert completing.changed("/mo", 3) == CompletionQuery(2, "/mo", 3)
    assert completing.changed("", 0) is None


def test_an_answer_that_comes_too_late_is_dropped() -> None:
    completing = CompletionMenu()
    first = completing.changed("/m", 2)
    second = completing.changed("/mo", 3)
    assert first and second
    assert completing.answered(first.serial, commands(2, MODE)) is None
    assert completing.menu is None
    assert completing.answered(second.serial, commands(3, MODE)) == MenuResult("handled")
    assert completing.changed("gone", 4) is None
    assert completing.menu is None
    assert completing.answered(second.serial, commands(3, MODE)) is None
    assert completing.menu is None


def test_a_menu_stays_on_the_screen_until_the_next_answer_but_enter_takes_nothing_from_it() -> None:
    completing = opened("/mo", commands(3, MODE, MODEL))
    ask = completing.changed("/mod", 4)
    assert [plain(row) for row in completing.draw(40, 8)] == ["▸ /mode", "  /model"]
    assert completing.press("enter", "/mod", 4) == MenuResult("ignored")
    assert ask and completing.answered(ask.serial, commands(4, MODEL)) == MenuResult("handled")
    assert completing.press("enter", "/mod", 4) == MenuResult("took", "/model", 6, send=True)
    assert completing.menu is None


def test_a_menu_of_another_word_vanishes_at_once() -> None:
    completing = opened("@a", files(0, 2, CART))
    assert completing.changed("@a @b", 5) is not None
    assert completing.menu is None


def test_an_answer_without_choices_closes_the_menu() -> None:
    completing = opened("/mo", commands(3, MODE))
    ask = completing.changed("/mox", 4)
    assert ask and completing.answered(ask.serial, commands(4)) == MenuResult("handled")
    assert completing.menu is None
    assert completing.press("enter", "/mox", 4) == completing.press("esc", "/mox", 4) == MenuResult("ignored")


def test_a_second_answer_to_the_same_question_keeps_what_was_selected() -> None:
    completing = CompletionMenu()
    ask = completing.changed("/model ", 7)
    one, two, three = (Choice(name, name) for name in ("one", "two", "three"))
    assert ask
    completing.answered(ask.serial, Completion("argument", 7, 7, choices=(one, two), selected=-1, partial=True))
    completing.press("down", "/model ", 7)
    completing.press("down", "/model ", 7)
    completing.answered(ask.serial, Completion("argument", 7, 7, choices=(three, one, two), selected=-1))
    assert completing.press("enter", "/model ", 7) == MenuResult("took", "/model two", 10, send=True)


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_escape_closes_the_menu_for_this_word_and_tab_opens_it_again() -> None:
    completing = opened("@s", files(0, 2, SHOP, CART))
    assert completing.press("esc", "@s", 2) == MenuResult("handled")
    assert completing.press("esc", "@s", 2) == MenuResult("ignored")
    assert completing.changed("@sr", 3) is None
    asked_again = completing.press("tab", "@sr", 3)
    assert asked_again.kind == "handled" and asked_again.query and asked_again.query.tab
    assert completing.answered(asked_again.query.serial, files(0, 3, SHOP, CART)) == MenuResult("handled")
    assert completing.menu is not None
    completing.press("esc", "@sr", 3)
    assert completing.changed("@sr @t", 6) is not None


def test_what_was_closed_opens_again_for_another_word_or_another_text() -> None:
    for text in ("@", "@t", "/s"):
        completing = opened("@s", files(0, 2, SHOP, CART))
        completing.press("esc", "@s", 2)
        assert completing.changed(text, len(text)) is not None
    completing = opened("@s", files(0, 2, SHOP, CART))
    completing.press("esc", "@s", 2)
    completing.close()
    assert completing.changed("@s", 2) is not None


def test_a_text_that_is_gone_takes_its_menu_along() -> None:
    completing = opened("/mo", commands(3, MODE))
    completing.close()
    assert completing.draw(40, 8) == []
    assert completing.answered(1, commands(3, MODE)) is None


def test_tab_before_the_answer_waits_for_it_and_takes_the_first() -> None:
    completing = CompletionMenu()
    completing.changed("/mod", 4)
    waiting = completing.press("tab", "/mod", 4)
    assert waiting.kind == "handled" and waiting.query
    took = completing.answered(waiting.query.serial, commands(4, MODEL, MODE))
    assert took == MenuResult("took", "/model ", 7, query=CompletionQuery(3, "/model ", 7))


def test_a_key_after_a_hasty_tab_calls_it_off() -> None:
    completing = CompletionMenu()
    waiting = completing.press("tab", "/mod", 4)
    later = completing.changed("/mode", 5)
    assert waiting.query and later
    assert completing.answered(waiting.query.serial, commands(4, MODEL)) is None
    assert completing.answered(later.serial, commands(5, MODE)) == MenuResult("handled")


def test_a_folder_is_entered_and_asked_about_again() -> None:
    completing = opened("@src/", files(0, 5, SHOP, CART))
    assert completing.press("enter", "@src/", 5) == MenuResult(
        "took", "@src/shop/", 10, query=CompletionQuery(2, "@src/shop/", 10)
    )


def test_a_file_that_stands_there_in_full_is_sent_by_enter() -> None:
    text = "@src/cart.py"
    completing = opened(text, files(0, len(text), CART, Choice("@src/cart.pyi", "cart.pyi")))
    assert completing.press("enter", text, len(text)) == MenuResult("ignored")
    assert completing.menu is None


def test_nothing_is_chosen_for_an_optional_argument() -> None:
    completing = opened("/undo ", Completion("argument", 6, 6, choices=(Choice("--force", "--force"),), selected=-1))
    assert completing.press("enter", "/undo ", 6) == MenuResult("ignored")
    assert completing.press("tab", "/undo ", 6) == MenuResult("took", "/undo --force", 13)
    assert completing.changed("/undo --force", 13) is None


def test_tab_in_a_shell_line_inserts_the_only_name_and_lists_several() -> None:
    completing = CompletionMenu()
    assert completing.changed("!cat sr", 7) is None
    only = completing.press("tab", "!cat sr", 7)
    assert only.query == CompletionQuery(1, "!cat sr", 7, tab=True)
    folder = Choice("src/", "src/", folder=True, again=True)
    took = completing.answered(1, Completion("path", 5, 7, choices=(folder,)))
    assert took == MenuResult("took", "!cat src/", 9, query=CompletionQuery(2, "!cat src/", 9, tab=True))
    several = Completion("path", 5, 9, choices=(Choice("src/a", "a"), Choice("src/b", "b")))
    assert completing.answered(2, several) == MenuResult("handled")
    assert completing.press("tab", "!cat src/", 9) == MenuResult("took", "!cat src/a ", 11)


def test_keys_without_a_menu_are_for_the_composer() -> None:
    completing = CompletionMenu()
    for key in ("enter", "esc", "up", "down", "tab", "text"):
        assert completing.press(key, "hello", 5) == MenuResult("ignored")


def test_asking_needs_nothing_heavy() -> None:
    """Both modules are loaded before the composer is on the screen."""
    script = (
        "import sys; import overt.frontends.tui.composer.complete;"
        "print(sorted(set(sys.modules) & {'asyncio', 'msgspec', 'dataclasses', 'overt.app.conversation'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
