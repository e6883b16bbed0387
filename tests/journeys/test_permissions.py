"""Who may do what: modes, rules, the dangerous class without a person, and approvals by one."""

import json
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import PROMPT, Place, call, calls, entries, messages, results, until
from tests.journeys.tty_kit import tty

WRITE = call("write", path="made.txt", content="new\n")
TOUCH = call("bash", command="touch touched")
REMOVE = call("bash", command="rm precious.txt")
LOOK = call("bash", command="cat precious.txt")


@pytest.fixture
def precious(place: Place) -> Place:
    """A file that git ignores, so that undo would not bring it back."""
    (place.work / "precious.txt").write_text("precious\n")
    (place.work / ".gitignore").write_text("precious.txt\n")
    return place


def files(place: Place) -> list[str]:
    return sorted(path.name for path in place.work.iterdir() if not path.name.startswith("."))


def verdicts(place: Place) -> list[tuple[str, str, str]]:
    """What was decided, by which rule, and where that comes from."""
    lines = [line["data"] for line in entries(place.sessions()[-1]) if line["type"] == "verdict"]
    return [(data["verdict"], data["rule"], data["origin"]) for data in lines]


ALL = ["made.txt", "precious.txt", "touched"]


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        ((), ALL),
        (("--permission-mode", "default"), ALL),
        (("--permission-mode", "acceptEdits"), ALL),
        (("--permission-mode", "bypassPermissions"), ALL),
        (("--yolo",), ALL),
        (("--permission-mode", "plan"), ["precious.txt"]),
        (("--permission-mode", "dontAsk"), ["precious.txt"]),
        (("--permission-mode", "dontAsk", "--allowedTools", "Edit"), ["made.txt", "precious.txt"]),
        (("--permission-mode", "dontAsk", "--allowedTools", "Bash(touch *)"), ["precious.txt", "touched"]),
        (("--permission-mode", "dontAsk", "--allowedTools=edit,bash(touch *)"), ALL),
        (("--disallowedTools", "Bash(touch *)"), ["made.txt", "precious.txt"]),
        (("--disallowedTools", "write(made.txt)"), ["precious.txt", "touched"]),
        (("--disallowedTools", "Edit", "bash"), ["precious.txt"]),
        (("--yolo", "--disallowedTools", "Edit(*.txt)"), ["precious.txt", "touched"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_modes_and_rules_decide_without_a_person(precious: Place, flags: tuple[str, ...], left: list[str]) -> None:
    with ModelServer([calls(LOOK, WRITE, TOUCH), Turn(text="done")]) as server:
        done = precious.run("run", "go", *flags, server=server)
    assert files(precious) == left
    assert done.out == "done\n"
    in_a_box_that_cannot_write = "plan" in flags
    last_was_denied = "touched" not in left and "bash" not in flags and not in_a_box_that_cannot_write
    assert done.code == (3 if last_was_denied else 0)
    assert "bash" in flags or results(server)[0] == "precious"
    assert len(results(server)) == 3


def test_a_bare_denial_takes_the_tool_from_the_models_list(precious: Place) -> None:
    with ModelServer([calls(TOUCH), Turn(text="done")]) as server:
        precious.run("run", "go", "--disallowedTools", "Bash", "Grep", server=server)
    names = [tool["function"]["name"] for tool in server.posts[0].json()["tools"]]
    assert "bash" not in names and "grep" not in names and "read" in names
    assert "There is no tool called 'bash'" in results(server)[0]


def test_plan_mode_refuses_in_words_and_lets_look(precious: Place) -> None:
    with ModelServer([calls(LOOK, WRITE, REMOVE, TOUCH), Turn(text="the plan")]) as server:
        done = precious.run("run", "go", "--permission-mode", "plan", server=server)
    looked, written, removed, touched = results(server)
    assert looked == "precious"
    assert "plan mode changes nothing, so write was refused" in written
    assert "plan mode changes nothing, so bash was refused" in removed
    assert "[overt] write to touched was blocked by the sandbox" in touched
    assert "plan mode changes nothing" in done.err


@pytest.mark.parametrize("flags", [(), ("--yolo",), ("--allowedTools", "Bash"), ("--permission-mode", "auto")])
def test_what_is_final_is_denied_where_nobody_can_be_asked(precious: Place, flags: tuple[str, ...]) -> None:
    with ModelServer([calls(REMOVE), calls(LOOK), calls(REMOVE), Turn(text="I could not.")]) as server:
        done = precious.run("run", "go", *flags, server=server)
    assert (done.code, done.out, files(precious)) == (3, "I could not.\n", ["precious.txt"])
    assert results(server)[0] == (
        "[overt] Denied (final, guard): rm precious.txt (deletes files): undo would not bring back precious.txt "
        "(ignored by git). This needs approval, and the run is non-interactive. Allow it with "
        "`--allowedTools 'bash(rm *)'` or start a chat."
    )
    assert done.err.splitlines()[-1] == "Denied calls: 2 of 3. Allow them with: --allowedTools 'bash(rm *)'"


@pytest.mark.parametrize("rule", ["Bash(rm *)", "bash(rm:*)"])
def test_a_rule_that_names_it_opens_what_is_final(precious: Place, rule: str) -> None:
    with ModelServer([calls(REMOVE), Turn(text="gone")]) as server:
        done = precious.run("run", "go", "--allowedTools", rule, server=server)
    assert (done.code, files(precious)) == (0, []), done.err


def test_a_trusted_project_opens_nothing_final(precious: Place) -> None:
    text = "[permissions]\nallow = ['bash(rm *)']\ndangerous_policy = 'always'\n"
    (precious.work / "overt.toml").write_text(text)
    assert precious.run("trust").code == 0
    with ModelServer([calls(REMOVE), Turn(text="no")]) as server:
        assert precious.run("run", "go", "--yolo", server=server).code == 3
    assert "precious.txt" in files(precious)
    settings = precious.home / ".config" / "overt" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[permissions]\ndangerous_policy = 'always'\n")
    (precious.work / "overt.toml").write_text(text.replace("always", "reach"))
    assert precious.run("trust").code == 0
    with ModelServer([calls(call("bash", command="rm overt.toml")), Turn(text="no")]) as server:
        done = precious.run("run", "go", "--yolo", server=server)
    assert done.code == 3 and "a project can only make it stricter" in done.err


def test_a_denial_that_was_not_the_last_word_is_no_failure(precious: Place) -> None:
    with ModelServer([calls(REMOVE), calls(LOOK), Turn(text="done")]) as server:
        assert precious.run("run", "go", server=server).code == 0


def test_denials_stand_in_the_result(precious: Place) -> None:
    with ModelServer([calls(call("bash", id="call_7", command="rm precious.txt")), Turn(text="no")]) as server:
        done = precious.run("run", "go", "--output-format", "json", server=server)
    line: dict[str, Any] = json.loads(done.out)
    assert (done.code, line["subtype"]) == (3, "success")
    assert line["permission_denials"] == [
        {"tool_name": "Bash", "tool_use_id": "call_7", "tool_input": {"command": "rm precious.txt"}}
    ]


def test_the_limit_of_steps_forces_a_summary_and_has_its_own_code(precious: Place) -> None:
    turns = [calls(LOOK), calls(call("todoread")), Turn(text="Half of it is done.")]
    with ModelServer(turns) as server:
        done = precious.run("run", "go", "--max-turns", "2", server=server)
        assert (done.code, done.out) == (4, "Half of it is done.\n")
        assert "Stopped after 2 steps" in done.err
        assert len(server.posts) == 3
        last, before = server.posts[-1].json(), server.posts[-2].json()
        assert (last["tool_choice"], last["tools"]) == ("none", before["tools"])
        assert "step limit" in last["messages"][-1]["content"]


def test_the_limit_of_steps_is_an_error_of_its_own_in_json(precious: Place) -> None:
    with ModelServer([calls(LOOK), Turn(text="Half.")]) as server:
        done = precious.run("run", "go", "--max-turns=1", "--output-format=json", server=server)
    line: dict[str, Any] = json.loads(done.out)
    assert (done.code, line["subtype"], line["is_error"], line["result"], line["num_turns"]) == (
        4,
        "error_max_turns",
        True,
        "Half.",
        1,
    )


def test_a_model_that_repeats_one_failing_call_is_stopped(place: Place) -> None:
    with ModelServer([calls(call("read", path="missing.txt"))], after="repeat") as server:
        done = place.run("run", "go", server=server)
    assert (done.code, done.out, len(server.posts)) == (1, "", 5)
    assert "repeated the same failing call" in done.err


# ── a person is asked ────────────────────────────────────────────────────────────────────────────────────


def test_an_approval_shows_the_change_and_yes_makes_it(precious: Place) -> None:
    edit = call("edit", path="precious.txt", old_string="precious", new_string="dear")
    with ModelServer([calls(edit), Turn(text="changed")]) as server, precious.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("change it")
        asked = terminal.expect("Allow? ")
        assert "Edit precious.txt?" in asked
        assert "-precious" in asked and "+dear" in asked and "[a] always allow edits in this project" in asked
        assert (precious.work / "precious.txt").read_text() == "precious\n"
        terminal.line("y")
        terminal.expect("changed")
        terminal.expect(PROMPT)
        assert (precious.work / "precious.txt").read_text() == "dear\n"
        terminal.line("/exit")
        assert terminal.wait() == 0
    assert [(entry["data"]["verdict"], entry["data"]["by"]) for entry in entries(precious.session())
            if entry["type"] == "verdict"] == [("allow", "person")]  # fmt: skip


def test_always_is_remembered_in_the_next_run(precious: Place) -> None:
    turns = [calls(TOUCH), Turn(text="touched it")]
    with ModelServer([*turns, *turns]) as server:
        with precious.chat(server=server) as terminal:
            terminal.expect(PROMPT)
            terminal.line("touch it")
            assert "[a] always: bash(touch *)" in terminal.expect("Allow? ")
            terminal.line("a")
            terminal.expect("Remembered for this project: bash(touch *)")
            terminal.expect("touched it")
            terminal.expect(PROMPT)
            terminal.line("/exit")
            assert terminal.wait() == 0
        (precious.work / "touched").unlink()
        done = precious.run("run", "again", "--permission-mode", "dontAsk", server=server)
    assert (done.code, files(precious)) == (0, ["precious.txt", "touched"])
    assert verdicts(precious) == [("allow", "bash(touch *)", "always")]


def test_always_for_a_line_with_harmless_parts_holds_for_the_program_in_it(place: Place) -> None:
    program = place.work / ".venv" / "bin" / "pytest"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho passed $1 >> ran\n")
    program.chmod(0o755)
    commands = (
        "ls .venv && .venv/bin/pytest one 2>&1 | tail -3",
        ".venv/bin/pytest two",
        "mkdir x && .venv/bin/pytest x",
    )
    turns = [turn for each in commands for turn in (calls(call("bash", command=each)), Turn(text="done"))]
    with ModelServer(turns) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("test it")
        assert "[a] always: bash(.venv/bin/pytest *)  [n]" in terminal.expect("Allow? ")
        terminal.line("a")
        terminal.expect("done")
        terminal.expect(PROMPT)
        terminal.line("test the other")
        assert "Allow?" not in terminal.expect("done")
        terminal.expect(PROMPT)
        terminal.line("test both")
        assert "[a] always: bash(mkdir *), bash(.venv/bin/pytest *)  [n]" in terminal.expect("Allow? ")
        terminal.line("a")
        terminal.expect("done")
        terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0
    assert (place.work / "ran").read_text() == "passed one\npassed two\npassed x\n"
    listed = [line.split("  ")[2] for line in place.run("permissions").out.splitlines()]
    assert sorted(listed) == ["bash(.venv/bin/pytest *)", "bash(mkdir *)"]


def test_no_carries_its_reason_to_the_model(precious: Place) -> None:
    with ModelServer([calls(TOUCH), Turn(text="I will not.")]) as server, precious.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("touch it")
        terminal.expect("Allow? ")
        terminal.line("what?")
        terminal.expect("Allow? ")
        terminal.line("n")
        terminal.expect("Reason")
        terminal.line("use the other file")
        terminal.expect("I will not.")
        terminal.expect(PROMPT)
        assert results(server) == ["[overt] The user denied this call: use the other file"]
        terminal.line("/exit")
        assert terminal.wait() == 0
    assert files(precious) == ["precious.txt"]


def test_what_is_final_is_asked_every_time_without_always(precious: Place) -> None:
    turns = [calls(REMOVE), Turn(text="gone")]
    with ModelServer(turns) as server, precious.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("remove it")
        asked = terminal.expect("Allow? ")
        assert "undo would not bring back precious.txt" in asked and "lways" not in asked
        terminal.line("a")
        terminal.expect("Allow? ")
        terminal.line("y")
        terminal.expect("gone")
        terminal.expect(PROMPT)
        assert until(lambda: files(precious) == [])
        terminal.line("/exit")
        assert terminal.wait() == 0


def test_an_approval_shows_control_characters_instead_of_obeying_them(precious: Place) -> None:
    sly = call("bash", command="touch x \x1b[2K\x1b[1A\u202e # harmless", description="\x1b]0;hello\x07")
    with ModelServer([calls(sly), Turn(text="fine")]) as server, precious.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("go")
        asked = terminal.expect("Allow? ")
        assert "touch x \\x1b[2K\\x1b[1A<U+202E> # harmless" in asked
        assert b"\x1b[2K" not in terminal.raw and b"\x1b]0" not in terminal.raw
        terminal.line("n")
        terminal.expect("Reason")
        terminal.line("")
        terminal.expect(PROMPT)
        assert messages(server)[-1]["content"] == "[overt] The user denied this call."
        terminal.line("/exit")
        assert terminal.wait() == 0


def test_what_was_answered_with_always_is_listed_and_can_be_taken_back(place: Place) -> None:
    turns = [calls(call("bash", command="touch one")), Turn(text="ok")]
    with ModelServer(turns) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("go")
        terminal.expect("Allow?")
        terminal.line("a")
        terminal.expect("ok")
    assert place.run("permissions").out == " 1  allow  bash(touch *)  1 past call: touch one\n"
    assert place.run("permissions", "revoke", "bash(touch *)").out == "revoked bash(touch *)\n"
    assert place.run("permissions").out == "No saved permission rules in this project.\n"
    assert place.run("permissions", "revoke", "bash(touch *)").code == 1


FLAGS = ("--allowedTools", "bash(git log *)", "--disallowedTools", "bash(git push *)")


def has_the_rules_of_flags(shown: str) -> bool:
    lines = shown.splitlines()
    return all(
        any(action in line and rule in line and flag in line for line in lines)
        for action, rule, flag in (
            ("allow", "bash(git log *)", "--allowedTools"),
            ("deny", "bash(git push *)", "--disallowedTools"),
        )
    )


def test_the_plain_chat_lists_the_rules_of_flags(place: Place) -> None:
    with ModelServer([]) as server, place.chat(*FLAGS, server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("/permissions")
        assert has_the_rules_of_flags(terminal.expect("No saved permission rules"))
        terminal.line("/exit")
        assert terminal.wait() == 0


def test_the_permissions_panel_lists_the_rules_of_flags(place: Place) -> None:
    with ModelServer([]) as server, tty(place, *FLAGS, env=place.environment(server), size=(120, 30)) as terminal:
        terminal.expect("fake-model")
        terminal.type("/permissions\r")
        terminal.expect(has_the_rules_of_flags)
        terminal.type("\x1b")
        terminal.expect(lambda shown: "--allowedTools" not in shown)
        terminal.type("/exit\r")
        assert terminal.wait() == 0
