"""The model asks the user: in the terminal, in the plain chat, and where nobody can answer."""

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import OVERT, Place, Terminal, call, calls, results
from tests.journeys.tty_kit import tty

QUESTIONS = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}],
    },
    {"question": "Which extras?", "options": [{"label": "tests"}, {"label": "docs"}], "multiSelect": True},
]
DONE = Turn(text="All done.")


def asked(*questions: object) -> list[Turn]:
    return [calls(call("AskUserQuestion", questions=[*questions])), DONE]


def test_in_the_plain_chat_an_option_and_an_own_answer_reach_the_model(place: Place) -> None:
    place.distrust()
    with ModelServer(asked(*QUESTIONS)) as server:
        terminal = Terminal([OVERT, "--plain"], cwd=place.work, env=place.environment(server, {"TERM": "xterm"}))
        try:
            terminal.expect("› ")
            terminal.line("go")
            terminal.expect("the model asks:")
            for line in ("2", "tests, a licence"):
                terminal.expect("own answer")
                terminal.ready()
                terminal.line(line)
            terminal.expect("All done.")
            terminal.expect("› ")
            terminal.line("/exit")
            assert terminal.wait() == 0
        finally:
            terminal.close()
        assert results(server) == ["Which database?\n→ PostgreSQL\nWhich extras?\n→ tests, a licence"]


def test_a_headless_run_is_told_at_once_that_no_person_is_there(place: Place) -> None:
    with ModelServer(asked(*QUESTIONS)) as server:
        ran = place.run("run", "go", server=server)
        assert (ran.code, ran.out) == (0, "All done.\n"), ran.err
        assert results(server)[0].startswith("No person is there to answer")


def test_too_many_options_are_refused_with_the_number_that_is_allowed(place: Place) -> None:
    wide = {"question": "Which?", "options": [{"label": str(number)} for number in range(9)]}
    with ModelServer([calls(call("ask", questions=[wide])), calls(call("ask", questions=[])), DONE]) as server:
        assert place.run("run", "go", server=server).code == 0
        assert "'Which?' has 9 options; give 2 to 4" in results(server)[0]
        assert "ask 1 to 4 questions in one call, not 0" in results(server)[1]


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
def test_in_the_terminal_options_are_chosen_with_keys(place: Place, size: tuple[int, int]) -> None:
    with (
        ModelServer(asked(*QUESTIONS)) as server,
        tty(place, env=place.environment(server), size=size) as terminal,
    ):
        terminal.expect("fake-model")
        terminal.type("go\r")
        terminal.expect("Database")
        terminal.idle(0.7)
        terminal.type("\x1b[B\r")
        terminal.expect("[ ] tests")
        terminal.type(" ")
        terminal.expect("[x] tests")
        terminal.type("\r")
        terminal.expect("All done.")
        assert results(server) == ["Which database?\n→ PostgreSQL\nWhich extras?\n→ tests"]
        terminal.type("/exit\r")
        assert terminal.wait() == 0
