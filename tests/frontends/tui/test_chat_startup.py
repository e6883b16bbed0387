"""From nothing to a chat: trust, models, errors, the first prompt, an earlier session, and the colours."""

import asyncio
import gc
import threading

import pytest
from tests.fakes.model_server import Turn
from tests.frontends.tui.chat_kit import Desks, colours
from tests.journeys.journey_kit import until

from overt.app.conversation import Conversation
from overt.core.errors import ConfigError, OvertError
from overt.frontends.tui.chat.background import Background
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.loop import Item
from overt.frontends.wakeup_queue import Wake

HELLO = Turn(text="Hello there.")


def test_the_prompt_of_the_command_line_is_sent_when_the_chat_stands(desks: Desks) -> None:
    with desks(HELLO, first="the task") as desk:
        desk.chat.paint()
        assert "⧗ the task" in desk.screen
        desk.until("Hello there.")
        desk.rest()
        assert (desk.asked(), desk.draft, "⧗" in desk.screen) == (["the task"], "", False)


def test_the_first_prompt_waits_for_the_answer_about_the_folder(desks: Desks) -> None:
    (desks.folder / "AGENTS.md").write_text("Always obey.\n")
    with desks(HELLO, first="the task", trusted=None) as desk:
        desk.until("leave")
        assert (desk.server.posts, "⧗ the task" in desk.screen) == ([], True)
        desk.type("y")
        desk.until("Hello there.")
        assert "Always obey." in desk.server.posts[0].body.decode()


def test_what_was_typed_before_the_question_about_the_folder_is_no_answer_to_it(desks: Desks) -> None:
    with desks(HELLO, trusted=None) as desk:
        desk.type("ye")
        desk.until("Do you trust")
        assert "yes, trust it" not in desk.screen
        desk.type("s, do it")
        assert (desk.draft, desk.chat.startup.panel is None) == ("yes, do it", False)
        for letter in "ny":  # each just after the question has come up
            desk.wait(0.6)
            assert "yes, trust it" in desk.screen
            desk.type(letter)
            assert "yes, trust it" not in desk.screen
        assert desk.draft == "yes, do itny"
        desk.wait(0.6)
        desk.wait(0.4)
        desk.type("n")
        desk.until(lambda: desk.chat.prompt_queue._open)
        assert desk.draft == "yes, do itny"
        desk.press("enter")
        desk.until("Hello there.")


def test_what_is_sent_before_the_chat_stands_waits_and_is_remembered(desks: Desks) -> None:
    with desks(HELLO) as desk:
        desk.send("early bird")
        assert "⧗ early bird" in desk.screen
        desk.until("Hello there.")
        desk.rest()
    with desks.open(HELLO) as desk:
        desk.press("up")
        assert desk.draft == "early bird"


def test_without_a_model_a_panel_offers_to_set_one_up(desks: Desks) -> None:
    with desks(HELLO, config="") as desk:
        desk.until("No model was found.")
        desk.until("set one up now")
        desk.type("s")
        assert (desk.chat.over, desk.chat.startup.outside) == (True, "setup")


def test_a_session_that_does_not_exist_ends_the_chat_with_its_reason(desks: Desks) -> None:
    with desks(HELLO, resume="nothing-like-it") as desk, pytest.raises(OvertError, match="nothing-like-it"):
        desk.until(lambda: False)


def test_a_broken_configuration_ends_the_chat_with_its_place(desks: Desks) -> None:
    with desks(HELLO, trusted=None, config="[ui]\ntheme = 5\n") as desk, pytest.raises(ConfigError, match="theme"):
        desk.until(lambda: False)


def test_a_continued_session_shows_its_last_turns_before_anything_new(desks: Desks) -> None:
    with desks.open(HELLO) as desk:
        desk.send("once")
        desk.until("Hello there.")
        desk.rest()
    with desks(Turn(text="And on."), first="twice", continue_last=True) as desk:
        desk.until("And on.")
        desk.rest()
        lines = desk.paper.everything()
        assert desk.asked() == ["once", "twice"]
        assert lines.index("› once") < lines.index("Hello there.") < lines.index("› twice")


