"""Rough counts within the range that real tokenizers give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.lib.tokens import estimate

CODE = """def total(items: list[int]) -> int:
    result = 0
    for item in items:
        if item > 10:
            result += item * 2
    return result
"""


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        ("The quick brown fox jumps over the lazy dog.", 9, 12),
        ("请读取这个文件并修改其中的函数。", 9, 18),
        (CODE, 40, 75),
        ('{"name":"read","arguments":{"path":"src/a.py","limit":200}}', 16, 32),
        ("Привет, как дела?", 5, 12),
        ("👍👍", 2, 6),
        ("1234567890", 3, 5),
    ],
)
def test_the_estimate_is_near_what_tokenizers_say(text: str, low: int, high: int) -> None:
    assert low <= estimate(text) <= high


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(one: str, two: str) -> None:
    assert max(estimate(one), estimate(two)) <= estimate(one + two) <= estimate(one) + estimate(two)
