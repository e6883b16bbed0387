"""Short texts are passed over quickly, but never one that can hold a secret."""

import pytest

from overt.lib.redaction.redact import HIDDEN, SHORTEST, SHORTEST_FORM, Redactor


def test_the_shortest_value_is_hidden_in_a_text_of_nothing_else() -> None:
    value = "q7" * (SHORTEST // 2)

    assert Redactor([value]).clean(value) == HIDDEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x://:" + "abcdefg1@", f"x://:{HIDDEN}@"),
        ("xoxb-" + "0123456789", HIDDEN),
        ("bearer " + "abcdefghijk1", f"bearer {HIDDEN}"),
    ],
)
def test_the_shortest_secret_of_a_form_is_hidden(text: str, expected: str) -> None:
    assert len(text) >= SHORTEST_FORM
    assert Redactor().clean(text) == expected
