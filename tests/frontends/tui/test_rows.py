"""Rows are cut, padded and wrapped without losing what was written."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.frontends.tui.terminal.rows import BLANK, CLOSING, Span, columns, cut, pad, plain, row, wrap
from overt.lib.display_width import clusters, width

BOLD = Span("bold", "bold")
written = st.text(st.sampled_from("abc  中文，。（）e\u0301😀👨\u200d👩🇩🇪…x."), max_size=80)


def wrapped(*parts: str | Span, room: int) -> list[str]:
    return [plain(each) for each in wrap(row(*parts), room)]


def test_a_row_is_made_of_texts_and_spans_without_the_empty_ones() -> None:
    assert row("a", "", BOLD) == (Span("a"), BOLD)
    assert (plain(row("a", BOLD)), columns(row("中", BOLD))) == ("abold", 6)


@pytest.mark.parametrize(
    ("room", "expected"),
    [(20, "one 中文 two"), (12, "one 中文 two"), (11, "one 中文 t…"), (7, "one 中…"), (6, "one …"), (1, "…"), (0, "")],
)
def test_a_row_that_does_not_fit_is_cut_with_a_mark(room: int, expected: str) -> None:
    made = cut(row("one ", Span("中文", "bold"), " two"), room)
    assert (plain(made), columns(made) <= room) == (expected, True)


def test_a_row_is_padded_to_a_width() -> None:
    assert (pad(row("中"), 4), pad(row("long"), 2)) == ((Span("中"), Span("  ")), row("long"))


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("", 10, [""]),
        ("   ", 10, [""]),
        ("short", 10, ["short"]),
        ("the quick brown fox", 10, ["the quick", "brown fox"]),
        ("ends here    ", 20, ["ends here"]),
        ("exactly 10", 10, ["exactly 10"]),
        ("word    gap", 8, ["word", "gap"]),
        ("  indented text here", 12, ["  indented", "text here"]),
        ("abcdefghijklmno", 6, ["abcdef", "ghijkl", "mno"]),
        ("to abcdefghijklmno", 6, ["to", "abcdef", "ghijkl", "mno"]),
        ("    abcdefgh", 6, ["    ab", "cdefgh"]),
        ("你好世界，这是一个测试", 8, ["你好世", "界，这是", "一个测试"]),
        ("他说（好的）然后走了", 8, ["他说（好", "的）然后", "走了"]),
        ("他说（好的）然后走了", 6, ["他说", "（好", "的）然", "后走了"]),
        ("使用Python，然后", 10, ["使用", "Python，然", "后"]),
        ("中文 english 混合", 9, ["中文", "english", "混合"]),
        ("한국어 텍스트", 8, ["한국어", "텍스트"]),
        ("hi 👨\u200d👩 x", 6, ["hi", "👨\u200d👩 x"]),
        ("！！！！！！", 4, ["！！", "！！", "！！"]),
    ],
)
def test_text_is_broken_where_a_person_would_break_it(text: str, room: int, lines: list[str]) -> None:
    assert wrapped(text, room=room) == lines


def test_a_word_of_several_styles_stays_one_word() -> None:
    assert wrap(row("see ", BOLD, ". end"), 8) == [row("see"), (BOLD, Span(".")), row("end")]


def test_rows_have_what_stands_before_them() -> None:
    assert wrap(row("one two three"), 8, first=row("- "), rest=row("  ")) == [
        row("- ", "one"),
        row("  ", "two"),
        row("  ", "three"),
    ]
    assert wrap((), 8, first=row("- ")) == [row("- ")]


def test_neighbours_of_one_style_are_one_span() -> None:
    assert wrap((Span("a", "bold"), Span("b", "bold"), Span("c")), 10) == [(Span("ab", "bold"), Span("c"))]


@settings(max_examples=300)
@given(st.lists(st.tuples(written, st.sampled_from(["", "bold", "dim"])), max_size=5), st.integers(4, 40))
def test_wrapping_loses_nothing_but_blanks_and_fits(parts: list[tuple[str, str]], room: int) -> None:
    spans = [Span(text, style) for text, style in parts]
    made = wrap(spans, room)
    said = [(char, span.style) for each in made for span in each for char in span.text if char != " "]
    assert said == [(char, span.style) for span in spans for char in span.text if char != " "]
    for each in made:
        assert columns(each) <= room or len(clusters(plain(each))) == 1
        assert not plain(each).endswith(" ")


@settings(max_examples=200)
@given(st.text(st.sampled_from("中文字，。！a b"), max_size=60), st.integers(6, 30))
def test_no_row_begins_with_a_closing_mark_if_it_can_be_avoided(text: str, room: int) -> None:
    lines = wrapped(text, room=room)
    for above, line in pairwise(lines):
        if line[0] in CLOSING:
            run = len(above) - len(above.rstrip("".join(CLOSING)))
            assert run >= len(above) - 1 or " " + line[0] in text or width(above) > room - 2


def test_the_blank_row_is_empty() -> None:
    assert (BLANK, plain(BLANK), columns(BLANK)) == ((), "", 0)
