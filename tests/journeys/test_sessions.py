"""Sessions outlive the program: continued, resumed, listed, locked, and whole after any kill."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import Fault, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import (
    Place,
    Ran,
    assert_each_extends_the_one_before,
    assert_intact,
    assert_paired,
    call,
    calls,
    descendants,
    entries,
    gone,
    messages,
    results,
    still,
    until,
)

STALLED = Turn(text="a moment", fault=Fault(stall_after=1))


def test_continue_goes_on_with_the_newest_session_and_extends_its_last_request(place: Place) -> None:
    with ModelServer([Turn(text="one"), Turn(text="two"), Turn(text="three")]) as server:
        assert place.run("run", "first", server=server) == Ran(0, "one\n", "")
        assert place.run("run", "-c", "second", server=server) == Ran(0, "two\n", "")
        assert place.run("--continue", "-p", "third", server=server) == Ran(0, "three\n", "")
        said = [(message["role"], message["content"]) for message in messages(server)[1:]]
    assert said == [
        ("user", "first"),
        ("assistant", "one"),
        ("user", "second"),
        ("assistant", "two"),
        ("user", "third"),
    ]
    assert_each_extends_the_one_before(server)
    assert len(place.sessions()) == 1


def test_resume_takes_an_id_or_its_beginning_from_any_folder(place: Place) -> None:
    other = place.work / "other"
    other.mkdir()
    (other / ".git").mkdir()
    with ModelServer([Turn(text="one"), Turn(text="two"), Turn(text="three")]) as server:
        place.run("run", "first", server=server)
        id = place.session().stem.rpartition("-")[2]
        place.run("run", "-C", "other", "elsewhere", server=server)
        assert place.run("run", "--resume", id[:5], "again", server=server) == Ran(0, "three\n", "")
        assert [message["content"] for message in messages(server)[1:]] == ["first", "one", "again"]
    assert len(place.sessions()) == 2


def test_what_was_read_before_a_resume_may_be_overwritten_after_it(place: Place) -> None:
    (place.work / "a.txt").write_text("old\n")
    write = calls(call("write", path="a.txt", content="new\n"))
    with ModelServer([calls(call("read", path="a.txt")), Turn(text="read"), write, Turn(text="written")]) as server:
        place.run("run", "read it", server=server)
        assert place.run("run", "-c", "write it", server=server).out == "written\n"
        assert results(server)[-1] == "updated a.txt (+1 -1), line 1"
    assert (place.work / "a.txt").read_text() == "new\n"


def test_what_changed_since_it_was_read_may_not(place: Place) -> None:
    (place.work / "a.txt").write_text("old\n")
    write = calls(call("write", path="a.txt", content="new\n"))
    with ModelServer([calls(call("read", path="a.txt")), Turn(text="read"), write, Turn(text="oh")]) as server:
        place.run("run", "read it", server=server)
        (place.work / "a.txt").write_text("by hand\n")
        place.run("run", "-c", "write it", server=server)
        assert "a.txt" in results(server)[-1] and "changed" in results(server)[-1]
    assert (place.work / "a.txt").read_text() == "by hand\n"


def test_sessions_are_listed_shown_and_deleted(place: Place) -> None:
    with ModelServer([calls(call("todoread")), Turn(text="answer one"), Turn(text="answer two")]) as server:
        place.run("run", "the first task", server=server)
        first = place.session()
        place.run("run", "the second task", server=server)
        listed = place.run("sessions")
        assert listed.code == 0 and [line.split()[-1] for line in listed.out.splitlines()] == ["task", "task"]
        assert [line.split("  ")[-1] for line in listed.out.splitlines()] == ["the second task", "the first task"]
        assert "1 turn  " in listed.out and "fake-model" in listed.out
        as_json = [json.loads(line) for line in place.run("sessions", "list", "--json").out.splitlines()]
        assert [found["title"] for found in as_json] == ["the second task", "the first task"]
        id = as_json[1]["id"]

        shown = place.run("sessions", "show", id)
        assert "› the first task" in shown.out and "● todowrite" in shown.out and "answer one" in shown.out
        raw = [json.loads(line) for line in place.run("sessions", "show", id, "--json").out.splitlines()]
        assert [line["type"] for line in raw] == [line["type"] for line in entries(first)]

        gone_now = place.run("sessions", "delete", id)
        assert (gone_now.code, gone_now.out, first.exists()) == (0, f"deleted {first}\n", False)
        assert "the first task" not in place.run("sessions").out
        assert place.run("sessions", "show", id).code == 1


def test_sessions_belong_to_their_project(place: Place) -> None:
    for name in ("one", "two"):
        (place.work / name / ".git").mkdir(parents=True)
    with ModelServer([Turn(text="x")], after="repeat") as server:
        place.run("run", "-C", "one", "in one", server=server)
        place.run("run", "-C", "two", "in two", server=server)
    assert "in two" not in place.run("sessions", "-C", "one").out
    assert len(place.run("sessions", "--all").out.splitlines()) == 2
    assert place.run("sessions").out == ""


def test_a_session_file_is_for_its_owner_only(place: Place) -> None:
    with ModelServer([Turn(text="x")]) as server:
        place.run("run", "hi", server=server, under=("sh", "-c", 'umask 0; exec "$@"', "sh"))
    modes = {path.stat().st_mode & 0o777 for path in place.home.rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in (place.home / ".local/share/overt").rglob("*") if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_no_session_is_written_when_none_is_wanted(place: Place) -> None:
    with ModelServer([Turn(text="x")]) as server:
        assert place.run("run", "hi", "--no-session-persistence", server=server) == Ran(0, "x\n", "")
    assert place.sessions() == []


def test_a_second_writer_is_told_who_holds_the_session(place: Place) -> None:
    with ModelServer([Turn(text="one"), STALLED, Turn(text="three")]) as server:
        place.run("run", "first", server=server)
        id = place.session().stem.rpartition("-")[2]
        with place.started("run", "-c", "second", server=server) as child:
            until(lambda: len(server.posts) == 2)
            done = place.run("run", "-c", "third", server=server)
            assert (done.code, done.out, len(server.posts)) == (1, "", 2)
            assert f"Session {id} is being written by process {child.pid}" in done.err
            assert "› second" in place.run("sessions", "show", id).out
            refused = place.run("sessions", "delete", id)
            assert refused.code == 1 and f"process {child.pid}" in refused.err
            child.send_signal(signal.SIGKILL)
            child.wait(20)
        # A lock left behind by a kill locks nothing.
        assert place.run("run", "-c", "third", server=server) == Ran(0, "three\n", "")


def test_a_call_that_was_running_when_the_program_was_killed_is_answered_once(place: Place) -> None:
    both = calls(call("todoread"), call("bash", command="sleep 60"), call("bash", command="touch never"))
    with ModelServer([both, Turn(text="I see."), Turn(text="Still.")]) as server:
        with place.started("run", "go", server=server) as child:
            until(lambda: any(line.split()[1:2] == ["sleep"] for line in place.alive()))
            below = descendants(child.pid)
            child.send_signal(signal.SIGKILL)
            child.wait(20)
        assert gone(lambda: still(below)) == []
        assert place.run("run", "-c", "what now?", server=server) == Ran(0, "I see.\n", "")
        assert_paired(messages(server))
        todo, first, second = results(server)
        assert "empty" in todo
        assert "Interrupted before it finished" in first and "Interrupted before it finished" in second
        assert place.run("run", "-c", "and now?", server=server) == Ran(0, "Still.\n", "")
        assert_paired(messages(server))
        outcomes = [line["data"]["result"]["call_id"] for line in entries(place.session()) if line["type"] == "outcome"]
        assert len(outcomes) == len(set(outcomes)) == 3
    assert not (place.work / "never").exists()


# ── kill -9 at a write of the real program ───────────────────────────────────────────────────────────────


def worker(request: Recorded, _number: int) -> Turn:
    """Three steps for the task, then the end; whatever else is said is answered in a word."""
    said: list[dict[str, Any]] = request.json()["messages"]
    since = next(back for back, message in enumerate(reversed(said)) if message["role"] == "user")
    if said[-1 - since]["content"] != "do it":
        return Turn(text="Done.")
    steps = [
        calls(call("read", path="a.txt")),
        calls(call("bash", command="echo working")),
        calls(call("write", path="b.txt", content="b\n")),
    ]
    done = sum(message["role"] == "assistant" for message in said[len(said) - since :])
    return steps[done] if done < len(steps) else Turn(text="All done.")


def kill_at(place: Place, number: int, begun: bytes) -> bool:
    """Kill the program at its n-th write to the session, then continue; False when it was not killed any more."""
    path = place.session()
    path.write_bytes(begun)
    (place.work / "b.txt").unlink(missing_ok=True)
    inject = f"inject=write:signal=KILL:when={number}"
    under = ("strace", "-f", "-qq", "-P", str(path), "-e", "trace=write", "-e", inject, "-o", "/dev/null")
    with ModelServer(choose=worker) as server:
        done = place.run("run", "-c", "do it", server=server, under=under)
        assert gone(place.alive) == []
        assert_intact(path)
        sent = messages(server) if server.posts else []
        again = place.run("run", "-c", "how far are you?", server=server)
        assert (again.code, again.out) == (0, "Done.\n")
        assert_paired(messages(server))
        # What the model has been told is not forgotten: it was on disk before it was sent.
        assert messages(server)[: len(sent)] == sent
    assert_intact(path)
    return done.code != 0


def begin(place: Place) -> bytes:
    (place.work / "a.txt").write_text("a\n")
    with ModelServer([Turn(text="hello")]) as server:
        place.run("run", "hi", server=server)
    return place.session().read_bytes()


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_kill_at_a_write_of_the_session_loses_nothing_the_model_knows(place: Place) -> None:
    begun = begin(place)
    assert all(kill_at(place, number, begun) for number in (1, 4, 6, 9, 13))


@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_kill_at_every_write_of_the_session_loses_nothing_the_model_knows(place: Place) -> None:
    begun = begin(place)
    number = 1
    while kill_at(place, number, begun):
        number += 1
    assert number > 20


def test_the_workspace_of_a_session_may_be_gone(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "passing"
    (folder / ".git").mkdir(parents=True)
    with ModelServer([Turn(text="one"), Turn(text="two")]) as server:
        place.run("run", "-C", str(folder), "first", server=server)
        shutil.rmtree(folder)
        id = place.session().stem.rpartition("-")[2]
        assert "› first" in place.run("sessions", "show", id).out
        done = place.run("run", "--resume", id, "again", server=server)
        assert (done.code, done.out) == (0, "two\n")
        assert done.err.startswith(f"This session began in {folder}")
        assert str(folder) not in server.posts[-1].body.decode()


def test_a_session_goes_on_with_the_mode_it_was_begun_in(place: Place) -> None:
    write = calls(call("write", path="new.txt", content="x"))
    with ModelServer([Turn(text="planned"), write, Turn(text="done")]) as server:
        place.run("run", "--permission-mode", "plan", "plan it", server=server)
        place.run("run", "--continue", "do it", server=server)
    assert not (place.work / "new.txt").exists()


def test_nothing_is_written_to_a_session_that_is_only_looked_at(place: Place) -> None:
    with ModelServer([Turn(text="one"), Turn(text="two")]) as server:
        place.run("run", "first", server=server)
        before = place.session().read_bytes()
        assert place.run("run", "--continue", "--no-session-persistence", "again", server=server).out == "two\n"
        assert place.session().read_bytes() == before
        assert b"first" in server.posts[-1].body


def test_going_on_in_another_folder_is_a_recorded_reset(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    with ModelServer([Turn(text="one"), Turn(text="two")]) as server:
        place.run("run", "first", server=server)
        id = place.session().stem.rpartition("-")[2]
        place.run("run", "-C", str(other), "--resume", id, "again", server=server)
    kinds = [entry["type"] for entry in entries(place.session())]
    assert (kinds.count("prefix"), kinds.count("reset")) == (2, 1)
