"""Markdown commands as a user runs them: `overt run "/name words"`, `overt commands`, and the chat."""

import json
from pathlib import Path

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PROMPT, Place, messages


def write(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_command_runs_without_a_chat(place: Place) -> None:
    write(place.home / ".config/overt/commands", "greet", "---\ndescription: Greet\n---\nGreet $1.")
    with ModelServer([Turn(text="Hello, Ada.")]) as server:
        done = place.run("run", "/greet Ada", server=server)
        assert (done.code, done.out) == (0, "Hello, Ada.\n")
        assert messages(server)[-1]["content"] == "Greet Ada."


def test_an_unknown_command_is_a_usage_error_and_a_path_is_a_prompt(place: Place) -> None:
    write(place.home / ".config/overt/commands", "greet", "Greet $1.")
    with ModelServer([Turn(text="yes"), Turn(text="yes")]) as server:
        unknown = place.run("run", "/gret Ada", server=server)
        assert (unknown.code, unknown.out) == (2, "")
        assert "There is no command /gret." in unknown.err
        assert "(/greet?)" in unknown.err
        of_chat = place.run("run", "/compact", server=server)
        assert of_chat.code == 2
        assert "/compact is a command of the chat." in of_chat.err
        for prompt in ("/etc/hosts is empty, why?", "/tmp is full"):
            assert place.run("run", prompt, server=server).code == 0
            assert messages(server)[-1]["content"] == prompt


def test_a_denied_command_in_the_text_ends_the_run_with_code_3(place: Place) -> None:
    write(place.home / ".config/overt/commands", "ship", "Ship it:\n!`git push --force origin main`")
    with ModelServer([]) as server:
        done = place.run("run", "/ship", server=server)
        assert (done.code, done.out.strip()) == (3, "")
        assert "/ship was stopped: `git push --force origin main` in its text did not run." in done.err
        assert server.posts == []


def test_commands_are_listed_with_their_files(place: Place) -> None:
    write(
        place.home / ".config/overt/commands", "greet", "---\ndescription: Greet\nargument-hint: NAME\n---\nGreet $1."
    )
    write(place.home / ".claude/commands", "greet", "Another.")
    write(place.home / ".claude/commands", "help", "Not help.")
    write(place.work / ".overt/commands", "fix", "---\nallowed-tools: [Bash(make:*)]\n---\nFix it.")
    listed = place.run("commands")
    assert "/greet NAME               ~/.config/overt/commands/greet.md  Greet" in listed.out
    assert "[not used: ~/.config/overt/commands/greet.md comes first]" in listed.out
    assert "[not used: a built-in command has this name]" in listed.out
    assert "/fix" not in listed.out
    assert "not trusted" in listed.err
    assert place.run("trust").code == 0
    shown = place.run("commands", "show", "fix")
    assert shown.out.splitlines() == [
        "/fix  .overt/commands/fix.md",
        "description: Fix it.",
        "allowed-tools: Bash(make:*)",
        "",
        "Fix it.",
    ]
    files = {each["name"]: each for each in json.loads(place.run("commands", "--json").out)}
    assert files["fix"]["scope"] == "project"
    assert place.run("commands", "show", "nothing").code == 2


def test_a_command_starts_a_turn_in_the_chat(place: Place) -> None:
    write(place.home / ".config/overt/commands", "greet", "Greet $1.")
    with ModelServer([Turn(text="Hello, Ada.")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.type("/greet Ada\n")
        terminal.expect("Hello, Ada.")
        terminal.expect(PROMPT)
        terminal.type("/exit\n")
        assert messages(server)[-1]["content"] == "Greet Ada."


def test_a_hash_in_the_chat_is_a_note_for_the_next_session(place: Place) -> None:
    with ModelServer([Turn(text="Yes.")]) as server:
        with place.chat(server=server) as terminal:
            terminal.expect(PROMPT)
            terminal.type("# Use tabs, never spaces\n")
            terminal.expect("Noted as project/use-tabs-never-spaces.")
            terminal.expect(PROMPT)
            terminal.type("/exit\n")
        assert server.posts == []
        assert place.run("run", "which indentation?", server=server).code == 0
        assert "Use tabs, never spaces" in messages(server)[0]["content"]
    assert "project/use-tabs-never-spaces" in place.run("memory").out
    assert place.run("memory", "undo").out == "Took back project/use-tabs-never-spaces.\n"
