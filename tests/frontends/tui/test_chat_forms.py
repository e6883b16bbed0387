"""Forms in the chat: when they are shown, who gets a key, and what becomes of them."""

from pathlib import Path

import pytest
from msgspec import json
from tests.fakes.asking_tool import FORMS, REGISTRIES
from tests.fakes.model_server import Turn
from tests.frontends.tui.chat_kit import Desk, Desks, Script
from tests.journeys.journey_kit import call, calls, results, until

from overt.core.questions import FieldValue, FormAnswer
from overt.frontends.tui.terminal.keyboard import Key

DONE = Turn(text="All done.")
DECLINED = FormAnswer(action="decline")


def script(*forms: str, held: tuple[int, ...] = ()) -> Script:
    return Script(calls(*(call("survey", form=form) for form in forms)), DONE, held=held)


def answers(desk: Desk) -> list[FormAnswer]:
    return [json.decode(text, type=FormAnswer) for text in results(desk.server)]


def accepted(**values: FieldValue) -> FormAnswer:
    return FormAnswer(action="accept", values=values)


def test_a_form_takes_the_place_of_the_composer_and_is_answered(desks: Desks) -> None:
    with desks.open(script("colour"), registries=REGISTRIES) as desk:
        desk.send("go")
        desk.question("Enter choose and send")
        assert ("Ask or tell" in desk.screen, "survey" in desk.screen) == (False, False)
        desk.press("down", "enter")
        desk.until("All done.")
        desk.rest()
        assert (answers(desk), desk.draft) == ([accepted(plan="pro")], "")
        assert "You answered the question of MCP server github." in desk.all


def test_a_second_form_waits_for_the_first(desks: Desks) -> None:
    with desks.open(script("colour", "confirm"), registries=REGISTRIES) as desk:
        desk.send("go")
        desk.question("1 of 2")
        desk.press("esc")
        desk.until("│ Go on?")
        desk.press("esc")  # it was meant for the form before
        desk.wait(1)
        desk.until("2 of 2")
        desk.press("enter")
        desk.until("All done.")
        assert answers(desk) == [DECLINED, accepted()]


def test_keys_that_are_typed_before_a_form_is_painted_go_to_the_draft(desks: Desks) -> None:
    waiting = script("contact", held=(0,))
    with desks.open(waiting, registries=REGISTRIES) as desk:
        desk.send("go")
        waiting.let()
        while not desk.chat.modal_panel._approvals.current:
            until(lambda: desk.wake.items)
            desk.take_item()
        desk.press(Key("text", "my thoughts"))
        assert (desk.draft, "Name *" in desk.screen) == ("my thoughts", False)
        desk.question("Name *")
        desk.press(Key("text", "Ada"), "esc")
        desk.until("All done.")
        assert (answers(desk), desk.draft) == ([DECLINED], "my thoughts")


def test_ctrl_c_in_a_form_stops_the_turn(desks: Desks) -> None:
    with desks.open(script("contact"), registries=REGISTRIES) as desk:
        desk.send("go")
        desk.question("Name *")
        desk.press("ctrl-c")
        desk.until("Interrupted")
        desk.rest()
        assert ("Name *" in desk.screen, len(desk.server.posts)) == (False, 1)


def test_shift_tab_goes_back_a_field_and_leaves_the_mode(desks: Desks) -> None:
    with desks.open(script("contact"), registries=REGISTRIES) as desk:
        desk.send("go")
        desk.question("Name *")
        desk.press("tab")
        desk.until("› Age")
        desk.press("shift-tab")
        desk.until("› Name *")
        desk.still()
        assert "· review ·" in desk.status
        desk.press("esc")
        desk.until("All done.")


def test_a_form_that_is_answered_elsewhere_disappears(desks: Desks) -> None:
    with desks.open(script("contact"), registries=REGISTRIES) as desk:
        desk.send("go")
        desk.question("Name *")
        current = desk.chat.modal_panel._approvals.current
        assert current is not None
        desk.chat.background.call_soon(lambda chat: chat.answer_form(current.question.id, DECLINED))
        desk.until("All done.")
        assert "Name *" not in desk.screen


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A browser that writes the address of a page to a file, and fails if the file `broken` exists."""
    program = tmp_path / "fox"
    program.write_text(f'#!/bin/sh\n[ -e {tmp_path}/broken ] && exit 7\nprintf %s "$1" > {tmp_path}/page\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(program))
    return tmp_path


def test_a_page_is_opened_and_the_form_accepted(desks: Desks, browser: Path) -> None:
    with desks.open(script("page"), registries=REGISTRIES) as desk:
        desk.send("go")
        desk.question("Open this page in a browser?")
        desk.type("o")
        desk.until("All done.")
        assert (answers(desk), (browser / "page").read_text()) == ([accepted()], FORMS["page"].url)


def test_a_page_that_does_not_open_can_be_opened_by_hand(desks: Desks, browser: Path) -> None:
    (browser / "broken").touch()
    with desks.open(script("page"), registries=REGISTRIES) as desk:
        desk.send("go")
        desk.question("Open this page in a browser?")
        desk.type("o")
        desk.until("fox could not open the page (exit code 7).")
        desk.type("c")
        desk.until("The address was copied.")
        desk.type("y")
        desk.until("All done.")
        assert answers(desk) == [accepted()]
