"""Columns as terminals count them, and characters as people see them."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wcwidth import wcwidth

from overt.lib.display_width import (
    after,
    before,
    clusters,
    column_starts,
    fitting_length,
    has_certain_width,
    max_width,
    width,
)

FAMILY, SKIN, FLAG, KEYCAP = "👨\u200d👩\u200d👧", "👍🏽", "🇩🇪", "1\ufe0f\u20e3"
NEWER = {
    *range(0x2630, 0x2638), *range(0x268A, 0x2690), *range(0x4DC0, 0x4E00), *range(0x1D300, 0x1D357),
    *range(0x1D360, 0x1D377),
}  # fmt: skip
"""Wide since Unicode 16, which neither this Python nor most terminals know."""
written = st.text(
    st.one_of(
        st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs", "Mn", "Mc", "Me"]),
        st.sampled_from("a é中ー😀🏽\u200d\ufe0f🇩🇪\u0301\u1100\u1161\u11a8\u0915\u094d\n"),
    ),
    max_size=40,
)


def test_every_character_is_as_wide_as_the_standard_tables_say() -> None:
    wrong = []
    for code in range(0xA0, 0x110000):
        char = chr(code)
        category = unicodedata.category(char)
        if category in ("Cn", "Cs", "Co", "Zl", "Zp") or code in NEWER or code in (0x3164, 0xFFA0):
            continue  # unknown here, never drawn, or fillers that `visible` replaces
        expected = wcwidth(char)
        # As the C library counts, and so tmux: marks that take room of their own, and half a flag.
        if category == "Mc":
            expected = 2 if unicodedata.east_asian_width(char) == "W" else 1
        if 0x1F1E6 <= code <= 0x1F1FF:
            expected = 1
        if width(char) != expected:
            wrong.append((hex(code), width(char), expected))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0), ("abc", 3), ("中文", 4), ("e\u0301", 1), ("é", 1), ("한", 2), ("\u1112\u1161\u11ab", 2), ("ｱ", 1),
        ("Ａ", 2), ("…", 1), ("●", 1), ("😀", 2), (FLAG, 2), ("\u0928\u093f", 2), ("\U0001fae8", 2), ("\U00032000", 2),
        ("\u200b", 0), ("\xad", 1),
    ],
)  # fmt: skip
def test_a_text_takes_so_many_columns(text: str, columns: int) -> None:
    assert width(text) == columns


@settings(max_examples=200)
@given(written)
def test_the_width_of_a_text_is_the_sum_of_its_parts(text: str) -> None:
    assert (width(text), column_starts(text)[-1]) == (sum(map(width, clusters(text))), width(text))
    assert max_width(text) >= width(text)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("abc", ["a", "b", "c"]),
        ("cafe\u0301s", ["c", "a", "f", "e\u0301", "s"]),
        ("a\u0300\u0301b", ["a\u0300\u0301", "b"]),
        (f"x{FAMILY}y", ["x", FAMILY, "y"]),
        (FLAG + "🇫🇷", [FLAG, "🇫🇷"]),
        ("🇩🇪🇫", ["🇩🇪", "🇫"]),
        (SKIN + "a", [SKIN, "a"]),
        (KEYCAP + "2", [KEYCAP, "2"]),
        ("❤\ufe0f!", ["❤\ufe0f", "!"]),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", ["\u1112\u1161\u11ab", "\u1100\u1173\u11af"]),
        ("한글", ["한", "글"]),
        ("\u0928\u092e\u0938\u094d\u0924\u0947", ["\u0928", "\u092e", "\u0938\u094d\u0924\u0947"]),
        ("か\u3099き", ["か\u3099", "き"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("a\n\u0301b", ["a", "\n", "\u0301", "b"]),
        ("🏴\U000e0067\U000e007fx", ["🏴\U000e0067\U000e007f", "x"]),
    ],
)
def test_what_a_person_takes_for_one_character_stays_together(text: str, pieces: list[str]) -> None:
    assert clusters(text) == pieces


@settings(max_examples=300)
@given(written)
def test_stepping_through_a_text_and_back_meets_the_same_places(text: str) -> None:
    forth, back = [0], [len(text)]
    while forth[-1] < len(text):
        forth.append(after(text, forth[-1]))
    while back[-1] > 0:
        back.append(before(text, back[-1]))
    assert forth == back[::-1]
    assert [text[start:end] for start, end in pairwise(forth)] == clusters(text)


def test_the_ends_of_a_text_are_not_passed() -> None:
    assert (after("ab", 2), before("ab", 0), after("", 0), before("", 0)) == (2, 0, 0, 0)


@settings(max_examples=200)
@given(written, st.integers(0, 30))
def test_what_fits_is_the_most_that_fits(text: str, columns: int) -> None:
    count = fitting_length(text, columns)
    ends = {0}
    for piece in clusters(text):
        ends.add(max(ends) + len(piece))
    assert width(text[:count]) <= columns
    assert count in ends
    assert count == len(text) or width(text[: after(text, count)]) > columns


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("abc", True),
        ("中文，。", True),
        ("e\u0301", True),
        ("…", False),
        (FAMILY, False),
        (FLAG, False),
        ("“中”", False),
    ],
)
def test_whether_terminals_agree(text: str, sure: bool) -> None:
    assert has_certain_width(text) == sure
