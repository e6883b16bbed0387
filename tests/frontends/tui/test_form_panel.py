"""A form in the terminal: its rows on screens of any size, and what keys do to it."""

from typing import Any

import pytest
from tests.fakes.asking_tool import FORMS, PLANS

from overt.core.questions import FieldValue, FormAnswer, FormAsked, FormField, QuestionForm
from overt.frontends.tui.chat.form_panel import FormPanel
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import columns, plain
from overt.lib.display_width import width

DECLINED = FormAnswer(action="decline")


def panel(form: str | QuestionForm | FormField) -> FormPanel:
    if isinstance(form, FormField):
        form = QuestionForm(who="A tool", message="?", fields=(form,))
    return FormPanel(FormAsked(id="q", form=FORMS[form] if isinstance(form, str) else form))


def press(panel: FormPanel, *keys: str) -> Any:
    """Press keys; those without a name are typed. Return what the last one did."""
    reply = None
    for key in keys:
        named = len(key) > 1 and key.islower() and key.isascii()
        reply = panel.press(Key(key) if named else Key("text", key))
    return reply


def drawn(panel: FormPanel, room: int = 60, most: int = 15) -> list[str]:
    return [plain(row).rstrip() for row in panel.draw(room, most)[0]]


def accepted(**values: FieldValue) -> FormAnswer:
    return FormAnswer(action="accept", values=values)


def contact(**values: FieldValue) -> FormAnswer:
    usual: dict[str, FieldValue] = {"name": "Ada", "age": 36, "plan": "pro", "news": False}
    return accepted(**(usual | values))


def test_the_question_is_printed_behind_an_edge_and_the_fields_stand_below_each_other() -> None:
    form = panel("contact")
    assert [plain(row) for row in form.opening(60)] == [
        "? MCP server github asks:",
        "  │ Whom shall the \\x1b[31minvoice\\x1b[0m name?",
    ]
    press(form, "Ada", "enter", "enter", "down")
    assert drawn(form) == [
        "  Name *      Ada",
        "  Age         36",
        "› Plan        Pro",
        "    ( ) Free  for a try",
        "    (*) Pro",
        "  › ( ) Team",
        "  Newsletter  [ ] no",
        "Enter choose · Esc decline  3/4",
    ]


@pytest.mark.parametrize(
    ("form", "keys", "answer"),
    [
        ("contact", ("Ada", "enter", "enter", "enter", "enter"), contact()),
        ("contact", ("Ada", "enter", "ctrl-u", "enter", "ctrl-enter"), accepted(name="Ada", plan="pro", news=False)),
        ("contact", ("Ada", "tab", "tab", "1", "tab", "y", "enter"), contact(plan="free", news=True)),
        ("contact", ("X", "down", "up", "backspace", "Ada", "ctrl-enter"), contact()),
        ("contact", ("A", "tab", "shift-tab", "B", "ctrl-enter"), contact(name="AB")),
        ("colour", ("enter",), accepted(plan="free")),
        ("colour", ("down", "down", "enter"), accepted(plan="team")),
        ("colour", ("Gold", "enter"), accepted(plan="Gold")),
        ("colour", ("Gold", "up", "enter"), accepted(plan="team")),
        ("colour", ("3", "down", "G", "backspace", "enter"), None),
        ("several", (" ", "down", "down", " ", "enter"), accepted(plans=("free", "team"))),
        ("several", ("2", "Gold", "enter"), accepted(plans=("pro", "Gold"))),
        ("several", ("enter",), accepted()),
        ("several", ("1", "enter"), None),
        ("confirm", ("enter",), accepted()),
        ("confirm", ("y",), None),
        ("contact", ("Ada", "esc"), DECLINED),
        ("contact", ("Ada", "ctrl-c"), "interrupt"),
        ("page", ("o",), "open"),
        ("page", ("c",), "copy"),
        ("page", ("y",), accepted()),
        ("page", ("enter",), None),
        ("page", ("esc",), DECLINED),
    ],
)
def test_keys_make_an_answer(form: str, keys: tuple[str, ...], answer: object) -> None:
    assert press(panel(form), *keys) == answer


