"""Secrets do not survive."""

import pytest

from overt.lib.redact import Redactor

KEY_BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key hunter2-secret.", "key [redacted]."),
        ("hunter2-secret-longer", "[redacted]"),
        ("use sk-proj-abcDEF1234567890abcd now", "use [redacted] now"),
        ("ghp_abcdefghijklmnopqrst0123456789", "[redacted]"),
        ("id AKIAIOSFODNN7EXAMPLE", "id [redacted]"),
        ("xoxb-123456789012-abc", "[redacted]"),
        ("AIza" + "a1" * 18, "[redacted]"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer [redacted]"),
        ("authorization: bearer\tabcdef123456789", "authorization: bearer\t[redacted]"),
        (f"a\n{KEY_BLOCK}\nb", "a\n[redacted]\nb"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "[redacted]"),
    ],
)
def test_a_secret_is_replaced(text: str, expected: str) -> None:
    assert Redactor(["hunter2-secret", "hunter2-secret-longer", "\n"]).clean(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a task-force of risk-takers",
        "sk-learn",
        "sk-toggleable__content-label",
        "the bearer of news",
        "BEGIN PRIVATE KEY is a header",
        "MAKIAVELLI",
        "short",
    ],
)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert Redactor(["short"]).clean(text) == text


def test_a_redactor_does_not_show_what_it_hides() -> None:
    assert repr(Redactor(["hunter2-secret"])) == "Redactor(1 secrets)"
