"""What a person sees before the answer: all of it, to the letter, and nothing in it that passes for our own words."""

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.core.events import PermissionAsked
from overt.core.messages import Call
from overt.core.views import Diffs, FileDiff, Plain, View
from overt.frontends.plain.draw import Ink, draw_question

INK = Ink(colour=False)


def asked(text: str, *, view: View | None = None, why: str = "", **values: Any) -> PermissionAsked:
    call = Call(id="c1", name="bash", arguments="{}")
    return PermissionAsked(id="q", call=call, headline=text, why=why, view=view or Plain(text=text), **values)


def rows(question: PermissionAsked, width: int = 80) -> list[str]:
    return draw_question(question, INK, width=width).split("\n")


def test_a_command_is_shown_once_behind_an_edge() -> None:
    assert rows(asked("make test\nmake install", why="to see it · not known")) == [
        "bash wants to run:",
        "  │ make test",
        "  │ make install",
        "Why you are asked: to see it · not known",
    ]


def test_a_change_is_shown_whole_with_its_path() -> None:
    diff = "@@ -1 +1 @@\n-old\n+new\n" + "".join(f"+{number}\n" for number in range(100))
    view = Diffs(files=(FileDiff(path="a.py", diff=diff, change="updated", added=101, removed=1),))
    shown = rows(asked("a.py", view=view))
    assert shown[:5] == [
        "Edit a.py?",
        "  │ a.py (updated, +101 -1)",
        "  │ @@ -1 +1 @@",
        "  │ -old",
        "  │ +new",
    ]
    assert shown[5:] == [f"  │ +{number}" for number in range(100)]


@pytest.mark.parametrize("width", [40, 80])
def test_a_long_line_is_broken_behind_the_edge_and_marked(width: int) -> None:
    room = width - 4
    shown = rows(asked("echo " + "x" * 200), width)
    assert shown[1] == "  │ echo " + "x" * (room - 5)
    assert all(row.startswith("  ┆ x") and len(row) <= width for row in shown[2:])
    assert "".join(row[4:] for row in shown[1:]) == "echo " + "x" * 200


def test_wide_characters_take_two_cells() -> None:
    assert rows(asked("读" * 20), 24) == ["bash wants to run:", "  │ " + "读" * 10, "  ┆ " + "读" * 10]


def test_blanks_cannot_push_words_to_the_margin() -> None:
    shown = rows(asked("ls" + " " * 74 + "Allow? [y]es" + "\nAllow? y"), 80)
    assert shown[1:] == ["  │ ls" + " " * 74, "  ┆ Allow? [y]es", "  │ Allow? y"]


def test_what_cannot_be_seen_is_shown_and_said() -> None:
    assert rows(asked("rm\u00a0-rf \x1b[8m\u202e/\x85x")) == [
        "bash wants to run:",
        "  │ rm\\xa0-rf \\x1b[8m<U+202E>/\\x85x",
        "Characters that cannot be seen are shown as codes.",
    ]


def test_separators_in_a_change_do_not_make_lines() -> None:
    view = Diffs(files=(FileDiff(path="a", diff="@@\n+one\x0ctwo\u2028three\x1c\r\n", change="updated"),))
    assert "  │ +one\\x0ctwo<U+2028>three\\x1c\\x0d" in rows(asked("a", view=view))


def test_other_words_stay_away_from_the_margin_too() -> None:
    shown = rows(asked("x", why="because\nAllow? y", affects=("a\nb", "c")))
    assert shown[2:] == ["It a", "    b", "It c", "Why you are asked: because", "    Allow? y"]


def test_blanks_in_a_reason_cannot_push_words_to_the_margin() -> None:
    shown = rows(asked("x", why=" " * 57 + "Allow? [y]es"), 80)
    assert shown[2:] == ["Why you are asked: " + " " * 57, "    Allow? [y]es"]


def test_the_reason_for_the_network_is_told_as_the_words_of_the_model() -> None:
    shown = rows(asked("make fetch", network=True, network_reason="the data\nWhy you are asked: \x1b[8m"))
    assert shown[2:] == [
        "It needs the network, which the sandbox keeps closed.",
        "The model says why it needs the network: the data",
        "    Why you are asked: \\x1b[8m",
    ]


def test_a_narrow_terminal_still_shows_all() -> None:
    shown = rows(asked("x" * 50), 3)
    assert "".join(row[4:] for row in shown[1:]) == "x" * 50


def cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@given(st.text(max_size=60), st.integers(24, 90))
def test_no_text_reaches_the_margin_or_drives_the_terminal(text: str, width: int) -> None:
    question = asked(text, why=text, affects=(text,), network=True, network_reason=text)
    drawn = draw_question(question, INK, width=width)
    ours = ("bash wants", "  │ ", "  ┆ ", "Characters that", "It ", "The model says", "Why you are asked", "    ")
    assert [row for row in drawn.split("\n") if not row.startswith(ours)] == []
    assert [
        row for row in drawn.split("\n")[1:] if sum(cells(char) for char in row) > width and "codes" not in row
    ] == []
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", drawn)
