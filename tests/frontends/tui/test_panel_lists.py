"""Pickers that lead somewhere: another session, an earlier turn, another model."""

from time import localtime, strftime

import pytest
from tests.frontends.tui.panel_kit import MODELS, SESSIONS, TURNS, UNDONE, body, filled, kept, press, text_of

from overt.app.inspect.inspector_values import Changes, Preview, SessionPage, Turns
from overt.frontends.tui.panels.models import ModelsPanel
from overt.frontends.tui.panels.pager import CLOSE, PanelRequest
from overt.frontends.tui.panels.rewind import RewindPanel
from overt.frontends.tui.panels.sessions import SessionsPanel, when

NOW = 1_790_000_100.0


def sessions() -> SessionsPanel:
    panel = SessionsPanel(clock=lambda: NOW)
    panel.receive(PanelRequest("sessions"), SessionPage(SESSIONS, 0, 3))
    return panel


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_sessions_come_in_pieces_and_the_cursor_stays() -> None:
    panel = SessionsPanel(clock=lambda: NOW)
    assert panel.load() == [PanelRequest("sessions")]
    rows = [kept(number, f"session {number}") for number in range(250)]
    requests = panel.receive(PanelRequest("sessions"), SessionPage(tuple(rows[:100]), 100, 250))
    assert requests == [PanelRequest("sessions", number=100), PanelRequest("preview", "/sessions/0")]
    assert text_of(panel.draw(120, 12))[0] == "Sessions  100 of 250 read …"
    press(panel, "down", "down")
    panel.receive(PanelRequest("sessions", number=100), SessionPage(tuple(rows[100:200]), 200, 250))
    assert panel.receive(PanelRequest("sessions", number=200), SessionPage(tuple(rows[200:]), 0, 250))[:1] == [
        PanelRequest("preview", "/sessions/2")
    ]
    shown = text_of(panel.draw(120, 12))
    assert (shown[0], "› " in shown[3]) == ("Sessions  250 in this project", True)


def test_a_thousand_sessions_are_filtered_by_what_is_typed() -> None:
    panel = SessionsPanel(clock=lambda: NOW)
    rows = tuple(kept(number, f"session {number}") for number in range(1000))
    panel.receive(PanelRequest("sessions"), SessionPage(rows, 0, 1000))
    assert press(panel, "session 777") == [PanelRequest("preview", "/sessions/777")]
    assert press(panel, "enter") == [PanelRequest("slash", "/resume id000777")]


def test_enter_goes_on_with_a_session_and_the_open_one_just_closes() -> None:
    assert press(sessions(), "enter") == [CLOSE]
    assert press(sessions(), "down", "enter") == [PanelRequest("slash", "/resume id000002")]


def test_a_preview_is_loaded_once_and_shows_how_the_session_ended() -> None:
    panel = sessions()
    assert press(panel, "down") == [PanelRequest("preview", "/sessions/2")]
    panel.receive(PanelRequest("preview", "/sessions/2"), Preview("is it\ndone?", "yes\n\nall of it"))
    told = [line.partition("│")[2].strip() for line in text_of(panel.draw(120, 12))[1:8]]
    assert told == ["id000002 · 2 turns · fake-model · 2 KB", "", "› is it", "› done?", "", "yes", ""]
    assert press(panel, "up") == [PanelRequest("preview", "/sessions/1")]
    assert press(panel, "down") == []


def test_a_preview_that_cannot_be_read_says_why() -> None:
    panel = sessions()
    press(panel, "down")
    panel.failed(PanelRequest("preview", "/sessions/2"), "it is gone")
    assert "it is gone" in "\n".join(text_of(panel.draw(120, 12)))


def test_what_was_said_is_searched_for_in_pieces_and_esc_brings_the_list_back() -> None:
    panel = sessions()
    assert press(panel, "/", "old bug") == []
    drawn = panel.draw(80, 12)
    assert (text_of(drawn)[-1][:9], drawn.cursor) == ("/old bug ", (11, 8))
    assert press(panel, "enter") == [PanelRequest("search", "old bug")]
    assert text_of(panel.draw(80, 12))[:2] == ["Sessions  searching for: old bug … 0 found", "loading …"]
    hit = SESSIONS[2]._replace(hits=("an old bug in the parser",))
    assert panel.receive(PanelRequest("search", "old bug"), SessionPage((hit,), 20, 40)) == [
        PanelRequest("search", "old bug", 20),
        PanelRequest("preview", "/sessions/3"),
    ]
    panel.receive(PanelRequest("search", "old bug", 20), SessionPage((), 0, 40))
    shown = "\n".join(text_of(panel.draw(120, 12)))
    assert "Sessions  1 hold: old bug" in shown and "» an old bug in the parser" in shown
    assert "Fix the login page" not in shown
    assert press(panel, "esc") == [PanelRequest("preview", "/sessions/3")]
    assert "Fix the login page" in "\n".join(text_of(panel.draw(120, 12)))
    assert press(panel, "esc") == [CLOSE]


