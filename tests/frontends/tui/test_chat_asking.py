"""Questions in the chat: who gets a key, what becomes of the draft, and who is called back to the screen."""

import pytest
from tests.fakes.model_server import Turn
from tests.frontends.tui.chat_kit import Desks, Script
from tests.journeys.journey_kit import call, calls, results, until

from overt.frontends.tui.terminal.keyboard import Key

ONE = calls(call("bash", command="touch one"))
TWO = calls(call("bash", command="touch one"), call("bash", command="touch two"))
DONE = Turn(text="All done.")


def test_a_question_takes_the_place_of_the_composer_and_one_key_answers(desks: Desks) -> None:
    with desks.open(Script(ONE, DONE)) as desk:
        desk.send("go")
        desk.question()
        assert "Ask or tell" not in desk.screen
        desk.type("y")
        desk.until("All done.")
        desk.rest()
        assert ((desks.folder / "one").exists(), desk.draft) == (True, "")


def test_a_draft_is_kept_while_a_question_is_open(desks: Desks) -> None:
    script = Script(ONE, DONE, held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        desk.type("my thoughts")
        desk.wait(1)
        script.let()
        desk.question()
        desk.type("n")
        desk.type("because")
        desk.press("enter")
        desk.until("All done.")
        desk.rest()
        assert desk.draft == "my thoughts"
        assert "because" in results(desk.server)[0]


def test_somebody_who_types_is_not_interrupted_by_a_question_and_answers_none(desks: Desks) -> None:
    script = Script(ONE, DONE, held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        desk.until(lambda: desk.server.posts)
        desk.type("sa")
        script.let()
        desk.until(lambda: desk.chat.modal_panel._approvals.current)
        assert "Allow bash?" not in desk.screen
        desk.type("y ")
        desk.wait(0.45)
        desk.type("a")
        assert (desk.draft, "Allow bash?" in desk.screen) == ("say a", False)
        desk.wait(0.6)
        assert "Allow bash?" in desk.screen
        desk.type("nd y")  # the question has just come up: nobody can have read it
        assert (desk.draft, "Allow bash?" in desk.screen) == ("say and y", False)
        desk.wait(0.6)
        desk.wait(0.4)
        desk.type("y")
        desk.until("All done.")
        assert (desk.draft, (desks.folder / "one").exists()) == ("say and y", True)


def test_a_question_that_is_not_painted_yet_gets_no_key(desks: Desks) -> None:
    script = Script(ONE, DONE, held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        script.let()
        while not desk.chat.modal_panel._approvals.current:
            until(lambda: desk.wake.items)
            desk.take_item()
        desk.press(Key("text", "y"))
        assert desk.draft == "y"
        desk.still()
        assert len(desk.server.posts) == 1


def test_a_key_right_after_an_answer_is_none_to_the_next_question(desks: Desks) -> None:
    with desks.open(Script(TWO, DONE)) as desk:
        desk.send("go")
        desk.question()
        desk.type("y")
        desk.until("  │ touch two")
        desk.press("esc")
        desk.still()
        assert ("Allow bash?" in desk.screen, desk.chat.prompt_queue.running) == (True, True)
        desk.wait(0.5)
        desk.press("esc")
        desk.until("All done.")
        desk.rest()
        made = [(desks.folder / name).exists() for name in ("one", "two")]
        assert (made, desk.draft) == ([True, False], "")


def test_ctrl_c_at_a_question_stops_the_turn(desks: Desks) -> None:
    with desks.open(Script(ONE, DONE)) as desk:
        desk.send("go")
        desk.send("queued", "alt-enter")
        desk.question()
        desk.press("ctrl-c")
        desk.until("Interrupted")
        desk.rest()
        assert (desk.draft, (desks.folder / "one").exists(), len(desk.server.posts)) == ("queued", False, 1)


def test_details_and_the_mode_can_be_reached_from_a_question(desks: Desks) -> None:
    with desks.open(Script(Turn(reasoning="Why I ask.", calls=ONE.calls), DONE)) as desk:
        desk.send("go")
        desk.question()
        desk.press("ctrl-o")
        desk.until("Why I ask.")
        desk.press("esc")
        assert "Allow bash?" in desk.screen
        desk.press("shift-tab")
        desk.until("· auto ·")
        desk.type("y")
        desk.until("All done.")


def test_a_question_that_comes_while_an_inspector_is_open_waits_until_it_is_seen(desks: Desks) -> None:
    script = Script(ONE, DONE, held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        desk.press("ctrl-o")
        script.let()
        desk.until(lambda: desk.chat.modal_panel._approvals.current)
        assert desk.chat.due(desk.now()) is None
        desk.type("y")
        desk.press("esc")
        assert ("Allow bash?" in desk.screen, desk.all.count("? bash")) == (True, 1)
        desk.wait(1)
        desk.type("y")
        desk.until("All done.")


def test_the_editor_can_be_used_before_a_question_is_answered(desks: Desks) -> None:
    editor = desks.folder / "ed.sh"
    editor.write_text('#!/bin/sh\necho "well said" > "$1"\n')
    editor.chmod(0o755)
    (desks.folder / "overt.toml").write_text(f'[ui]\neditor = "{editor}"\n')
    script = Script(ONE, DONE, held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        script.let()
        desk.type("x")
        desk.press("ctrl-g")
        desk.question()
        desk.type("y")
        desk.until("All done.")
        assert desk.draft == "well said"


def test_a_question_stands_after_a_resize(desks: Desks) -> None:
    with desks.open(Script(ONE, DONE)) as desk:
        desk.send("go")
        desk.question()
        desk.paper.resize(40, 12)
        desk.chat.resized()
        desk.chat.paint()
        assert "Allow bash?" in desk.screen
        desk.press("ctrl-o")
        desk.paper.resize(60, 20)
        desk.chat.resized()
        assert len(desk.paper.display()) <= 20
        desk.press("esc")
        desk.type("y")
        desk.until("All done.")
        assert desk.all.count("? bash") == 1


# ── called back to the screen ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("setting", "sign"),
    [('notify = "bell"', "\a"), ('notify = "osc9"', "\x1b]9;Overt has finished\a"), ('notify = "off"', "")],
    ids=["bell", "osc9", "off"],
)
def test_who_looks_elsewhere_is_called_when_a_long_turn_ends(desks: Desks, setting: str, sign: str) -> None:
    (desks.folder / "overt.toml").write_text(f"[ui]\n{setting}\nnotify_after = 20\n")
    script = Script(DONE, DONE, held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        desk.until(lambda: desk.server.posts)
        desk.wait(21)
        desk.paper.taken()
        script.let()
        desk.until("All done.")
        desk.rest()
        assert _signs(desk.paper.taken()) == sign
        desk.send("again")
        desk.until(lambda: len(desk.server.posts) == 2)
        desk.rest()
        assert _signs(desk.paper.taken()) == ""


def test_who_looks_elsewhere_is_called_to_a_question_but_not_again_when_the_turn_ends_soon_after(desks: Desks) -> None:
    (desks.folder / "overt.toml").write_text('[ui]\nnotify = "osc9"\nnotify_after = 20\n')
    script = Script(ONE, DONE, held=[0, 1])
    with desks.open(script) as desk:
        desk.send("go")
        desk.until(lambda: desk.server.posts)
        desk.wait(21)
        desk.paper.taken()
        script.let(0)
        desk.until("Allow bash?")
        assert _signs(desk.paper.taken()) == "\x1b]9;Overt asks for your permission\a"
        desk.wait(30)
        desk.type("y")
        desk.until(lambda: len(desk.server.posts) == 2)
        script.let(1)
        desk.until("All done.")
        desk.rest()
        assert _signs(desk.paper.taken()) == ""


def _signs(written: str) -> str:
    """The bells and messages among what was written."""
    found = [part + "\a" for part in written.split("\a")[:-1]]
    return "".join(part[part.rfind("\x1b]9;") :] if "\x1b]9;" in part else "\a" for part in found)


ABOVE = "The whole question is further up"


def long_command(lines: int) -> Turn:
    return calls(call("bash", command="\n".join(["touch one", *(f"echo {n}" for n in range(lines - 1))])))


@pytest.mark.parametrize(("rows", "said"), [(14, False), (30, True)])
def test_the_question_is_said_to_be_further_up_only_when_it_is(desks: Desks, rows: int, said: bool) -> None:
    with desks.open(Script(long_command(rows), DONE)) as desk:
        desk.send("go")
        desk.question()
        assert (ABOVE in desk.screen, "│ touch one" in desk.screen, "? bash wants" in desk.screen) == (
            said,
            True,
            not said,
        )
        desk.type("y")
        desk.until("All done.")
