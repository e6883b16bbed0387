"""Keys of vi: what stands there after them."""

import pytest

from overt.frontends.tui.composer.composer import Composer
from overt.frontends.tui.terminal.keyboard import Key


def composer(text: str) -> Composer:
    """In normal mode, at the beginning of the text."""
    made = Composer(["an older prompt", "two\nlines"], keys="vi")
    made.set(text)
    type_in(made, "<esc>gg0")
    return made


def type_in(made: Composer, keys: str) -> None:
    """Letters as they are, other keys in <>."""
    while keys:
        if keys[0] == "<" and ">" in keys:
            name, _, keys = keys[1:].partition(">")
            made.press(Key(name))
        else:
            made.press(Key("text", keys[0]))
            keys = keys[1:]


def shown(made: Composer) -> str:
    text, at = made.now
    return f"{text[:at]}|{text[at:]}"


@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        # motions
        ("foo bar", "w", "foo |bar"),
        ("foo-bar baz", "wwW", "foo-bar |baz"),
        ("foo-bar baz", "W", "foo-bar |baz"),
        ("foo bar", "$b", "foo |bar"),
        ("foo bar", "e", "fo|o bar"),
        ("foo-bar baz", "E", "foo-ba|r baz"),
        ("foo bar", "$", "foo ba|r"),
        ("  foo", "$^", "  |foo"),
        ("  foo", "$0", "|  foo"),
        ("a\nb\nc", "G", "a\nb\n|c"),
        ("a\nb\nc", "2G", "a\n|b\nc"),
        ("a\nb\nc", "Ggg", "|a\nb\nc"),
        ("foo foo foo", "fo;;", "foo f|oo foo"),
        ("foo foo", "2fo,", "f|oo foo"),
        ("a,b,c", "t,;", "a,|b,c"),
        ("a,b,c", "$F,", "a,b|,c"),
        ("a,b,c", "$T,h", "a,b|,c"),
        ("abc", "lll", "ab|c"),
        ("abc", "$hhhh", "|abc"),
        ("中文 测试", "w", "中|文 测试"),
        ("中文 测试", "ww", "中文 |测试"),
        ("a👨‍👩‍👧b", "ll", "a👨‍👩‍👧|b"),
        ("foo bar", "3l<left><right><end>", "foo ba|r"),
        # operators
        ("foo bar baz", "dw", "|bar baz"),
        ("foo bar baz", "2dw", "|baz"),
        ("foo bar baz", "d2w", "|baz"),
        ("foo bar baz", "de", "| bar baz"),
        ("foo bar", "wdb", "|bar"),
        ("foo bar", "wd0", "|bar"),
        ("foo bar", "wD", "foo| "),
        ("foo\nbar", "dw", "|\nbar"),
        ("foo bar", "df ", "|bar"),
        ("foo bar", "dt ", "| bar"),
        ("a\nb\nc", "dd", "|b\nc"),
        ("a\nb\nc", "jdd", "a\n|c"),
        ("a\nb\nc", "Gdd", "a\n|b"),
        ("a\nb\nc", "2dd", "|c"),
        ("a\nb\nc", "dj", "|c"),
        ("a\nb\nc", "Gdk", "|a"),
        ("a\n\nb", "jd$", "a\n|\nb"),
        ("中文测试", "dl", "|文测试"),
        ("foo bar", "cwxx<esc>", "x|x bar"),
        ("foo bar", "ecwx<esc>", "fo|x bar"),
        ("foo bar", "wcbxx<esc>", "x|xbar"),
        ("foo\nbar", "ccx<esc>", "|x\nbar"),
        ("foo bar", "wCx<esc>", "foo |x"),
        ("foo\nbar", "Sx<esc>", "|x\nbar"),
        ("one two", "wyiw0P", "tw|oone two"),
        ("a\nb", "yyp", "a\n|a\nb"),
        ("a\nb", "yyjP", "a\n|a\nb"),
        ("a\nb", "Yjp", "a\nb\n|a"),
        ("ab", "ylp", "a|ab"),
        ("ab", "yl3p", "aaa|ab"),
        # objects
        ("one two three", "wdiw", "one | three"),
        ('say "hi there" now', 'di"', 'say "|" now'),
        # actions
        ("abc", "x", "|bc"),
        ("abc", "3x", "|"),
        ("abc", "lX", "|bc"),
        ("abc", "sxy<esc>", "x|ybc"),
        ("abc", "rx", "|xbc"),
        ("abc", "2rx", "x|xc"),
        ("abc", "4rx", "|abc"),
        ("abc", "lr<enter>", "a\n|c"),
        ("abc", "ix<esc>", "|xabc"),
        ("abc", "ax<esc>", "a|xbc"),
        ("  abc", "$Ix<esc>", "  |xabc"),
        ("abc", "Ax<esc>", "abc|x"),
        ("abc", "ox<esc>", "abc\n|x"),
        ("abc", "Ox<esc>", "|x\nabc"),
        ("foo bar baz", "dwu", "|foo bar baz"),
        ("foo bar baz", "dwdwuu<ctrl-r>", "|bar baz"),
        ("foo", "A one<shift-enter>two<esc>u", "fo|o"),
        # again
        ("a b c", "dw.", "|c"),
        ("foo bar", "cwx<esc>w.", "x |x"),
        ("a b c d e", "dw2.", "|d e"),
        ("abc", "x..", "|"),
        ("a", "A!<esc>..", "a!!|!"),
        ("a b", "Ax<backspace>y<esc>.", "a by|y"),
    ],
)
def test_keys_leave_this_text_and_this_cursor(text: str, keys: str, after: str) -> None:
    made = composer(text)
    type_in(made, keys)
    assert (shown(made), made.badge) == (after, "NORMAL")


def test_a_new_text_begins_in_insert_mode_and_escape_leads_out_of_it() -> None:
    made = Composer(keys="vi")
    assert made.badge == "INSERT"
    type_in(made, "dd")
    assert made.text == "dd"
    assert made.press(Key("esc")).kind == "handled"
    assert made.badge == "NORMAL"
    assert made.press(Key("esc")).kind == "ignored"
    assert (made.take(), made.badge) == ("dd", "INSERT")


def test_a_half_command_is_dropped_by_escape() -> None:
    made = composer("foo bar")
    type_in(made, "2d")
    assert made.press(Key("esc")).kind == "handled"
    type_in(made, "w")
    assert shown(made) == "foo |bar"


def test_several_letters_in_one_key_are_taken_one_by_one() -> None:
    made = composer("foo bar")
    made.press(Key("text", "cwnew"))
    assert (shown(made), made.badge) == ("new| bar", "INSERT")


def test_enter_sends_from_normal_mode_too() -> None:
    assert composer("foo").press(Key("enter")).kind == "submit"


def test_k_and_j_reach_the_history_and_come_back_to_the_draft() -> None:
    made = composer("draft")
    type_in(made, "k")
    assert shown(made) == "two\nline|s"
    type_in(made, "k")
    assert shown(made) == "an older promp|t"
    type_in(made, "jj")
    assert made.text == "draft"


def test_a_slash_searches_the_history() -> None:
    made = composer("")
    type_in(made, "/older<enter>")
    assert made.text == "an older prompt"


def test_what_was_cut_is_put_back_by_emacs_keys_in_insert_mode() -> None:
    made = composer("one two")
    type_in(made, "dwA <ctrl-y>")
    assert made.text == "two one "