def test_hits_of_a_search_that_was_given_up_are_left_out() -> None:
    panel = sessions()
    press(panel, "ctrl-f", "one", "enter")
    press(panel, "ctrl-f", "two", "enter")
    assert panel.receive(PanelRequest("search", "one"), SessionPage((SESSIONS[2],), 20, 40)) == []
    panel.receive(PanelRequest("search", "two"), SessionPage((), 0, 40))
    assert body(panel, 80, 12)[1] == "No session of this project holds that."


@pytest.mark.parametrize(
    ("before", "told"), [(0, "%H:%M"), (3 * 24 * 3600, "%m-%d %H:%M"), (2 * 365 * 24 * 3600, "%Y-%m-%d")]
)
def test_the_further_back_the_less_exact_a_time_is(before: int, told: str) -> None:
    assert when(NOW - before, NOW) == strftime(told, localtime(NOW - before))
    assert when(0.0, NOW) == ""


# ── rewind ───────────────────────────────────────────────────────────────────────────────────────────────────


def rewinding() -> RewindPanel:
    panel = RewindPanel(clock=lambda: NOW)
    panel.receive(PanelRequest("turns"), Turns(TURNS))
    return panel


def test_turns_are_listed_with_what_they_did_to_files() -> None:
    shown = [" ".join(line.split()) for line in body(rewinding(), 80, 12)[1:4]]
    words = [line.split(" ", 3) for line in shown]
    assert [(each[0], each[1]) for each in words] == [("›", "3"), ("2", words[1][1]), ("1", words[2][1])]
    assert [line.rsplit(" ", 2)[1:] for line in shown] == [["2", "files"], ["1", "file"], ["put", "back"]]


def test_the_preview_is_what_going_back_would_do() -> None:
    panel = RewindPanel(clock=lambda: NOW)
    assert panel.receive(PanelRequest("turns"), Turns(TURNS)) == [PanelRequest("undone", number=3)]
    panel.receive(PanelRequest("undone", number=3), UNDONE)
    shown = "\n".join(text_of(panel.draw(120, 20)))
    assert "Files would change like this:" in shown and "- b" in shown and "image.png" in shown
    assert press(panel, "down") == [PanelRequest("undone", number=2)]
    panel.receive(PanelRequest("undone", number=2), Changes((), ()))
    assert "No file would change." in "\n".join(text_of(panel.draw(120, 20)))
    assert press(panel, "up") == []
    assert press(panel, "end") == [PanelRequest("undone", number=1)]
    panel.failed(PanelRequest("undone", number=1), "the store is gone")
    assert "the store is gone" in "\n".join(text_of(panel.draw(120, 20)))


@pytest.mark.parametrize(("word", "part"), [("1", "conversation"), ("2", "files"), ("3", "both")])
def test_enter_asks_which_part_goes_back(word: str, part: str) -> None:
    panel = rewinding()
    assert press(panel, "enter") == []
    assert "1 conversation · 2 files · 3 both" in text_of(panel.draw(120, 20))[-1]
    assert press(panel, word) == [PanelRequest("slash", f"/rewind 3 {part}")]


@pytest.mark.parametrize("word", ["esc", "enter", "x", "4", "33", "y"])
def test_any_other_key_takes_nothing_back(word: str) -> None:
    panel = rewinding()
    press(panel, "enter")
    assert press(panel, word) == []
    assert "Enter go back" in text_of(panel.draw(120, 20))[-1]


def test_a_turn_in_which_nothing_was_said_has_only_files_to_take_back() -> None:
    panel = rewinding()
    press(panel, "down", "enter")
    assert "conversation" not in text_of(panel.draw(120, 20))[-1]
    assert press(panel, "3") == []
    press(panel, "enter")
    assert press(panel, "2") == [PanelRequest("slash", "/rewind 2 files")]


def test_numbers_filter_the_turns_as_words_do() -> None:
    panel = rewinding()
    press(panel, "parser")
    press(panel, "enter")
    assert press(panel, "1") == [PanelRequest("slash", "/rewind 1 conversation")]


# ── models ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_models_are_listed_with_the_one_in_use_first_and_those_without_a_key_last() -> None:
    shown = body(filled("models"), 120, 24)
    assert shown[0] == "Models  in use: fake/fake-model"
    assert shown[2].split()[:4] == ["›", "fake/fake-model", "✓", "200k"]
    assert "$3 / $15" in shown[2] and "configured" in shown[2]
    assert shown[4].split()[0] == "far/strong" and shown[4].endswith("needs FAR_KEY")


def test_enter_takes_a_model_that_can_be_used() -> None:
    assert press(filled("models"), "enter") == [CLOSE]
    chosen = press(filled("models"), "odd", "enter")
    assert chosen == [PanelRequest("slash", f"/model fake/{MODELS.listing.rows[1].model}")]
    panel = filled("models")
    assert press(panel, "strong", "enter") == []
    assert text_of(panel.draw(120, 24))[-1] == "strong needs a key: set FAR_KEY, or run overt setup"


def test_why_no_model_can_be_used_is_said() -> None:
    panel = ModelsPanel()
    listing = MODELS.listing.__class__(rows=(), problem="no model is set")
    panel.receive(PanelRequest("models"), MODELS._replace(listing=listing))
    assert (body(panel)[1], body(panel)[-1]) == ("No model is known.", "no model is set")
