"""`!command`: the person's own command runs at once, and the model learns what came of it."""

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PROMPT, Place, Terminal, entries, messages


def leave(terminal: Terminal) -> None:
    terminal.line("/exit")
    assert terminal.wait() == 0


def test_a_typed_command_joins_the_history_as_two_messages(place: Place) -> None:
    with ModelServer([Turn(text="I see.")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("!echo hello from here; false")
        terminal.expect("hello from here\n[exit code 1]")
        terminal.expect(PROMPT)
        terminal.line("what happened?")
        terminal.expect("I see.")
        leave(terminal)
        assert messages(server)[-3:] == [
            {"role": "user", "content": "!echo hello from here; false"},
            {"role": "assistant", "content": "$ echo hello from here; false\nhello from here\n[exit code 1]"},
            {"role": "user", "content": "what happened?"},
        ]
    kinds = [entry["type"] for entry in entries(place.session())]
    assert [kind for kind in kinds if kind in ("user", "verdict", "reply", "end")] == [
        *("user", "verdict", "reply", "end"),
        *("user", "reply", "end"),
    ]


def test_a_dangerous_command_is_asked_about_whoever_types_it(place: Place) -> None:
    precious = place.work / "precious.txt"
    precious.write_text("precious\n")
    with ModelServer([Turn(text="x")]) as server, place.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("!rm precious.txt")
        asked = terminal.expect("Allow? ")
        assert "It would delete precious.txt (9 bytes)" in asked and "lways" not in asked
        terminal.line("n")
        terminal.expect("Reason")
        terminal.line("")
        terminal.expect("The user denied this call.")
        terminal.expect(PROMPT)
        assert precious.exists()
        terminal.line("!rm precious.txt")
        terminal.expect("Allow? ")
        terminal.line("y")
        terminal.expect(PROMPT)
        assert not precious.exists()
        leave(terminal)


def test_a_typed_command_has_the_rights_of_the_person(place: Place) -> None:
    elsewhere = place.home / "mine.txt"
    with ModelServer([Turn(text="x")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line(f"!touch {elsewhere}")
        terminal.expect("(no output)")
        leave(terminal)
    assert elsewhere.exists()


def test_a_typed_command_is_stopped_by_ctrl_c(place: Place) -> None:
    with ModelServer([Turn(text="fine")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("!echo begun; sleep 60")
        terminal.expect("● bash echo begun")  # the line that was typed holds the word too
        terminal.interrupt_until("Interrupted")
        terminal.expect(PROMPT)
        terminal.line("go on")
        terminal.expect("fine")
        leave(terminal)
