"""Lines of TOML keys, also where the text is awkward."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from overt.config.reading.toml_lines import parse
from overt.lib.jsonc import Malformed, Path

AWKWARD = '''# first
"quoted key" = 1
a.b . "c.d" = [ # a list
  """two
lines "" here""", 'x # y', [1,
  2], {inner = "}", deep.er = [3]},
]
[t."u\\u0041".v] # header
k = '\\'
when = 1979-05-27 07:32:00
[[list]]
n = """a"""""
[[list.sub]]
m = {}
[[list]]
[list.table]
o = \'\'\'
[[no]]
\'\'\'
'''


def test_awkward_toml_has_exact_lines() -> None:
    assert parse(AWKWARD).lines == {
        ("quoted key",): 2,
        ("a",): 3,
        ("a", "b"): 3,
        ("a", "b", "c.d"): 3,
        ("a", "b", "c.d", 0): 4,
        ("a", "b", "c.d", 1): 5,
        ("a", "b", "c.d", 2): 5,
        ("a", "b", "c.d", 2, 0): 5,
        ("a", "b", "c.d", 2, 1): 6,
        ("a", "b", "c.d", 3): 6,
        ("a", "b", "c.d", 3, "inner"): 6,
        ("a", "b", "c.d", 3, "deep"): 6,
        ("a", "b", "c.d", 3, "deep", "er"): 6,
        ("a", "b", "c.d", 3, "deep", "er", 0): 6,
        ("t",): 8,
        ("t", "uA"): 8,
        ("t", "uA", "v"): 8,
        ("t", "uA", "v", "k"): 9,
        ("t", "uA", "v", "when"): 10,
        ("list",): 11,
        ("list", 0): 11,
        ("list", 0, "n"): 12,
        ("list", 0, "sub"): 13,
        ("list", 0, "sub", 0): 13,
        ("list", 0, "sub", 0, "m"): 14,
        ("list", 1): 15,
        ("list", 1, "table"): 16,
        ("list", 1, "table", "o"): 17,
    }


def test_windows_line_ends_count_as_one_line() -> None:
    assert parse("a = 1\r\nb = '''\r\n\r\n'''\r\nc = 2\r\n").lines == {("a",): 1, ("b",): 2, ("c",): 5}


def paths(value: Any, here: Path = ()) -> Iterator[Path]:
    if here:
        yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*here, key))


def test_every_key_of_a_scrambled_text_that_is_still_valid_has_a_line() -> None:
    chance = random.Random(3)
    valid = 0
    for _ in range(4000):
        text = AWKWARD
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(["", " ", "#", ",", '"', "\n", "x", "[]", "''", "\\"]) + text[at + 1 :]
        try:
            found = parse(text)
        except Malformed as error:
            assert 1 <= error.line <= text.count("\n") + 1
            continue
        valid += 1
        assert set(paths(found.value)) == set(found.lines)
        assert all(1 <= line <= text.count("\n") + 1 for line in found.lines.values())
    assert valid > 300


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb = " + "[" * 100_000, 2),
        ("a = 1\n" + "b." * 200_000 + "c = 1", 2),
        ("\n\na = " + "[" * 70 + "]" * 70, 3),
        ("a = " + "{b = " * 70 + "1" + "}" * 70, 1),
    ],
)
def test_depth_is_bounded_and_costs_little(text: str, line: int) -> None:
    with pytest.raises(Malformed, match="nested deeper than 64 levels") as caught:
        parse(text)
    assert caught.value.line == line
