"""How much of a result goes to the model: one rule, by the window."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.core.settings import Limits
from overt.lib.result_limit import ResultLimit, current_limit, limited_to, result_limit
from overt.lib.text import clip
from overt.lib.tokens import estimate


@pytest.mark.parametrize(
    ("window", "tokens"),
    [
        (0, 8_000),
        (2_000, 500),
        (16_000, 4_000),
        (31_999, 7_999),
        (32_000, 8_000),
        (32_768, 8_000),
        (96_000, 8_000),
        (128_000, 10_666),
        (200_000, 16_666),
        (300_000, 25_000),
        (1_000_000, 25_000),
    ],
)
def test_the_window_decides_how_much_of_a_result_is_sent(window: int, tokens: int) -> None:
    assert result_limit(window) == ResultLimit(tokens, tokens * 6)


@pytest.mark.parametrize(
    ("window", "limits", "tokens", "size"),
    [
        (200_000, Limits(result_tokens=1_000), 1_000, 6_000),
        (200_000, Limits(result_tokens=40_000), 40_000, 240_000),
        (32_000, Limits(result_tokens=40_000), 8_000, 48_000),
        (0, Limits(result_tokens=40_000), 40_000, 240_000),
        (200_000, Limits(result_bytes=500), 16_666, 500),
    ],
)
def test_what_the_user_sets_takes_the_place_of_the_rule(window: int, limits: Limits, tokens: int, size: int) -> None:
    assert result_limit(window, limits) == ResultLimit(tokens, size)


def test_the_limit_of_a_call_holds_for_what_runs_inside_it() -> None:
    assert current_limit() == result_limit(0)
    with limited_to(ResultLimit(100, 600)):
        with limited_to(None):
            assert current_limit() == ResultLimit(100, 600)
        with limited_to(ResultLimit(50, 300)):
            assert current_limit() == ResultLimit(50, 300)
        assert current_limit() == ResultLimit(100, 600)
    assert current_limit() == result_limit(0)


def log_line(chance: random.Random) -> str:
    return (
        f"2026-11-{chance.randrange(1, 28):02} 12:{chance.randrange(60):02}:{chance.randrange(60):02}."
        f"{chance.randrange(1000):03} INFO [worker-{chance.randrange(9)}] request {chance.getrandbits(32):08x} done\n"
    )


def test_more_of_a_log_is_shown_to_a_model_whose_vocabulary_is_thrifty_with_digits() -> None:
    chance = random.Random(5)
    log = "".join(log_line(chance) for _ in range(2_000))
    shown = {name: len(result_limit(0, family=name).clip(log)) for name in ("qwen", "default", "claude", "gpt")}
    assert shown["qwen"] < shown["default"] < shown["gpt"]
    assert shown["default"] < shown["claude"]


texts = st.lists(st.sampled_from(["word ", "中文", "    ", "12:34:56.789 ", "\n", "x" * 300, "é", "🙂"]), max_size=400)


@given(pieces=texts, times=st.integers(1, 40), tokens=st.integers(60, 3_000))
def test_a_text_that_is_cut_keeps_head_and_tail_within_both_limits(pieces: list[str], times: int, tokens: int) -> None:
    text = "".join(pieces) * times
    short = clip(text, tokens * 6, tokens)
    assert len(short.encode()) <= tokens * 6
    assert estimate(short) <= tokens * 1.1 + 20  # beside the marker, two pieces are not counted as one text is
    if short != text:
        assert "lines left out" in short


@pytest.mark.parametrize("tokens", [1_000, 8_000, 25_000])
def test_little_is_given_away_when_a_long_text_is_cut(tokens: int) -> None:
    code = "".join(f"    value_{n} = compute(first, second, {n}) + offset\n" for n in range(20_000))
    assert estimate(clip(code, tokens * 6, tokens)) > 0.85 * tokens
