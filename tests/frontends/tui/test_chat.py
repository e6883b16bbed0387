"""The chat driven by keys: what is sent where, what waits, what comes back, and what each key does meanwhile."""

import pytest
from tests.fakes.model_server import Fault, Turn
from tests.frontends.tui.chat_kit import Desk, Desks, Script
from tests.journeys.journey_kit import call, calls, until

from overt.app.conversation import Conversation
from overt.core.errors import InternalError, OvertError
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.loop import Callback, ThreadCrash

READ = calls(call("read", path="a.txt"))
STALLED = Turn(text="word " * 40, chunk=5, fault=Fault(stall_after=20))


@pytest.fixture(autouse=True)
def a_file(desks: Desks) -> None:
    (desks.folder / "a.txt").write_text("a\n")


def test_enter_sends_a_prompt_and_the_answer_is_printed(desks: Desks) -> None:
    with desks.open(Turn(text="Hello there.")) as desk:
        desk.send("hi")
        desk.until("Hello there.")
        desk.rest()
        assert (desk.asked(), desk.draft) == (["hi"], "")


def test_enter_on_nothing_on_blanks_or_on_a_bare_mark_sends_nothing(desks: Desks) -> None:
    with desks.open(Turn(text="no")) as desk:
        desk.press("enter")
        desk.send("   ")
        desk.send("!")
        desk.still()
        assert (desk.server.posts, desk.chat.prompt_queue.running) == ([], False)


# ── while a turn runs ────────────────────────────────────────────────────────────────────────────────────────


def test_steering_is_shown_as_waiting_until_the_model_has_got_it(desks: Desks) -> None:
    script = Script(READ, Turn(text="Both seen."), held=[0, 1])
    with desks.open(script) as desk:
        desk.send("go")
        desk.until(lambda: len(desk.server.posts) == 1)
        desk.send("and b.txt")
        desk.send("and c.txt")
        assert desk.paper.display()[-5:-1] == ["", "→ and b.txt", "→ and c.txt", _placeholder(desk)]
        assert "next step" in desk.status
        script.let(0)
        desk.until(lambda: len(desk.server.posts) == 2)
        desk.until(lambda: "→" not in desk.screen)
        assert desk.asked(1) == ["go", "and b.txt", "and c.txt"]
        script.let(1)
        desk.until("Both seen.")
        desk.rest()
        assert (len(desk.server.posts), "› and c.txt" in desk.all) == (2, True)


def test_steering_that_comes_too_late_opens_the_next_turn(desks: Desks) -> None:
    script = Script(Turn(text="One."), Turn(text="Two."), Turn(text="Three."), held=[0])
    with desks.open(script) as desk:
        desk.send("first")
        desk.until(lambda: len(desk.server.posts) == 1)
        script.let(0)
        _until_over_but_untold(desk)
        desk.send("second")
        assert "→ second" in desk.screen
        desk.until("Two.")
        desk.rest()
        assert (desk.asked(), len(desk.server.posts), "→" in desk.screen) == (["first", "second"], 2, False)


def test_what_is_sent_while_a_turn_comes_to_rest_waits_its_turn_behind_what_was_queued(desks: Desks) -> None:
    script = Script(Turn(text="One."), Turn(text="Two."), Turn(text="Three."), held=[0])
    with desks.open(script) as desk:
        desk.send("first")
        desk.send("second", "alt-enter")
        script.let(0)
        _until_over_but_untold(desk)
        while not desk.chat.prompt_queue._resting:
            desk.take_item()
        desk.send("third")
        desk.until("Three.")
        desk.rest()
        assert desk.asked() == ["first", "second", "third"]


def _until_over_but_untold(desk: Desk) -> None:
    """The session is done with the turn; the chat has not heard of it."""
    until(lambda: None in list(desk.wake.items))


