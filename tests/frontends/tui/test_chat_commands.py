"""Commands typed into the chat: the program's own, the shell's, and those that change the conversation itself."""

from pathlib import Path

import pytest
from tests.fakes.model_server import Turn
from tests.frontends.tui.chat_kit import Desks, Script, colours
from tests.journeys.journey_kit import call, calls

from overt.frontends.tui.terminal.keyboard import Key

ANSWERS = tuple(Turn(text=f"Answer {number}.") for number in range(1, 9))


def test_a_line_that_begins_with_a_path_is_a_prompt(desks: Desks) -> None:
    with desks.open(Turn(text="So it is.")) as desk:
        desk.send("/usr/lib is full")
        desk.until("So it is.")
        assert desk.asked() == ["/usr/lib is full"]


def test_an_unknown_command_is_named_and_what_it_might_have_been(desks: Desks) -> None:
    with desks.open(Turn(text="no")) as desk:
        desk.send("/modle plan")
        desk.until("(/mode?)")
        desk.rest()
        assert (desk.server.posts, "› /modle plan" in desk.screen) == ([], True)


def test_a_command_that_takes_no_words_says_how_it_is_used(desks: Desks) -> None:
    with desks.open(Turn(text="no")) as desk:
        desk.send("/new york")
        desk.until("error:")
        assert desk.server.posts == []


def test_a_command_of_several_lines_stands_in_the_scrollback_line_by_line(desks: Desks) -> None:
    with desks.open(Turn(text="no")) as desk:
        desk.type("/memory add one")
        desk.press("esc", "ctrl-j")
        desk.type("two")
        desk.press("enter")
        desk.rest()
        at = desk.paper.display().index("› /memory add one")
        assert desk.paper.display()[at + 1] == "  two"


