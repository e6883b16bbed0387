"""Sessions as things one keeps: forked, named, exported, searched and looked over with the installed program."""

import json
import signal
from pathlib import Path

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.journey_kit import PROMPT, Place, Ran, call, calls, entries, messages, until

STALLED = Turn(text="a moment", fault=Fault(stall_after=1))


def id_of(path: Path) -> str:
    return path.stem.partition("-")[2]


def said(server: ModelServer) -> list[str]:
    return [message["content"] for message in messages(server)[1:] if message["role"] == "user"]


def test_a_fork_goes_on_apart_from_the_session_it_came_from(place: Place) -> None:
    with ModelServer([Turn(text="ok")], after="repeat") as server:
        for text in ("one", "two", "three"):
            place.run("run", "-c", text, server=server) if place.sessions() else place.run("run", text, server=server)
        old = place.session()
        before = old.read_bytes()
        done = place.run("run", "-c", "--fork-session", "four", server=server)
        assert (done.code, done.out) == (0, "ok\n")
        assert said(server) == ["one", "two", "three", "four"]
        forked = place.run("sessions", "fork", id_of(old), "--turn", "1")
        assert place.run("run", "-r", forked.out.strip(), "else", server=server).out == "ok\n"
        assert said(server) == ["one", "else"]
    assert old.read_bytes() == before
    headers = [entries(path)[0]["data"] for path in place.sessions()]
    assert sorted(header.get("parent", "") for header in headers) == sorted(["", id_of(old), id_of(old)])
    assert place.run("sessions").out.count(f"(fork of {id_of(old)})") == 2


def test_a_session_that_is_being_written_is_offered_to_be_forked(place: Place) -> None:
    with ModelServer([Turn(text="one"), STALLED, Turn(text="mine")]) as server:
        place.run("run", "first", server=server)
        id = id_of(place.session())
        with place.started("run", "-c", "second", server=server) as child:
            until(lambda: len(server.posts) == 2)
            refused = place.run("run", "-r", id, "third", server=server)
            assert refused.code == 1 and f"overt -r {id} --fork-session" in refused.err
            renamed = place.run("sessions", "rename", id, "a name")
            assert renamed.code == 1 and "/rename a name" in renamed.err
            assert place.run("run", "-r", id, "--fork-session", "third", server=server) == Ran(0, "mine\n", "")
            child.send_signal(signal.SIGKILL)
            child.wait(20)


def test_a_session_is_named_and_found_by_its_name(place: Place) -> None:
    with ModelServer([Turn(text="ok")], after="repeat") as server:
        place.run("run", "-n", "cart  total", "fix it", server=server)
        place.run("run", "something else", server=server)
        first = place.sessions()[0]
        assert place.run("run", "-r", "Cart Total", "again", server=server).code == 0
        assert said(server) == ["fix it", "again"]
        done = place.run("sessions", "rename", "cart total", "购物车", "合计")
        assert done == Ran(0, f"{id_of(first)} is called 购物车 合计 now\n", "")
        assert place.run("sessions").out.splitlines()[0].endswith("  购物车 合计")
        assert place.run("run", "-r", "购物车", "and more", server=server).code == 0
        assert said(server) == ["fix it", "again", "and more"]
    assert place.run("sessions", "delete", "购物车").code == 1, "only an id deletes"
    assert first.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "--fork-session", "x"), "--fork-session needs a session"),
        (("run", "-c", "--session-id", "abc", "x"), "with -c or -r add --fork-session"),
        (("run", "-n", " ", "x"), "--name needs a value"),
        (("sessions", "fork"), "needs an id"),
        (("sessions", "fork", "x", "--turn", "none"), "--turn must be"),
        (("sessions", "rename", "x"), "needs an id and a name"),
        (("sessions", "search"), "needs words"),
        (("sessions", "export", "a", "b"), "unexpected 'b'"),
        (("sessions", "serch", "b"), "did you mean search?"),
        (("sessions", "export", "a", "--format", "pdf"), "must be one of markdown, json, html"),
    ],
)
def test_what_does_not_fit_together_is_told_before_anything_happens(
    place: Place, words: tuple[str, ...], told: str
) -> None:
    with ModelServer([Turn(text="x")]) as server:
        done = place.run(*words, server=server)
        assert (done.code, done.out, len(server.posts)) == (2, "", 0)
        assert told in done.err
    assert place.sessions() == []


def test_an_id_can_be_chosen_for_a_new_session_and_for_a_fork(place: Place) -> None:
    chosen = "0b5e7c1a-77aa-4c3e-9d21-aabbccddeeff"
    with ModelServer([Turn(text="ok")], after="repeat") as server:
        done = place.run("run", "--session-id", chosen, "hi", "--output-format", "json", server=server)
        assert json.loads(done.out)["session_id"] == chosen
        assert id_of(place.session()) == chosen
        again = place.run("run", "--session-id", chosen, "hi", server=server)
        assert again.code == 1 and f"overt -r {chosen}" in again.err
        wrong = place.run("run", "--session-id", "../x", "hi", server=server)
        assert wrong.code == 1 and "letters, digits and dashes" in wrong.err
        place.run("run", "-r", chosen, "--fork-session", "--session-id", "my-copy", "more", server=server)
    assert {id_of(path) for path in place.sessions()} == {chosen, "my-copy"}