def test_alt_enter_queues_in_order_and_what_waits_is_shown(desks: Desks) -> None:
    script = Script(*(Turn(text=f"Answer {number}.") for number in range(6)), held=[0])
    with desks.open(script) as desk:
        desk.send("zero")
        for text in ("one", "two", "three", "four"):
            desk.send(text, "alt-enter")
        assert desk.paper.display()[-6:-1] == ["⧗ one", "⧗ two", "⧗ three", "  … 1 more", _placeholder(desk)]
        assert "Up on an empty line" in desk.status
        script.let()
        desk.until("Answer 4.")
        desk.rest()
        assert desk.asked() == ["zero", "one", "two", "three", "four"]


def _placeholder(desk: Desk) -> str:
    return f"› {desk.chat.composer.placeholder}"


def test_alt_enter_is_a_line_break_while_nothing_runs(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.send("a", "alt-enter")
        desk.type("b")
        assert (desk.draft, desk.server.posts) == ("a\nb", [])


def test_up_on_an_empty_line_takes_back_what_was_queued_last(desks: Desks) -> None:
    script = Script(Turn(text="One."), Turn(text="Two."), held=[0])
    with desks.open(script) as desk:
        desk.send("first")
        desk.send("second", "alt-enter")
        desk.send("third\nwith more", "alt-enter")
        desk.press("up")
        assert (desk.draft, "⧗ third" in desk.screen, "⧗ second" in desk.screen) == ("third\nwith more", False, True)
        desk.press("ctrl-u", "backspace", "ctrl-u")
        script.let()
        desk.until("Two.")
        desk.rest()
        assert (desk.draft, desk.asked()) == ("", ["first", "second"])


def test_up_recalls_the_history_when_nothing_waits(desks: Desks) -> None:
    script = Script(Turn(text="One."), held=[0])
    with desks.open(script) as desk:
        desk.send("first")
        desk.press("up")
        assert desk.draft == "first"


def test_an_interrupt_brings_back_what_was_steered_and_queued_before_the_draft(desks: Desks) -> None:
    with desks.open(Script(STALLED, Turn(text="Again."))) as desk:
        desk.send("talk")
        desk.until("word word")
        desk.send("steered")
        desk.send("queued", "alt-enter")
        desk.type("a draft")
        desk.press("esc")
        desk.until("Interrupted")
        desk.rest()
        assert desk.draft == "steered\nqueued\na draft"
        assert ("→" in desk.screen, "⧗" in desk.screen, len(desk.server.posts)) == (False, False, 1)
        desk.press("enter")
        desk.until("Again.")
        assert desk.asked()[-1] == "steered\nqueued\na draft"


def test_what_waited_comes_back_after_an_error_and_the_next_prompt_works(desks: Desks) -> None:
    refused = Turn(fault=Fault(status=400, body='{"error": {"message": "no such thing"}}'))
    script = Script(refused, Turn(text="Fine now."), held=[0])
    with desks.open(script) as desk:
        desk.send("first")
        desk.until(lambda: len(desk.server.posts) == 1)
        desk.send("steered")
        desk.send("queued", "alt-enter")
        script.let()
        desk.until("no such thing")
        desk.rest()
        assert (desk.draft, len(desk.server.posts)) == ("steered\nqueued", 1)
        desk.press("enter")
        desk.until("Fine now.")


def test_an_image_that_waited_comes_back_with_the_prompt(desks: Desks) -> None:
    picture = desks.folder / "shot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 2000)
    with desks.open(Script(STALLED, Turn(text="Seen."))) as desk:
        desk.send("talk")
        desk.until("word word")
        desk.type("what is ")
        desk.press(Key("paste", str(picture)))
        desk.type(" then?")
        desk.press("enter")
        assert "⧗ what is [image #1: shot.png] then?" in desk.screen
        desk.type("and")
        desk.press("esc")
        desk.until("Interrupted")
        desk.rest()
        assert (desk.draft, [each.name for each in desk.chat.composer.attachments]) == (
            "what is [image #2: shot.png] then?\nand",
            ["shot.png"],
        )
        desk.press("enter")
        desk.until("Seen.")
        image, words = desk.asked()[-1]
        assert (image["type"], words["text"]) == ("image_url", "what is [image #2: shot.png] then?\nand")


def test_a_draft_is_kept_while_a_turn_runs_and_ends(desks: Desks) -> None:
    script = Script(Turn(text="One."), held=[0])
    with desks.open(script) as desk:
        desk.send("first")
        desk.type("half a th")
        script.let()
        desk.until("One.")
        desk.rest()
        desk.type("ought")
        assert desk.draft == "half a thought"


# ── Esc and Ctrl+C ───────────────────────────────────────────────────────────────────────────────────────────


def test_an_impatient_second_esc_after_an_interrupt_does_no_harm(desks: Desks) -> None:
    with desks.open(Script(STALLED)) as desk:
        desk.send("talk")
        desk.until("word word")
        desk.type("my draft")
        desk.press("esc")
        desk.until("Interrupted")
        desk.rest()
        desk.press("esc")
        inspector = desk.chat.command_runner.inspector
        assert (desk.draft, inspector, desk.status) == ("my draft", None, "Esc again clears the text")


def test_esc_twice_clears_a_text_and_on_an_empty_line_opens_rewind(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.type("words")
        desk.press("esc", "esc")
        assert (desk.draft, desk.chat.command_runner.inspector) == ("", None)
        desk.press("esc")
        assert desk.status == "Esc again goes back to an earlier turn"
        desk.press("esc")
        desk.until("Rewind")
        desk.press("esc")
        inspector = desk.chat.command_runner.inspector
        assert (inspector, "Overt 0." in desk.screen, "again" in desk.screen) == (None, True, False)


def test_two_escs_that_are_far_apart_or_have_a_key_between_them_are_two_first_ones(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.type("words")
        desk.press("esc")
        desk.wait(1.1)
        desk.press("esc", "left", "esc")
        assert desk.draft == "words"


def test_esc_closes_a_menu_first_and_that_is_no_first_of_two(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.type("/mod")
        desk.until("/models")
        desk.press("esc")
        desk.still()
        assert ("/models" in desk.screen, desk.draft) == (False, "/mod")
        desk.press("esc")
        assert (desk.draft, desk.status) == ("/mod", "Esc again clears the text")
        desk.press("esc")
        assert desk.draft == ""


def test_with_vi_keys_esc_leaves_insert_mode_and_twice_after_that_clears(desks: Desks) -> None:
    (desks.folder / "overt.toml").write_text('[ui]\nkeys = "vi"\n')
    with desks.open(Script(STALLED), trusted=True) as desk:
        assert desk.status.startswith("INSERT")
        desk.type("words")
        desk.press("esc")
        assert (desk.draft, desk.status.split(" ")[0]) == ("words", "NORMAL")
        desk.press("esc")
        assert desk.draft == "words"
        desk.press("esc")
        assert desk.draft == ""


def test_with_vi_keys_one_esc_on_an_empty_line_stops_the_turn(desks: Desks) -> None:
    (desks.folder / "overt.toml").write_text('[ui]\nkeys = "vi"\n')
    with desks.open(Script(STALLED), trusted=True) as desk:
        desk.send("talk")
        desk.until("word word")
        desk.press("esc")
        desk.until("Interrupted")


def test_with_vi_keys_esc_in_a_text_leaves_insert_mode_and_the_turn_runs_on(desks: Desks) -> None:
    (desks.folder / "overt.toml").write_text('[ui]\nkeys = "vi"\n')
    with desks.open(Script(STALLED), trusted=True) as desk:
        desk.send("talk")
        desk.until("word word")
        desk.type("draft")
        desk.press("esc")
        desk.still()
        assert (desk.chat.prompt_queue.running, desk.draft, desk.status.split(" ")[0]) == (True, "draft", "NORMAL")
        desk.press("esc")
        desk.until("Interrupted")
        assert desk.draft == "draft"


def test_ctrl_c_stops_the_turn_then_clears_and_only_twice_on_an_empty_line_leaves(desks: Desks) -> None:
    with desks.open(Script(STALLED)) as desk:
        desk.send("talk")
        desk.until("word word")
        desk.type("draft")
        desk.press("ctrl-c")
        desk.until("Interrupted")
        desk.rest()
        assert (desk.draft, desk.chat.over) == ("draft", False)
        desk.press("ctrl-c")
        assert (desk.draft, desk.chat.over) == ("", False)
        desk.press("ctrl-c")
        assert (desk.status, desk.chat.over) == ("Ctrl+C again leaves", False)
        desk.press("ctrl-c")
        assert desk.chat.over


def test_ctrl_c_right_after_the_end_of_a_turn_is_not_lost(desks: Desks) -> None:
    with desks.open(Script(STALLED)) as desk:
        desk.send("talk")
        desk.until("word word")
        desk.press("ctrl-c")
        desk.until("Interrupted")
        desk.chat.prompt_queue.running = True  # as long as it is not known what follows the turn
        desk.press("ctrl-c")
        assert (desk.status, desk.chat.over) == ("Ctrl+C again leaves", False)
        desk.chat.prompt_queue.running = False


def test_ctrl_d_leaves_from_an_empty_line_only(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.type("ab")
        desk.press("home", "ctrl-d")
        assert (desk.draft, desk.chat.over) == ("b", False)
        desk.press("ctrl-d", "ctrl-d")
        assert desk.chat.over


# ── the other keys ───────────────────────────────────────────────────────────────────────────────────────────


def test_shift_tab_goes_round_the_modes_however_fast_and_never_to_yolo(desks: Desks) -> None:
    script = Script(Turn(text="One."), held=[0])
    with desks.open(script) as desk:
        seen = []
        for _ in range(4):
            desk.press("shift-tab")
            desk.still()
            seen.append(desk.chat.gauges.mode if desk.chat.gauges else "")
        assert seen == ["auto", "plan", "review", "auto"]
        desk.press("shift-tab", "shift-tab")
        desk.still()
        assert "review" in desk.status
        desk.send("/mode yolo")
        desk.until("yolo")
        desk.rest()
        desk.send("go")
        desk.until(lambda: desk.server.posts)
        desk.press("shift-tab")
        desk.still()
        assert ("review" in desk.chat.background.current.mode, "steering" in desk.screen) == (True, False)


def test_a_question_mark_on_an_empty_line_is_help_and_in_a_text_a_letter(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.type("why?")
        assert desk.draft == "why?"
        desk.press("ctrl-c")
        desk.type("?")
        desk.until("Help")
        desk.press(Key("text", "q"))
        assert (desk.draft, desk.chat.command_runner.inspector) == ("", None)


def test_a_question_mark_in_a_search_of_the_history_is_searched_for(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.send("why so?")
        desk.until("ok")
        desk.rest()
        desk.press("ctrl-r")
        desk.type("so?")
        assert (desk.chat.command_runner.inspector, "search: so?" in desk.screen) == (None, True)
        desk.press("enter")
        assert desk.draft == "why so?"


def test_an_earlier_command_is_walked_past_and_not_completed(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.send("older words")
        desk.until("ok")
        desk.rest()
        desk.send("/mode plan")
        desk.rest()
        desk.press("up")
        desk.still()
        assert desk.draft == "/mode plan"
        desk.press("up")
        assert desk.draft == "older words"


def test_ctrl_o_and_ctrl_t_open_what_was_thought_and_the_todos_while_a_turn_runs(desks: Desks) -> None:
    script = Script(Turn(reasoning="Deep thoughts.", text="One."), Turn(text="Two."), held=[1])
    with desks.open(script) as desk:
        desk.send("first")
        desk.until("One.")
        desk.rest()
        desk.send("second")
        desk.press("ctrl-o")
        desk.until("Deep thoughts.")
        script.let()
        desk.press("esc")
        desk.until("Two.")
        desk.press("ctrl-t")
        desk.until("There is no todo list.")
        desk.press(Key("text", "q"))
        assert desk.all.count("Two.") == 1


def test_ctrl_l_gives_a_clean_screen_and_loses_nothing(desks: Desks) -> None:
    with desks.open(Turn(text="Kept.")) as desk:
        desk.send("hi")
        desk.until("Kept.")
        desk.rest()
        desk.type("draft")
        desk.press("ctrl-l")
        assert ("Kept." in desk.screen, "Kept." in desk.all, "› draft" in desk.screen) == (False, True, True)


def test_ctrl_s_puts_a_draft_aside_over_a_prompt(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.type("long plan")
        desk.press("ctrl-s")
        assert "+ draft" in desk.status
        desk.send("quick one")
        desk.until("ok")
        desk.rest()
        desk.press("ctrl-s")
        assert "+ draft" not in desk.status
        assert (desk.draft, desk.asked()) == ("long plan", ["quick one"])


def test_ctrl_v_without_an_image_says_so_in_a_line_that_goes_away(
    desks: Desks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with desks.open(Turn(text="ok")) as desk:
        monkeypatch.setenv("PATH", str(desks.folder))
        desk.type("see ")
        desk.press("ctrl-v")
        desk.until("To paste an image, install one of")
        assert desk.draft == "see "
        desk.wait(3.1)
        assert "To paste" not in desk.screen


def test_ctrl_g_edits_the_draft_outside_while_the_turn_goes_on(desks: Desks) -> None:
    editor = desks.folder / "ed.sh"
    editor.write_text('#!/bin/sh\nprintf "%s, said better\\n" "$(cat "$1")" > "$1"\n')
    editor.chmod(0o755)
    (desks.folder / "overt.toml").write_text(f'[ui]\neditor = "{editor}"\n')
    script = Script(Turn(text="One."), Turn(text="Two."), held=[0])
    with desks.open(script) as desk:
        desk.send("first")
        desk.type("words")
        desk.press("ctrl-g")
        script.let()
        desk.until("One.")
        desk.rest()
        assert (desk.draft, desk.paper.mode) == ("words, said better", "raw")
        editor.write_text("#!/bin/sh\nexit 3\n")
        desk.press("ctrl-g")
        desk.until("ended with code 3")
        assert (desk.draft, desk.paper.mode) == ("words, said better", "raw")


def test_tab_where_nothing_can_be_completed_says_so(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.type("plain words ")
        desk.press("tab")
        assert desk.status == "nothing to complete here"


def test_sleeping_over_an_open_inspector_comes_back_to_it(desks: Desks) -> None:
    with desks.open(Turn(text="ok")) as desk:
        desk.type("?")
        desk.until("Help")
        desk.press("ctrl-z")
        assert (desk.paper.stopped, "Help" in desk.screen, 1049 in desk.paper.on) == (1, True, True)
        desk.press("esc")
        assert (1049 in desk.paper.on, "fake-model" in desk.status) == (False, True)


def test_letters_behind_the_one_that_closes_an_inspector_are_typed(desks: Desks) -> None:
    with desks.open(Turn(text="no")) as desk:
        desk.press("ctrl-t")
        desk.press(Key("text", "qthree"))
        desk.until(lambda: desk.draft == "three")


def test_a_mistake_of_ours_behind_the_scenes_is_reported_to_whoever_asked(desks: Desks) -> None:
    async def broken(_conversation: Conversation) -> None:
        raise ZeroDivisionError

    with desks.open(Turn(text="no")) as desk:
        desk.still()
        reports: list[OvertError] = []
        desk.chat.background.ask(broken, print, reports.append)
        until(lambda: desk.wake.items)
        done = desk.wake.items.popleft()
        assert isinstance(done, Callback)
        done.do()
        assert [report.summary for report in reports if isinstance(report, InternalError)] == ["ZeroDivisionError"]


def test_a_mistake_of_ours_that_nobody_can_be_told_of_ends_the_chat(desks: Desks) -> None:
    with desks.open(Turn(text="no")) as desk:
        desk.still()
        desk.chat.background.read(lambda _conversation: 1 / 0, print)
        until(lambda: any(isinstance(item, ThreadCrash) for item in desk.wake.items))
        desk.wake.items.clear()
