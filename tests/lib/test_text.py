"""Bounded and harmless text."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.lib.text import clip, cut_line, exact, size, visible, wide
from overt.lib.tokens import estimate


@pytest.mark.parametrize(
    ("text", "columns"), [("", 0), ("abc", 3), ("文件", 4), ("a文", 3), ("e\u0301", 1), ("Ａ", 2), ("é", 1)]
)
def test_a_text_takes_as_many_columns_as_a_screen_gives_it(text: str, columns: int) -> None:
    assert wide(text) == columns


def test_a_text_within_both_limits_is_left_as_it_is() -> None:
    assert clip("short\n", 100, 100, "x") == "short\n"


def test_a_long_text_keeps_head_and_tail_around_a_marker_that_says_what_is_missing() -> None:
    text = "".join(f"line {number}\n" for number in range(5000))
    cut = clip(text, 2000, 1000, "use offset")
    assert cut.startswith("line 0\nline 1\n")
    assert cut.endswith("line 4998\nline 4999\n")
    (marker,) = [line for line in cut.split("\n") if line.startswith("[...")]
    kept = cut.replace(marker + "\n", "")
    missing = size(text) - size(kept)
    assert (
        marker == f"[... {missing} bytes, {text.count(chr(10)) - kept.count(chr(10))} lines left out; use offset ...]"
    )


@settings(deadline=None)
@given(st.text(max_size=3000), st.integers(300, 2000), st.integers(100, 500))
def test_a_clipped_text_never_exceeds_its_limits(text: str, max_bytes: int, max_tokens: int) -> None:
    cut = clip(text, max_bytes, max_tokens, "hint")
    assert size(cut) <= max_bytes
    assert estimate(cut) <= max_tokens


def test_a_long_line_says_how_much_of_it_is_missing() -> None:
    assert cut_line("abcdef", 4) == "abcd [... 2 more characters]"
    assert cut_line("abcd", 4) == "abcd"


def test_control_and_direction_characters_are_shown_instead_of_obeyed() -> None:
    assert visible("a\x1b[31mb\u202ec\u200bd\ttab\nline\r") == "a\\x1b[31mb<U+202E>c<U+200B>d\ttab\nline\\x0d"
    assert visible("plain é 读") == "plain é 读"
    assert visible("\x9b\U000e0041") == "\\x9b<U+E0041>"


SEQUENCES = (
    *("\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1b]52;c;aGk=\x07", "\x1bP1$r\x1b\\"),
    *("\x1b[2J\x1b[H", "\x9b31m", "\x9d0;t\x9c", "\x90q\x9c", "a\x08b", "\x07", "over\rwritten", "\x0e\x0f", "\x1bc"),
)


@pytest.mark.parametrize("sequence", SEQUENCES, ids=ascii)
def test_no_sequence_survives_however_a_stream_cuts_it(sequence: str) -> None:
    for at in range(len(sequence) + 1):
        shown = visible(sequence[:at]) + visible(sequence[at:])
        assert shown.isprintable()
        assert shown == visible(sequence)


HIDDEN = (0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2028)
MORE = (0x202A, 0x202E, 0x2060, 0x2064, 0x2066, 0x2069, 0x206F, 0x3164, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFB)
BEYOND = (0x1D173, 0xE0001, 0xE0041, 0xE007F, 0xE0100, 0xE01EF, 0xD800, 0xDC80, 0xFDD0, 0xFFFE)


@pytest.mark.parametrize("code", (*HIDDEN, *MORE, *BEYOND), ids=hex)
def test_what_a_terminal_draws_as_nothing_is_shown_as_its_code(code: int) -> None:
    assert visible(f"a{chr(code)}b") == (f"a\\x{code:02x}b" if code < 0x100 else f"a<U+{code:04X}>b")


def test_every_character_unicode_calls_ignorable_or_a_control_is_shown() -> None:
    """Format characters that are drawn (Arabic number signs, Kaithi, hieroglyphs) are not among them."""
    drawn = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13456)}
    for code in range(0x110000):
        char = chr(code)
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and code not in drawn and char not in "\t\n":
            assert visible(char) != char, hex(code)


@pytest.mark.parametrize(
    "emoji", ["⚠️ wait", "👨\u200d👩\u200d👧", "1\ufe0f\u20e3", "❤️\u200d🔥", "🏳️\u200d🌈", "👍🏽", "©️"]
)
def test_emoji_stay_whole(emoji: str) -> None:
    assert visible(emoji) == emoji


def test_the_helpers_of_emoji_are_shown_where_they_help_none() -> None:
    assert visible("a\ufe0f b\u200dc ⚠\ufe0f\ufe0f 1\ufe0f2 👩\u200d") == (
        "a<U+FE0F> b<U+200D>c ⚠\ufe0f<U+FE0F> 1<U+FE0F>2 👩<U+200D>"
    )


def test_what_is_to_be_approved_also_shows_spaces_that_only_look_like_one() -> None:
    assert exact("rm\u00a0-rf\u3000/ x\u2800y\x1b") == "rm\\xa0-rf<U+3000>/ x<U+2800>y\\x1b"
    assert exact("plain é 读\n") == "plain é 读\n"


@given(st.text())
def test_visible_text_holds_no_control_and_stays_as_it_is_when_shown_again(text: str) -> None:
    shown = visible(text)
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert visible(shown) == shown
