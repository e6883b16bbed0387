"""Durations, counts, sizes and money: short, and never longer than they need to be."""

import pytest

from overt.frontends.tui.terminal.formats import clock, count, duration, money, size


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0s"), (0.44, "0.4s"), (8.14, "8.1s"), (9.94, "9.9s"), (9.96, "10s"), (12.4, "12s"), (59.4, "59s"),
        (59.7, "1m 00s"), (125, "2m 05s"), (3599.6, "1h 00m"), (3720, "1h 02m"), (-1, "0.0s"),
    ],
)  # fmt: skip
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(("seconds", "words"), [(0, "0s"), (3.9, "3s"), (12.9, "12s"), (125, "2m 05s"), (-1, "0s")])
def test_a_clock_shows_whole_seconds_that_have_passed(seconds: float, words: str) -> None:
    assert clock(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"), (320, "320"), (999, "999"), (1000, "1k"), (1234, "1.2k"), (9960, "10k"), (45_000, "45k"),
        (999_499, "999k"), (999_500, "1M"), (1_300_000, "1.3M"),
    ],
)  # fmt: skip
def test_counts(number: int, words: str) -> None:
    assert count(number) == words


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KB"), (4300, "4.2 KB"), (18 << 20, "18 MB")]
)
def test_sizes(number: int, words: str) -> None:
    assert size(number) == words


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (None, "?"), (0, "$0"), (0.00001, "<$0.0001"), (0.004, "$0.004"), (0.0042, "$0.0042"), (0.02, "$0.02"),
        (0.5, "$0.50"), (12.3, "$12.30"), (1234, "$1,234.00"),
    ],
)  # fmt: skip
def test_money(dollars: float | None, words: str) -> None:
    assert money(dollars) == words
