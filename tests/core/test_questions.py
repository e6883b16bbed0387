"""What an input means in a field of a form, and what is wrong with it."""

import pytest

from overt.core.questions import (
    FieldOption,
    FieldProblem,
    FieldValue,
    FormField,
    read_value,
)

COLOURS = (FieldOption(value="r", label="Red"), FieldOption(value="2"), FieldOption(value="g", label="绿"))
TEXT, NEEDED = FormField(name="x"), FormField(name="x", required=True)
SHORT = FormField(name="x", min_length=2, max_length=3)
NUMBER, WHOLE = FormField(name="x", kind="number", minimum=-1, maximum=2.5), FormField(name="x", kind="integer")
SWITCH = FormField(name="x", kind="boolean")
CHOICE = FormField(name="x", kind="choice", options=COLOURS)
CHOICES = FormField(name="x", kind="choices", options=COLOURS, minimum=2, maximum=2)


def problem(kind: str, limit: str = "") -> FieldProblem:
    return FieldProblem(kind=kind, limit=limit)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        (TEXT, "  Ada ", "Ada"),
        (TEXT, " ", None),
        (NEEDED, " ", problem("required")),
        (SHORT, "a", problem("too_short", "2")),
        (SHORT, "你好吗", "你好吗"),
        (SHORT, "abcd", problem("too_long", "3")),
        (NUMBER, "1e0", 1.0),
        (NUMBER, "-1", -1),
        (NUMBER, "-1.5", problem("too_small", "-1")),
        (NUMBER, "3", problem("too_large", "2.5")),
        (NUMBER, "nan", problem("number")),
        (NUMBER, "1" * 5000, problem("number")),
        (NUMBER, "one", problem("number")),
        (WHOLE, "+12", 12),
        (WHOLE, "1.5", problem("integer")),
        (WHOLE, "x", problem("integer")),
        (SWITCH, "Yes", True),
        (SWITCH, "否", False),
        (SWITCH, "maybe", problem("boolean")),
        (CHOICE, "1", "r"),
        (CHOICE, "2", "2"),
        (CHOICE, "red", "r"),
        (CHOICE, "绿", "g"),
        (CHOICE, "4", problem("option")),
        (FormField(name="x", kind="choice", options=COLOURS, other=True), "blue", "blue"),
        (CHOICES, "1, 绿，1", ("r", "g")),
        (CHOICES, "1, 9", problem("option")),
        (CHOICES, "1", problem("too_few", "2")),
        (CHOICES, "1,2,3", problem("too_many", "2")),
        (CHOICES, " , ", None),
    ],
)
def test_an_input_is_a_value_or_a_problem(field: FormField, text: str, expected: FieldValue | None) -> None:
    value = read_value(field, text)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("email", ("a@b.org", "a.b+c@localhost"), ("a", "a@", "a b@c.d", "a@b@c")),
        ("uri", ("https://x.org/y?z", "mailto:a@b"), ("x.org", "https:", "http://a b")),
        ("date", ("2026-11-18",), ("18.11.2026", "20261118", "2026-13-01", "2026-11-18T00:00")),
        (
            "date-time",
            ("2026-11-18T09:30:00Z", "2026-11-18t09:30:00+01:00"),
            ("2026-11-18", "2026-11-18T09:30:00", "soon"),
        ),
    ],
)
def test_a_format_is_checked(format: str, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    field = FormField(name="x", format=format)  # type: ignore[arg-type]
    assert [read_value(field, text) for text in good] == list(good)
    assert [read_value(field, text) for text in bad] == [problem(format)] * len(bad)
