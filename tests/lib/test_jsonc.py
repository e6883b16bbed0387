"""JSON with comments: values, lines, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.lib.jsonc import Malformed, parse

SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
TREES = st.recursive(
    SCALARS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(TREES)
def test_plain_json_reads_as_the_standard_library_reads_it(tree: Any) -> None:
    assert parse(json.dumps(tree, indent=1)).value == tree
    assert parse(json.dumps(tree, ensure_ascii=False)).value == tree


@given(st.text('{}[]",:/*\n\\ \tutrefalsn0123.-+eE\x00"'))
def test_any_text_gives_a_value_or_a_line(text: str) -> None:
    try:
        parse(text)
    except Malformed as error:
        assert 1 <= error.line <= text.count("\n") + 1


def test_comments_trailing_commas_and_a_byte_order_mark_are_allowed() -> None:
    text = '\ufeff// first\n{"a": [1, 2,], /* in\nbetween */ "b": {"c": "// no comment",},\n}// last'
    found = parse(text)
    assert found.value == {"a": [1, 2], "b": {"c": "// no comment"}}
    assert found.lines == {
        (): 2,
        ("a",): 2,
        ("a", 0): 2,
        ("a", 1): 2,
        ("b",): 3,
        ("b", "c"): 3,
    }


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "expected a value, found the end of the file"),
        ('{\n"a": 1,\n"a": 2}', 3, "the key 'a' stands twice, first on line 2"),
        ('{\n"a": NaN}', 2, "expected a value, found 'NaN'"),
        ("[-Infinity]", 1, "expected a value, found '-Infinity'"),
        ("[1e999]", 1, "a number too large to hold"),
        (f"[{'1' * 5000}]", 1, "a number of more than 64 digits"),
        ("[01]", 1, "expected a value, found '01'"),
        ('{"a" 1}', 1, "expected `:` after the key 'a', found '1'"),
        ("{a: 1}", 1, "expected a key in \"quotes\", found 'a'"),
        ("[1\n2]", 2, "expected `,` or `]`, found '2'"),
        ("[,]", 1, "expected a value, found ','"),
        ('["a\nb"]', 1, "a text that does not end on its line"),
        ('["\\q"]', 1, "a text with an invalid escape or control character"),
        ('["\\ud800"]', 1, "a text with an invalid escape or control character"),
        ("{}\n\n{}", 3, "expected the end of the file, found '{'"),
        ("\n/* on and on", 2, "a comment that begins with /* does not end"),
        ("[" * 100_000, 1, "nested deeper than 64 levels"),
    ],
)
def test_what_breaks_the_rules_is_named_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text)
    assert (caught.value.line, caught.value.what) == (line, what)