# ── beside a turn ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("line", ["/cost", "/usage"], ids=["its name", "another name"])
def test_some_commands_run_beside_a_turn_by_any_of_their_names(desks: Desks, line: str) -> None:
    script = Script(Turn(text="One."), held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        desk.send(line)
        desk.until(lambda: f"› {line}" in desk.screen and not desk.chat.command_runner.busy)
        assert (desk.chat.prompt_queue.running, "⧗" in desk.screen) == (True, False)


def test_other_commands_wait_for_the_turn_and_are_seen_waiting(desks: Desks) -> None:
    script = Script(*ANSWERS, held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        desk.send("/rewind 1 conversation")
        desk.send("!echo typed")
        assert [line for line in desk.paper.display() if "⧗" in line] == ["⧗ /rewind 1 conversation", "⧗ !echo typed"]
        script.let()
        desk.until("goes on from before turn 1")
        desk.until("  typed")
        desk.rest()
        assert len(desk.server.posts) == 1


def test_a_command_of_an_inspector_waits_for_the_turn_too(desks: Desks) -> None:
    script = Script(*ANSWERS, held=[1])
    with desks.open(script) as desk:
        desk.send("one")
        desk.until("Answer 1.")
        desk.rest()
        desk.chat.command_runner.panel("rewind")
        desk.until("one")
        desk.chat.prompt_queue.play(lambda conversation: conversation.prompt("two"))
        desk.press("enter", Key("text", "1"))
        assert "⧗ /rewind 1 conversation" in desk.screen
        script.let()
        desk.until("goes on from before turn 1")
        assert "Answer 2." in desk.all


def test_what_is_sent_after_a_command_waits_until_it_is_done(desks: Desks) -> None:
    with desks.open(Script(*ANSWERS)) as desk:
        desk.send("/model other-model")
        desk.send("go")
        desk.until("Answer 1.")
        assert desk.server.posts[0].json()["model"] == "other-model"


def test_leaving_by_a_command_needs_no_end_of_the_turn(desks: Desks) -> None:
    script = Script(Turn(text="One."), held=[0])
    with desks.open(script) as desk:
        desk.send("go")
        desk.send("/q")
        desk.until(lambda: desk.chat.over)


# ── the shell ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_shell_line_runs_and_the_model_reads_of_it_with_the_next_prompt(desks: Desks) -> None:
    with desks.open(Turn(text="I saw it.")) as desk:
        desk.send("!echo $((6 * 7))")
        desk.until("42")
        desk.rest()
        assert desk.server.posts == []
        desk.send("and?")
        desk.until("I saw it.")
        assert "42" in desk.server.posts[0].body.decode()


def test_a_dangerous_shell_line_asks_first(desks: Desks) -> None:
    (desks.folder / "build").mkdir()
    with desks.open(Turn(text="no")) as desk:
        desk.send("!rm -rf build")
        desk.question()
        desk.press("esc")
        desk.until(lambda: "Allow bash?" not in desk.screen)
        desk.rest()
        assert (desks.folder / "build").is_dir()


# ── another conversation ─────────────────────────────────────────────────────────────────────────────────────


def test_a_new_session_begins_with_nothing_of_the_old_one(desks: Desks) -> None:
    with desks.open(Script(Turn(reasoning="An old thought.", text="Old answer."), Turn(text="New answer."))) as desk:
        desk.send("old prompt")
        desk.until("Old answer.")
        desk.rest()
        before, completer = desk.chat.background.current, desk.chat.completion._completer
        desk.send("/clear")
        desk.send("new prompt")
        desk.until("New answer.")
        desk.rest()
        now = desk.chat.background.current
        assert (desk.asked(), now is before, now.session.turn) == (["new prompt"], False, 1)
        desk.until(lambda: desk.chat.completion._completer not in (completer, None))
        assert desk.chat.gauges is not None and desk.chat.gauges.title == "new prompt"
        assert f"New session {now.id}." in desk.screen
        desk.press("ctrl-o")
        desk.until("new prompt")
        assert "An old thought." not in desk.screen


def test_a_notice_about_the_settings_is_told_once_however_many_sessions_begin(desks: Desks) -> None:
    (desks.folder / "overt.toml").write_text("[ui]\nsparkles = true\n")
    with desks.open(Turn(text="no")) as desk:
        for _ in range(2):
            desk.send("/new")
            desk.rest()
        assert (desk.all.count("New session"), desk.all.count("sparkles")) == (2, 1)


def test_a_new_session_keeps_the_model_that_was_chosen_last(desks: Desks) -> None:
    with desks.open(Script(*ANSWERS)) as desk:
        desk.send("/model other-model")
        desk.rest()
        desk.send("/new")
        desk.send("prompt")
        desk.until("Answer 1.")
        assert desk.server.posts[0].json()["model"] == "other-model"


def test_resuming_shows_what_was_said_but_not_what_was_gone_back_over(desks: Desks) -> None:
    with desks.open(Script(*ANSWERS)) as desk:
        for number in (1, 2):
            desk.send(f"prompt {number}")
            desk.until(f"Answer {number}.")
            desk.rest()
        desk.send("/rewind 2 conversation")
        desk.until("goes on from before turn 2")
        desk.rest()
        session = desk.chat.background.current.id
        desk.press("ctrl-u")
        desk.send("/new")
        desk.until("New session")
        desk.rest()
        desk.press("ctrl-l")
        desk.send(f"/resume {session}")
        desk.until(f"Session {session}.")
        desk.until("Answer 1.")
        desk.rest()
        assert ("prompt 2" in desk.screen, "New session" in desk.screen) == (False, False)
        desk.send("prompt 3")
        desk.until("Answer 3.")
        assert desk.asked() == ["prompt 1", "prompt 3"]


def test_names_of_files_from_another_session_are_not_citations_in_a_resumed_one(desks: Desks) -> None:
    """After `src/a.py:1`, a bare `a.py:1` means the same file, but only in the same session."""
    (desks.folder / "src").mkdir()
    (desks.folder / "src" / "a.py").write_text("one\n")
    cites = [Turn(text=text) for text in ("Hello.", "See src/a.py:1 first.", "Then a.py:1 again.", "Now a.py:1 here.")]

    def is_struck_through(words: str) -> bool:
        (line,) = [number for number, text in enumerate(desk.paper.display()) if words in text]
        return bool(desk.paper.cell(line, desk.paper.display()[line].index("a.py")).strikethrough)

    with desks.open(Script(*cites)) as desk:
        desk.send("prompt 1")
        desk.until("Hello.")
        desk.rest()
        session = desk.chat.background.current.id
        desk.send("/new")
        desk.until("New session")
        desk.rest()
        for number, words in ((2, "See src/a.py:1 first."), (3, "Then a.py:1 again.")):
            desk.send(f"prompt {number}")
            desk.until(words)
            desk.rest()
        assert not is_struck_through("Then a.py:1 again.")
        desk.send(f"/resume {session}")
        desk.until(f"Session {session}.")
        desk.rest()
        desk.send("prompt 4")
        desk.until("Now a.py:1 here.")
        desk.rest()
        assert is_struck_through("Now a.py:1 here.")


def test_a_fork_goes_on_in_a_copy(desks: Desks) -> None:
    with desks.open(Script(*ANSWERS)) as desk:
        desk.send("prompt 1")
        desk.until("Answer 1.")
        desk.rest()
        parent = desk.chat.background.current.id
        desk.send("/fork")
        desk.until(f"copy of session {parent}")
        desk.rest()
        assert desk.chat.background.current.id != parent
        desk.send("prompt 2")
        desk.until("Answer 2.")
        assert desk.asked() == ["prompt 1", "prompt 2"]


def test_a_session_that_cannot_be_resumed_leaves_everything_as_it_is(desks: Desks) -> None:
    with desks.open(Script(*ANSWERS)) as desk:
        desk.send("prompt 1")
        desk.until("Answer 1.")
        desk.rest()
        desk.send("/resume nothing-like-it")
        desk.until("error:")
        desk.send("prompt 2")
        desk.until("Answer 2.")
        assert desk.asked() == ["prompt 1", "prompt 2"]


def test_what_is_sent_while_another_session_is_opened_goes_to_that_one(desks: Desks) -> None:
    with desks.open(Script(*ANSWERS)) as desk:
        desk.send("/new")
        desk.send("prompt")
        assert "⧗ prompt" in desk.screen
        desk.until("Answer 1.")
        desk.rest()
        assert desk.all.index("› prompt") > desk.all.index("New session")


# ── going back ───────────────────────────────────────────────────────────────────────────────────────────────


def test_going_back_puts_the_prompt_of_that_turn_into_the_composer(desks: Desks) -> None:
    with desks.open(Script(*ANSWERS)) as desk:
        for number in (1, 2, 3):
            desk.send(f"prompt {number}")
            desk.until(f"Answer {number}.")
            desk.rest()
        desk.press("esc", "esc")
        desk.until("prompt 1")
        desk.press("down", "enter", Key("text", "1"))
        desk.until("goes on from before turn 2")
        desk.rest()
        assert desk.draft == "prompt 2"
        desk.type(" better")
        desk.press("enter")
        desk.until("Answer 4.")
        assert desk.asked() == ["prompt 1", "prompt 2 better"]


def test_only_files_taken_back_leave_the_composer_alone(desks: Desks) -> None:
    edit = calls(call("write", path="new.txt", content="x\n"))
    with desks.open(Script(edit, Turn(text="Written.")), mode="auto") as desk:
        desk.send("write it")
        desk.until("Written.")
        desk.rest()
        desk.send("/rewind 1 files")
        desk.rest()
        assert (desk.draft, Path(desks.folder / "new.txt").exists()) == ("", False)


def test_going_back_brings_an_image_along(desks: Desks) -> None:
    picture = desks.folder / "shot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 2000)
    with desks.open(Script(*ANSWERS)) as desk:
        desk.type("see ")
        desk.press(Key("paste", str(picture)), "enter")
        desk.until("Answer 1.")
        desk.rest()
        desk.send("/rewind 1 conversation")
        desk.until("goes on from before turn 1")
        desk.rest()
        assert [each.image.data for each in desk.chat.composer.attachments] == [picture.read_bytes()]
        desk.press("enter")
        desk.until("Answer 2.")
        assert [part["type"] for part in desk.asked()[0]] == ["image_url", "text"]


# ── the terminal's own ───────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_copied_and_one_that_is_too_long_is_not_said_to_be(desks: Desks) -> None:
    with desks.open(Script(Turn(text="Short."), Turn(text="x" * 80_000, chunk=4000))) as desk:
        desk.send("one")
        desk.until("Short.")
        desk.rest()
        desk.paper.taken()
        desk.send("/copy")
        desk.until("Copied: 6 characters.")
        assert "\x1b]52;c;U2hvcnQu\a" in desk.paper.taken()
        desk.send("two")
        desk.until(lambda: len(desk.server.posts) == 2)
        desk.rest()
        desk.paper.taken()
        desk.send("/copy")
        desk.until("Not copied")
        assert ("]52;" in desk.paper.taken(), desk.all.count("Copied:")) == (False, 1)


def test_a_theme_is_seen_at_once(desks: Desks) -> None:
    with desks.open(Turn(text="no")) as desk:
        dark = colours(desk)
        desk.send("/theme light")
        desk.until("theme: light")
        desk.rest()
        light = colours(desk)
        desk.send("/theme purple")
        desk.until("error:")
        desk.send("/theme")
        desk.until(lambda: desk.screen.count("theme: light") == 2)
        assert (dark != light, colours(desk)) == (True, light)


def test_the_editor_opens_by_its_command(desks: Desks) -> None:
    editor = desks.folder / "ed.sh"
    editor.write_text('#!/bin/sh\necho "from outside" > "$1"\n')
    editor.chmod(0o755)
    (desks.folder / "overt.toml").write_text(f'[ui]\neditor = "{editor}"\n')
    with desks.open(Turn(text="no")) as desk:
        desk.send("/editor")
        desk.until(lambda: desk.draft == "from outside")
        assert desk.paper.mode == "raw"