def test_words_are_found_in_what_was_said_and_printed(place: Place) -> None:
    (place.work / "a.txt").write_text("one\nthe hidden 宝藏 lies here " + "x" * 300 + "\n")
    with ModelServer([calls(call("read", path="a.txt")), Turn(text="Found it."), Turn(text="nothing")]) as server:
        place.run("run", "where is the TREASURE?", server=server)
        place.run("run", "something else", server=server)
    id = id_of(place.sessions()[0])
    found = place.run("sessions", "search", "treasure")
    lines = found.out.splitlines()
    assert found.code == 0 and lines[0].startswith(f"{id}  ") and lines[1] == "  turn 1  you    where is the TREASURE?"
    chinese = place.run("sessions", "search", "宝藏").out.splitlines()
    assert len(chinese) == 2 and "tool" in chinese[1] and "hidden 宝藏 lies" in chinese[1] and len(chinese[1]) <= 102
    rows = [json.loads(line) for line in place.run("sessions", "search", "--json", "宝藏", "HIDDEN").out.splitlines()]
    assert [(row["session"], row["turn"], row["who"]) for row in rows] == [(id, 1, "tool")]
    nowhere = place.run("sessions", "search", "nowhere")
    assert (nowhere.code, nowhere.out) == (1, "") and "has a line with all of: nowhere" in nowhere.err
    (place.work / "else" / ".git").mkdir(parents=True)
    assert place.run("sessions", "search", "-C", "else", "treasure").out == ""
    assert place.run("sessions", "search", "-C", "else", "--all", "treasure").code == 0


def test_a_tampered_line_is_found_by_check(place: Place) -> None:
    with ModelServer([calls(call("todoread")), Turn(text="ok"), Turn(text="two")]) as server:
        place.run("run", "count pebbles", server=server)
        place.run("run", "other", server=server)
    first, second = place.sessions()
    assert place.run("sessions", "check").out.count("  sound: ") == 2
    whole = first.read_bytes()
    first.write_bytes(whole.replace(b"count pebbles", b"count pebbies"))
    done = place.run("sessions", "check")
    number = next(n for n, line in enumerate(whole.splitlines(), 1) if b"count pebbles" in line)
    assert done.code == 1
    assert f"{id_of(first)}  damaged: " in done.out and f"{id_of(second)}  sound: " in done.out
    assert f"line {number}: entry {number} was changed" in done.out
    assert "lost: a prompt, or what went along with one (turn 1)" in done.out
    (report,) = [json.loads(line) for line in place.run("sessions", "check", id_of(first), "--json").out.splitlines()]
    assert (report["state"], [fault["line"] for fault in report["findings"]]) == ("damaged", [number])
    assert place.run("sessions", "check", id_of(second)).code == 0
    first.write_bytes(whole.replace(b'{"v":1', b'{"v":2'))
    newer = place.run("sessions", "check")
    assert newer.code == 1 and "Update Overt to open it" in newer.out
    first.write_bytes(whole)


def test_exports_go_to_a_file_or_to_the_screen(place: Place) -> None:
    with ModelServer([Turn(text="It is `done`. 好了")]) as server:
        place.run("run", "the task", server=server)
    id = id_of(place.session())
    assert place.run("sessions", "export", id).out.startswith("# the task\n\n- Session: ")
    assert json.loads(place.run("export", id, "--format", "json").out)["session"]["id"] == id
    assert place.run("sessions", "export", id, "-o", "out.html") == Ran(0, "", "")
    page = (place.work / "out.html").read_text()
    assert "<code>done</code>. 好了" in page and (place.work / "out.html").stat().st_mode & 0o777 == 0o600
    refused = place.run("sessions", "export", id, "-o", "no/folder/x.md")
    assert refused.code == 1 and "no/folder/x.md cannot be written" in refused.err


def test_in_the_chat_a_fork_goes_on_and_a_name_stays(place: Place) -> None:
    with ModelServer([Turn(text="one!"), Turn(text="two!"), Turn(text="three!")]) as server:
        with place.chat("--session-id", "first-one", server=server) as terminal:
            terminal.expect(PROMPT)
            terminal.line("say one")
            terminal.expect("one!")
            terminal.expect(PROMPT)
            terminal.line("/rename 我的会话")
            terminal.expect("called: 我的会话")
            terminal.expect(PROMPT)
            terminal.line("/fork 1")
            terminal.expect("copy of session first-one")
            terminal.expect(PROMPT)
            terminal.line("say two")
            terminal.expect("two!")
            terminal.expect(PROMPT)
            terminal.line("/new")
            terminal.expect("New session")
            terminal.expect(PROMPT)
            terminal.line("say three")
            terminal.expect("three!")
            terminal.expect(PROMPT)
            terminal.line("/exit")
            assert terminal.wait() == 0
        prompts = [
            [entry["data"]["message"]["parts"][0]["text"] for entry in entries(path) if entry["type"] == "user"]
            for path in place.sessions()
        ]
        assert sorted(prompts) == [["say one"], ["say one", "say two"], ["say three"]]
    assert place.run("sessions").out.count("我的会话") == 2
