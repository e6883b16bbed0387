"""The shell and files outside the workspace, through the installed program: kept output, interruption, jobs."""

import re
from pathlib import Path

from tests.fakes.model_server import FakeCall, ModelServer, Turn
from tests.journeys.journey_kit import (
    PROMPT,
    Place,
    Terminal,
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
        "5433:5432",
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


def test_a_command_runs_in_the_folder_it_names(place: Place) -> None:
    (place.work / "web").mkdir()
    (place.work / "web/there").write_text("precious")
    turns = [
        calls(
            call("bash", command="pwd", workdir="web"),
            call("bash", command="pwd", cwd="/tmp"),
            call("bash", command="pwd", workdir="none"),
            call("bash", command="pwd", workdir="/usr"),
        ),
        Turn(text="done"),
    ]
    with ModelServer(turns) as server:
        place.run("run", "where", server=server)
        web, temporary, missing, outside = results(server)
    assert (web, temporary) == (f"{place.work}/web", "/tmp")
    assert "workdir none does not exist" in missing
    assert "workdir /usr is outside the workspace" in outside


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────

WAITS = "echo listening on port 80; while [ ! -e go ]; do sleep 0.01; done; echo all built; exit 3"


def announcements(server: ModelServer) -> list[str]:
    said = [str(message["content"]) for message in messages(server) if message["role"] == "user"]
    return [text for text in said if text.startswith("[overt] job")]


def test_the_end_of_a_job_is_announced_once_before_the_next_request(place: Place) -> None:
    turns = [
        calls(call("bash", command=WAITS, run_in_background=True, timeout=600_000)),
        calls(call("bash", command="touch go; sleep 0.5")),
        calls(call("list")),
        Turn(text="done"),
    ]
    with ModelServer(turns) as server:
        done = place.run("run", "build", server=server)
        ended = announcements(server)
        assert_each_extends_the_one_before(server)
    command = " ".join(WAITS.split())
    assert len(ended) == 1
    assert ended[0].startswith(f"[overt] job1 ({command}) ended with exit code 3 after ")
    assert ended[0].endswith(" s; last line: all built")
    assert f"Background command job1 ended with exit code 3: {command}" in done.err

    with ModelServer([Turn(text="more")]) as server:
        place.run("run", "go on", "-c", server=server)
        assert announcements(server) == ended
    assert place.run("replay", place.session().stem.partition("-")[2]).code == 0


def has_ended(terminal: Terminal) -> bool:
    terminal.line("/jobs")
    terminal.expect("job1  ")
    return terminal.expect(", ") == "ended 3, "


def test_a_job_that_ends_between_turns_is_announced_with_the_next_prompt(place: Place) -> None:
    start = calls(call("bash", command=WAITS, run_in_background=True))
    with ModelServer([start, Turn(text="It runs."), Turn(text="It ended.")]) as server:
        with place.chat("--yolo", server=server) as terminal:
            terminal.expect(PROMPT)
            terminal.line("build")
            terminal.expect("It runs.")
            terminal.expect(PROMPT)
            (place.work / "go").touch()
            until(lambda: has_ended(terminal))
            terminal.line("and now?")
            terminal.expect("Background command job1 ended with exit code 3")
            terminal.expect("It ended.")
            terminal.line("/exit")
            assert terminal.wait() == 0
        said = [str(message["content"]) for message in messages(server)]
    assert said[-2].startswith("[overt] job1 (") and said[-1] == "and now?"


def test_waiting_for_a_job_gives_its_end_and_leaves_nothing_to_announce(place: Place) -> None:
    turns = [
        calls(
            call("bash", command="echo listening on port 80; sleep 0.5; echo all built; exit 3", run_in_background=True)
        ),
        calls(FakeCall(name="jobs", arguments={"action": "wait", "id": "job1", "timeout": 30_000})),
        Turn(text="done"),
    ]
    with ModelServer(turns) as server:
        place.run("run", "build", server=server)
        assert announcements(server) == []
        waited = results(server)[-1]
    assert waited.startswith("all built\n[job1 exited 3, ")
