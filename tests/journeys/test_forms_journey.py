"""A tool asks the user a form in the installed program: plain, headless and in the terminal."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import json
from tests.fakes import asking_tool
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PATIENCE, Place, Terminal, call, calls, checked, results
from tests.journeys.tty_kit import tty

from overt.core.questions import FormAnswer

PROGRAM = (sys.executable, str(Path(asking_tool.__file__)))
DONE = Turn(text="All done.")
ADA = FormAnswer(action="accept", values={"name": "Ada", "age": 36, "plan": "team", "news": True})


def turns(*forms: str) -> tuple[Turn, Turn]:
    return calls(*(call("survey", form=form) for form in forms)), DONE


def answers(server: ModelServer) -> list[FormAnswer]:
    return [json.decode(text, type=FormAnswer) for text in results(server)]


def test_in_the_plain_chat_a_form_is_filled_line_by_line(place: Place) -> None:
    place.distrust()
    with ModelServer(turns("contact", "colour")) as server:
        env = place.environment(server, {"TERM": "xterm", "NO_COLOR": "1"})
        terminal = Terminal([*PROGRAM, "--plain"], cwd=place.work, env=env)
        try:
            terminal.expect("› ")
            terminal.line("go")
            for prompt, line in (("Name: ", "Ada"), ("Age [36]: ", ""), ("[Pro]: ", "3"), ("(y/n): ", "y")):
                terminal.expect(prompt)
                terminal.ready()
                terminal.line(line)
            terminal.expect("or your own answer: ")
            terminal.ready()
            terminal.interrupt()
            terminal.expect("You answered the question of MCP server github.")
            terminal.expect("You declined the question of MCP server github.")
            terminal.expect("All done.")
            terminal.expect("› ")
            terminal.line("/exit")
            assert terminal.wait() == 0
        finally:
            terminal.close()
        assert answers(server) == [ADA, FormAnswer(action="decline")]


def test_a_headless_run_declines_a_form_and_says_so(place: Place) -> None:
    with ModelServer(turns("contact")) as server:
        done = subprocess.run(
            [*PROGRAM, "run", "go"],
            cwd=place.work,
            env=place.environment(server),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        ran = checked(done.returncode, done.stdout, done.stderr)
        assert (ran.code, ran.out) == (0, "All done.\n")
        assert "Declined a question of MCP server github: the run is non-interactive." in ran.err
        assert answers(server) == [FormAnswer(action="decline", unattended=True)]


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
def test_in_the_terminal_a_form_is_filled_with_keys(place: Place, size: tuple[int, int]) -> None:
    with (
        ModelServer(turns("contact", "colour")) as server,
        tty(place, env=place.environment(server), argv=PROGRAM, size=size) as terminal,
    ):
        terminal.expect("fake-model")
        terminal.type("go\r")
        terminal.expect("As on your card")
        terminal.idle(0.7)
        terminal.type("Ada\t")
        terminal.expect("› Age")
        terminal.type("\r")
        terminal.expect("(*) Pro")
        terminal.type("\x1b[B\r")
        terminal.expect("[ ] no")
        terminal.type(" ")
        terminal.expect("[x] yes")
        terminal.type("\r")
        terminal.expect("Which plan?")
        terminal.idle(0.7)
        terminal.type("\x1b")
        terminal.expect("All done.")
        assert answers(server) == [ADA, FormAnswer(action="decline")]
        terminal.type("/exit\r")
        assert terminal.wait() == 0
        terminal.assert_as_found()