def test_a_value_that_does_not_fit_is_named_at_its_field() -> None:
    form = panel("contact")
    assert press(form, "enter") is None
    assert drawn(form)[:3] == ["› Name *", "    This field needs an answer.", "    As on your card"]
    press(form, "Ada", "enter", "ctrl-u", "7", "tab")
    assert press(form, "ctrl-enter") is None
    assert drawn(form)[1:3] == ["› Age         7", "    Enter at least 18."]


def test_a_choice_that_is_not_required_can_be_given_back() -> None:
    form = panel(FormField(name="plan", kind="choice", options=PLANS, default="pro"))
    assert press(form, " ", "ctrl-enter") == accepted()


def test_a_pasted_text_becomes_one_line() -> None:
    form = panel(FormField(name="x"))
    form.press(Key("paste", "one\ntwo\x1b"))
    assert drawn(form)[0] == "› x  one two\\x1b"
    assert press(form, "enter") == accepted(x="one two\x1b")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(("room", "most"), [(80, 15), (40, 7), (20, 5), (12, 3), (4, 1)])
def test_rows_and_cursor_stay_on_the_screen(name: str, room: int, most: int) -> None:
    form = panel(name)
    assert all(columns(row) <= max(room, 8) for row in form.opening(room))
    for _ in range(40):
        rows, cursor = form.draw(room, most)
        assert 0 < len(rows) <= most
        if room >= 20:
            assert all(columns(row) <= room for row in rows)
        if cursor is not None:
            assert 0 <= cursor[0] < len(rows) and 0 <= cursor[1] < room
        press(form, "down")


@pytest.mark.parametrize("key", ["tab", "down"])
def test_the_edited_field_of_a_long_form_is_always_in_sight(key: str) -> None:
    form = panel("long")
    for number in range(30):
        assert any(row.startswith(f"› 第 {number} 项内容") for row in drawn(form, 40, 7))
        press(form, key)
    assert press(form, "enter") == accepted(**{f"f{number}": f"值 {number}" for number in range(30)})


def test_the_pointer_of_a_long_list_is_always_in_sight() -> None:
    many = tuple(option for at in range(20) for option in PLANS[at % 3 : at % 3 + 1])
    form = panel(FormField(name="plan", title="Plan", description="word " * 30, kind="choices", options=many))
    for _ in range(20):
        assert any(row.startswith("  › ") for row in drawn(form, 40, 6))
        press(form, "down")


def test_the_cursor_stands_behind_wide_letters() -> None:
    form = panel(FormField(name="x", title="姓名"))
    press(form, "李", "白", "left")
    rows, cursor = form.draw(40, 5)
    assert (plain(rows[0]), cursor) == ("› 姓名  李白", (0, width("› 姓名  李")))


def test_a_question_out_of_sight_is_named_again() -> None:
    form = panel("colour")
    form.opening(60)
    form.covered = True
    assert drawn(form)[0] == "  │ Which plan?"
    page = panel("page")
    page.opening(60)
    page.in_sight = False
    assert drawn(page)[:2] == [
        "  │ Please log in.",
        "The whole question is further up: 4 rows. Scroll up and read",
    ]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://login.example.org/a?b", "login.example.org"),
        ("https://bank.example@evil.example/x", "evil.example"),
        ("https://evil.example\\@bank.example/x", "evil.example"),
        ("https://evil.example?@bank.example", "evil.example"),
    ],
)
def test_the_host_of_a_page_is_set_off(url: str, host: str) -> None:
    rows = panel(QuestionForm(who="A tool", message="?", url=url)).opening(80)[2:]
    assert "".join(plain(row)[4:] for row in rows) == url
    assert [span.text for row in rows for span in row if span.style == "bold"] == [host]
