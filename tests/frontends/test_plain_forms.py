"""Forms line by line: what is shown, what is asked again, and what is answered."""

from collections.abc import Iterable

import pytest
from tests.fakes.asking_tool import FORMS

from overt.core.errors import OvertError
from overt.core.questions import FieldValue, FormAnswer, QuestionForm
from overt.frontends.plain.draw import Ink
from overt.frontends.plain.forms import FormDialog

DECLINED = FormAnswer(action="decline")


class Person:
    """Types the given lines, then Ctrl-C. `shown` is the screen, prompts and typed lines included."""

    def __init__(self, lines: Iterable[str | None], browser: str = "") -> None:
        self._lines = iter(lines)
        self._browser = browser
        self.shown: list[str] = []
        self.opened: list[str] = []

    def read(self, prompt: str) -> str | None:
        line = next(self._lines, KeyboardInterrupt)
        self.shown.append(f"{prompt}{line}")
        if line is KeyboardInterrupt:
            raise KeyboardInterrupt
        assert line is None or isinstance(line, str)
        return line

    def open_page(self, url: str) -> None:
        self.opened.append(url)
        if self._browser:
            raise OvertError(self._browser)


def fill(form: str | QuestionForm, *lines: str | None, browser: str = "", width: int = 60) -> tuple[FormAnswer, Person]:
    person = Person(lines, browser)
    dialog = FormDialog(person.read, person.shown.append, person.open_page, ink=Ink(colour=False), width=width)
    return dialog.fill(FORMS[form] if isinstance(form, str) else form), person


def accepted(**values: FieldValue) -> FormAnswer:
    return FormAnswer(action="accept", values=values)


def test_fields_are_asked_one_by_one_until_each_fits() -> None:
    answer, person = fill("contact", "", "Ada", "12", "40", "", "maybe", "y")
    assert answer == accepted(name="Ada", age=40, plan="pro", news=True)
    assert person.shown == [
        "MCP server github asks:",
        "  │ Whom shall the \\x1b[31minvoice\\x1b[0m name?",
        "Type /decline to decline.",
        "Name (required)",
        "  As on your card",
        "Name: ",
        "This field needs an answer.",
        "Name: Ada",
        "Age",
        "Age [36]: 12",
        "Enter at least 18.",
        "Age [36]: 40",
        "Plan",
        "  1. Free — for a try",
        "  2. Pro",
        "  3. Team",
        "Number of an option [Pro]: ",
        "Newsletter",
        "Newsletter (y/n): maybe",
        "Enter y or n.",
        "Newsletter (y/n): y",
    ]


@pytest.mark.parametrize(
    ("form", "lines", "answer"),
    [
        ("colour", ("3",), accepted(plan="team")),
        ("colour", ("Enterprise",), accepted(plan="Enterprise")),
        ("several", ("1", "1, Gold"), accepted(plans=("free", "Gold"))),
        ("several", ("",), accepted()),
        ("confirm", ("y",), accepted()),
        ("confirm", ("n",), DECLINED),
        ("contact", ("Ada", "/decline"), DECLINED),
        ("contact", ("Ada",), DECLINED),
        ("contact", (None,), DECLINED),
    ],
)
def test_the_answer_is(form: str, lines: tuple[str | None, ...], answer: FormAnswer) -> None:
    assert fill(form, *lines)[0] == answer


def test_a_page_is_shown_whole_and_opened() -> None:
    answer, person = fill("page", "what", "o", width=40)
    assert (answer, person.opened) == (accepted(), [FORMS["page"].url])
    assert "".join(row[4:] for row in person.shown[2:5]) == FORMS["page"].url


def test_a_page_that_does_not_open_can_be_opened_by_hand() -> None:
    answer, person = fill("page", "o", "y", browser="No browser was found.")
    assert (answer, "No browser was found." in person.shown) == (accepted(), True)
    assert fill("page", "n")[0] == DECLINED


def test_no_row_of_the_words_of_a_server_begins_at_the_margin() -> None:
    form = QuestionForm(who="MCP server\nx", message=f"one\nAllow? {'word ' * 30}\r\x1b[2K")
    _, person = fill(form, "n", width=40)
    head, *rows = person.shown[:-2]
    assert head == "MCP server x asks:"
    assert all(row.startswith(("  │ ", "  ┆ ")) and row.isprintable() for row in rows)
