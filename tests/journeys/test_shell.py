"""The shell and what lies around the workspace, through the installed program: kept output, reads outside, Esc, jobs."""

import re
from pathlib import Path

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import (
    PROMPT,
    Place,
    assert_each_extends_the_one_before,
    call,
    calls,
    entries,
    messages,
    results,
    until,
)

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2"
LONG = f"for i in $(seq 3000); do echo line $i of the build log; done; echo token={SECRET}; seq 3001 6000; exit 3"


def kept_file(text: str) -> str:
    (path,) = re.findall(r"all of it is in (/\S+), for read and grep", text)
    return str(path)


def outputs(place: Place) -> list[Path]:
    return [path for path in place.home.rglob("output/*/*") if path.is_file()]


# ── the output of a command ──────────────────────────────────────────────────────────────────────────────


def test_output_that_was_cut_is_read_and_searched_in_this_session_after_a_resume_and_in_a_fork(place: Place) -> None:
    with ModelServer([calls(call("bash", command=LONG)), Turn(text="built")]) as server:
        place.run("run", "build", server=server)
        (shown,) = results(server)
    assert shown.startswith("line 1 of the build log\n") and shown.endswith("\n6000\n[exit code 3]")
    path = kept_file(shown)
    content = Path(path).read_text()
    assert "line 2500 of the build log\n" in content and SECRET not in content and "token=[redacted" in content

    look = calls(call("read", path=path, offset=2500, limit=1), call("grep", pattern="^5432$", path=path))
    wanted = [
        "  2500\tline 2500 of the build log\n[lines 2500-2500 of 6001; go on with offset=2501]",
        f"{path}:5433:5432",
    ]
    for words in (("-c",), ("-c", "--fork-session"), ("-c", "--no-session-persistence")):
        with ModelServer([look, Turn(text="seen")]) as server:
            assert place.run("run", "look", *words, server=server).out == "seen\n"
            assert results(server)[-2:] == wanted, words

    for session in place.sessions():
        assert place.run("sessions", "delete", session.stem.partition("-")[2]).code == 0
    assert outputs(place) == []
    assert not Path(path).parent.exists()


def test_another_session_cannot_read_the_output(place: Place) -> None:
    with ModelServer([calls(call("bash", command=LONG)), Turn(text="built")]) as server:
        place.run("run", "build", server=server)
        path = kept_file(results(server)[0])
    look = calls(call("read", path=path), call("bash", command=f"cat {path}"))
    with ModelServer([look, Turn(text="no")]) as server:
        place.run("run", "look", server=server)
        by_file_tool, by_command = results(server)
    assert "may not be read: it belongs to Overt's own settings and records" in by_file_tool
    assert "line 1" not in by_command


def test_a_session_that_is_not_stored_leaves_no_output(place: Place) -> None:
    with ModelServer([calls(call("bash", command=LONG)), Turn(text="built")]) as server:
        place.run("run", "build", "--no-session-persistence", server=server)
        assert kept_file(results(server)[0])
    assert outputs(place) == []
    assert list(place.home.rglob("output/*")) == []


def test_what_an_interrupted_command_printed_reaches_the_model_and_the_record(place: Place) -> None:
    run = calls(call("bash", command=f"echo first part {SECRET}; touch begun; sleep 60"))
    with ModelServer([run, Turn(text="I saw it.")]) as server, place.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("build")
        until(lambda: (place.work / "begun").exists())
        terminal.interrupt_until("Interrupted")
        terminal.expect(PROMPT)
        terminal.line("what did it print?")
        terminal.expect("I saw it.")
        terminal.line("/exit")
        assert terminal.wait() == 0
        (shown,) = results(server)
    assert shown.startswith("first part [redacted") and "[overt] Interrupted before it finished" in shown
    (outcome,) = [entry["data"] for entry in entries(place.session()) if entry["type"] == "outcome"]
    assert outcome["result"]["parts"][0]["text"] == shown


# ── files outside the workspace ──────────────────────────────────────────────────────────────────────────


def test_file_tools_read_what_a_command_could_and_nothing_that_is_hidden(place: Place) -> None:
    (place.home / ".ssh").mkdir()
    (place.home / ".ssh/id_rsa").write_text("very private\n")
    (place.home / "notes.txt").write_text("a note\n")
    header = "/usr/include/overt-none.h"
    turns = [
        calls(call("bash", command="echo from a command > /tmp/made.txt")),
        calls(
            call("read", path="/tmp/made.txt"),
            call("grep", pattern="command", path="/tmp"),
            call("read", path=str(place.home / "notes.txt")),
            call("read", path=str(place.home / ".ssh/id_rsa")),
            call("grep", pattern="private|note", path=str(place.home)),
            call("read", path=header),
            call("list", path="/usr", depth=1),
            call("read", path="/proc/self/environ"),
            call("edit", path="/tmp/made.txt", old_string="from", new_string="by"),
        ),
        Turn(text="done"),
    ]
    with ModelServer(turns) as server:
        done = place.run("run", "look around", "--permission-mode", "default", server=server)
        made, hit, note, key, hits, missing, listed, environ, edited = results(server)[1:]
    assert done.out == "done\n"
    assert made == "     1\tfrom a command"
    assert hit == "/tmp/made.txt:1:from a command"
    assert note == "     1\ta note"
    assert "may not be read: it may hold credentials" in key
    assert hits == f"{place.home}/notes.txt:1:a note"
    assert "does not exist" in missing
    assert "lib/" in listed.splitlines()
    assert "/proc/self/environ may not be read" in environ or "may not be read: the system" in environ
    assert "is outside the workspace" in edited
    assert_each_extends_the_one_before(server)


def test_a_rule_about_other_folders_holds_for_file_tools(place: Place) -> None:
    (place.home / "notes.txt").write_text("a note\n")
    look = calls(call("read", path=str(place.home / "notes.txt")), call("list", path="."))
    with ModelServer([look, Turn(text="no")]) as server:
        place.run("run", "look", "--disallowedTools", "external_directory", server=server)
        denied, listed = results(server)
    assert "external_directory" in denied and "a note" not in denied
    assert "denied" not in listed
    assert messages(server)[-1]["role"] == "tool"
