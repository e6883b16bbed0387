"""JSON that people and programs read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.core.codec import printable


@pytest.mark.parametrize(
    "value", ["\x1b[31m", "\x9b\x7f", "\u202e\u200b\ufeff", "\U000e0041", "a\u2028b", {"\x07": ["\x90"]}]
)
def test_what_could_drive_a_terminal_is_escaped_and_means_the_same(value: Any) -> None:
    text = printable(value)
    assert text.isprintable()
    assert json.loads(text) == value


def test_what_is_harmless_is_written_as_it_is() -> None:
    assert printable({"a": "é 读 ⚠️"}) == '{"a":"é 读 ⚠️"}'


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back(text: str) -> None:
    assert json.loads(printable([text])) == [text]


def test_half_characters_are_replaced() -> None:
    assert printable(["a\ud800b"]) == '["a?b"]'
