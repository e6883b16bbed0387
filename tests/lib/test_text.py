"""Bounded and harmless text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from overt.lib.text import clip, cut_line, size, visible
from overt.lib.tokens import estimate


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
