"""Rows as bytes: short, reset at the end, and nothing in them that others could smuggle in."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.frontends.tui.terminal.paint import address, harmless, paint
from overt.frontends.tui.terminal.rows import Row, Span, row
from overt.frontends.tui.terminal.theme import theme

DARK = theme("dark", depth=256)
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[!-~]*\x1b\\")


def painted(*parts: str | Span, links: bool = False) -> str:
    return paint(row(*parts), DARK, links=links)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ((), ""),
        ((Span("plain"),), "plain"),
        ((Span("a", "bold"), Span("b", "bold error"), Span("c")), "\x1b[1ma\x1b[38;5;203mb\x1b[mc"),
        ((Span("a"), Span("b", "dim")), "a\x1b[2mb\x1b[m"),
        ((Span("", "bold"), Span("b")), "b"),
        ((Span("中文", "answer"),), "中文"),
        ((Span("x", link="file:///a"),), "x"),
    ],
)
def test_only_what_changes_is_written_and_the_end_is_reset(spans: Row, expected: str) -> None:
    assert paint(spans, DARK, links=False) == expected


def test_links_are_written_where_terminals_follow_them() -> None:
    assert painted(Span("x", "", "file:///a b/中\x1b\\;"), "y", links=True) == (
        "\x1b]8;;file:///a%20b/%E4%B8%AD%1B\\;\x1b\\x\x1b]8;;\x1b\\y"
    )
    assert address("https://example.com/?q=1#2") == "https://example.com/?q=1#2"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;x\x07", "\\x1b]52;c;x\\x07"), ("a\x9b31m", "a\\x9b31m"), ("two\nlines", "two\\x0alines"),
        ("a\tb", "a b"), ("\u202eevil", "<U+202E>evil"), ("zero\u200bwidth", "zero<U+200B>width"), ("\x7f", "\\x7f"),
        ("👨\u200d👩\u200d👧 ❤\ufe0f", "👨\u200d👩\u200d👧 ❤\ufe0f"), ("e\u0301 中文 한글", "e\u0301 中文 한글"),
        ("\U000e0041", "<U+E0041>"), ("\ud800", "<U+D800>"), ("\u3164", "<U+3164>"),
    ],
)  # fmt: skip
def test_the_last_wall_shows_what_was_forgotten(text: str, shown: str) -> None:
    assert (harmless(text), painted(text), harmless(text)) == (shown, shown, shown)


@settings(max_examples=400)
@given(
    st.lists(st.tuples(st.text(max_size=12), st.sampled_from(["", "bold", "hazard"]), st.text(max_size=8)), max_size=4)
)
def test_no_control_character_passes_whatever_a_row_holds(parts: list[tuple[str, str, str]]) -> None:
    out = paint(tuple(Span(*part) for part in parts), DARK, links=True)
    rest = OURS.sub("", out)
    assert [char for char in rest if ord(char) < 32 or 127 <= ord(char) < 160 or "\u202a" <= char <= "\u202e"] == []