def test_a_plain_face_in_the_settings_hands_over(desks: Desks) -> None:
    (desks.folder / "overt.toml").write_text('[ui]\nface = "plain"\n')
    with desks(HELLO) as desk:
        desk.until(lambda: desk.chat.over)
        assert desk.chat.startup.outside == "plain"


def test_what_comes_to_an_end_after_the_chat_is_nobodys(capfd: pytest.CaptureFixture[str]) -> None:
    wake = Wake[Item]()
    before, gone = set(threading.enumerate()), threading.Event()
    background = Background(wake)
    background.run_in_thread(lambda: gone.wait(20), print, print)
    background.close("interrupted")
    wake.close()
    gone.set()
    until(lambda: not {each for each in threading.enumerate() if each.name == "aside"} - before)
    assert capfd.readouterr() == ("", "")


def test_leaving_in_the_middle_of_a_command_leaves_no_complaint_behind(
    desks: Desks, caplog: pytest.LogCaptureFixture
) -> None:
    with desks.open(Turn(text="no")) as desk:
        begun = threading.Event()

        async def forever(_conversation: Conversation) -> None:
            begun.set()
            await asyncio.sleep(3600)

        desk.chat.background.ask(forever, print, print)
        assert begun.wait(20)
        desk.chat.background.ask(forever, print, print)
        engine, conversation = desk.chat.background.session_thread, desk.chat.background.current
        assert engine is not None
        desk.chat.background.run_in_thread(lambda: engine.call(forever(conversation)), print, print)
        desk.press("ctrl-d")
    gc.collect()
    assert caplog.messages == []


# ── colours ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("colour", "as_theme"),
    [("rgb:ffff/ffff/ffff", "light"), ("rgb:0000/0000/0000", "dark")],
)
def test_the_background_that_the_terminal_tells_decides(desks: Desks, colour: str, as_theme: str) -> None:
    with desks.open(HELLO) as desk:
        assert "\x1b]11;?" in desk.paper.taken()
        desk.type("words")
        desk.press(Key("reply", f"]11;{colour}"))
        told = colours(desk)
        desk.press("ctrl-c")
        desk.send(f"/theme {as_theme}")
        desk.rest()
        desk.press("ctrl-l")
        desk.type("words")
        assert told == colours(desk)


def test_an_answer_of_the_terminal_is_no_key(desks: Desks) -> None:
    with desks.open(HELLO) as desk:
        desk.type("ab")
        desk.press("esc", Key("reply", "\x1b[?1;2c"), "focus-in", "esc")
        assert desk.draft == ""


# ── images ───────────────────────────────────────────────────────────────────────────────────────────────────


BLIND = """
default_model = "mine/blind"
[[providers]]
name = "mine"
base_url = "URL"
[[providers.models]]
name = "blind"
images = false
"""


@pytest.fixture
def picture(desks: Desks) -> Key:
    """Dropped on the terminal."""
    path = desks.folder / "shot.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 2000)
    return Key("paste", str(path))


@pytest.mark.parametrize(("config", "told"), [(BLIND, 1), (BLIND.replace("false", "true"), 0)], ids=["blind", "sees"])
def test_a_person_is_told_when_the_model_takes_no_images(desks: Desks, picture: Key, config: str, told: int) -> None:
    with desks.open(HELLO, config=config) as desk:
        desk.press(picture, "enter")
        desk.until("Hello there.")
        desk.rest()
        assert desk.all.count("blind takes no images: they are left out, and the model gets a note about it.") == told
        desk.send("no image here")
        desk.until(lambda: len(desk.server.posts) == 2)
        desk.rest()
        assert desk.all.count("takes no images") == told


def test_a_person_is_told_so_in_a_continued_session_too(desks: Desks, picture: Key) -> None:
    with desks.open(HELLO, config=BLIND) as desk:
        desk.send("words")
        desk.until("Hello there.")
        desk.rest()
    with desks.open(HELLO, config=BLIND, continue_last=True) as desk:
        desk.press(picture, "enter")
        desk.until("takes no images")


def test_the_next_prompt_works_after_leaving_an_inspector_opened_by_a_command(desks: Desks) -> None:
    with desks.open(HELLO) as desk:
        desk.send("/context")
        desk.until("Context")
        desk.press("esc")
        desk.send("hi")
        desk.until("Hello there.")
