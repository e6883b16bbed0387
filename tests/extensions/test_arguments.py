"""Arguments of commands and skills are filled into their texts."""

import shlex

import pytest

from overt.extensions.arguments import fill_arguments


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("Do $ARGUMENTS.", "a b", "Do a b."),
        ("Do $ARGUMENTS.", "", "Do ."),
        ("$1 then $2", "a 'b c'", "a then b c"),
        ("$0 then $1", "a b", "a then b"),
        ("$1 and $3", "a b", "a and\n\nARGUMENTS: b\n"),
        ("$ARGUMENTS[0]-$ARGUMENTS[1]", "a b", "a-b"),
        ("No place.", "a 'b c'", "No place.\n\nARGUMENTS: a 'b c'\n"),
        ("Costs $$5 and $1", "x", "Costs $5 and x"),
        ("In ${SKILL_DIR} and ${OTHER}", "", "In /s and ${OTHER}"),
        ("$1", "it's", "it's"),
        ("$12", "a", "$12\n\nARGUMENTS: a\n"),
    ],
)
def test_placeholders_are_filled(text: str, arguments: str, expected: str) -> None:
    assert fill_arguments(text, arguments, {"SKILL_DIR": "/s"}) == expected


def test_values_are_quoted_for_a_shell() -> None:
    assert fill_arguments("echo $1", "'a; rm -rf x'", quote=shlex.quote) == "echo 'a; rm -rf x'"


def test_a_text_that_takes_no_arguments_keeps_its_shell_variables() -> None:
    assert fill_arguments("awk '{print $1}' # $$", "", positional=False) == "awk '{print $1}' # $$"


def test_an_argument_is_not_filled_in_twice() -> None:
    assert fill_arguments("$1 $2", "'$2' x") == "$2 x"
