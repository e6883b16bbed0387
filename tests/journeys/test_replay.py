"""`overt replay`: sessions of every kind run again offline come to the same requests; a tampered one does not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from tests.fakes.model_server import Fault, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import PROMPT, Place, call, calls, entries, until

Recording = Callable[[Place], None]

NO_TOOLS = Turn(fault=Fault(status=400, body='{"error": {"message": "registry/m does not support tools"}}'))
NO_FORM = Turn(fault=Fault(status=400, body='{"error": {"message": "response_format json_schema is not supported"}}'))
BUSY = Turn(fault=Fault(status=503, headers={"Retry-After": "0"}))
STALLED = Turn(text="One word after another, and then", chunk=4, fault=Fault(stall_after=5))
TEXT_CALL = 'Let me look.\n<tool_call>{"name": "read", "arguments": {"path": "a.txt"}}</tool_call>'
SCHEMA_CALL, SCHEMA_END = '{"tool": "read", "path": "a.txt"}', '{"tool": "final", "text": "It says {\\"one\\": 1}."}'


def once(place: Place, *turns: Turn, words: tuple[str, ...] = ("run", "--yolo", "go")) -> None:
    with ModelServer(turns) as server:
        place.run(*words, server=server)


def chat(place: Place, turns: list[Turn], *lines: tuple[str, str]) -> None:
    """Each line is typed at the prompt, and what comes after it waited for."""
    with (
        ModelServer(turns, models=("fake-model", "other-model")) as server,
        place.chat("--yolo", server=server) as terminal,
    ):
        for typed, wanted in lines:
            terminal.expect(PROMPT)
            terminal.line(typed)
            terminal.expect(wanted)
        terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0


def plain(place: Place) -> None:
    once(place, Turn(text="Hello, 世界."))


def tools(place: Place) -> None:
    write = call("write", path="new.txt", content="neu\n")
    todo = call("todowrite", items=[{"content": "一", "status": "pending"}])
    once(
        place,
        calls(call("read", path="a.txt"), text="I look."),
        calls(call("edit", path="a.txt", old="one", new="two"), write, todo),
        calls(call("bash", command="cat new.txt; false")),
        Turn(text="done", reasoning="hm"),
    )


def parallel(place: Place) -> None:
    readers = [call("read", path=f"{number}.txt") for number in range(8)]
    once(place, calls(*readers, call("glob", pattern="*.txt"), call("bash", command="ls")), Turn(text="done"))


def repair(place: Place) -> None:
    once(
        place,
        calls(call("Read", file_path="a.txt")),
        Turn(text=TEXT_CALL),
        calls(call("nosuch", x=1), call("read"), call("write", path="b.txt")),
        Turn(text=""),
        Turn(text="done"),
    )


def denial(place: Place) -> None:
    words = ("run", "--disallowedTools", "bash(touch *)", "--", "go")
    once(
        place,
        calls(call("bash", command="touch never"), call("read", path="/etc/shadow")),
        Turn(text="ok"),
        words=words,
    )


def retry(place: Place) -> None:
    chat(place, [BUSY, Turn(text="first"), BUSY, Turn(text="second")], ("go", "first"), ("/retry", "second"))


def another_model(place: Place) -> None:
    chat(
        place,
        [calls(call("read", path="a.txt")), Turn(text="as one"), Turn(text="as other")],
        ("go", "as one"),
        ("/model other-model", "other-model"),
        ("go on", "as other"),
    )


def compaction(place: Place) -> None:
    (place.work / "long.txt").write_text("word " * 4000)
    reads = [turn for _ in range(6) for turn in (calls(call("read", path="long.txt")), Turn(text="read it"))]
    summary = "## Objective\nRead the file.\n## Next steps\nNone."
    lines = [(f"read {number}", "read it") for number in range(6)]
    chat(
        place, [*reads, Turn(text=summary), Turn(text="after all")], *lines, ("/compact", "tokens"), ("on", "after all")
    )


def room_made(place: Place) -> None:
    """The window is short, so that room is made in the middle of a turn."""
    (place.work / "long.txt").write_text("a line of words that are not worth much\n" * 500)
    config = place.home / ".config/overt"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[context]\ncontext_window = 20000\n[compaction]\nthreshold = 0.5\n")

    def choose(request: Recorded, number: int) -> Turn:
        if request.json().get("tool_choice") == "none":
            return Turn(text="## Objective\nRead the file again and again.")
        return calls(call("read", path="long.txt", offset=number + 1, limit=120)) if number < 9 else Turn(text="done")

    with ModelServer(choose=choose) as server:
        place.run("run", "--yolo", "go", server=server)


def interrupted(place: Place) -> None:
    turns = [STALLED, calls(call("read", path="a.txt"), call("bash", command="sleep 60")), Turn(text="still here")]
    with ModelServer(turns) as server, place.chat("--yolo", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("tell me")
        terminal.expect("One word after a")
        terminal.interrupt_until(PROMPT)
        terminal.line("and now?")
        until(lambda: any(line.split()[1:2] == ["sleep"] for line in place.alive()))
        terminal.interrupt_until(PROMPT)
        terminal.line("once more")
        terminal.expect("still here")
        terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0


def resumed(place: Place) -> None:
    turns = [calls(call("read", path="a.txt")), Turn(text="one"), calls(call("grep", pattern="one")), Turn(text="two")]
    with ModelServer(turns) as server:
        place.run("run", "--yolo", "first", server=server)
        place.run("run", "--yolo", "-c", "second", server=server)


def killed(place: Place) -> None:
    both = calls(call("todoread"), call("bash", command="sleep 60"), call("bash", command="touch never"))
    with ModelServer([both, Turn(text="I see.")]) as server:
        with place.started("run", "--yolo", "go", server=server) as child:
            until(lambda: any(line.split()[1:2] == ["sleep"] for line in place.alive()))
            child.kill()
            child.wait(20)
        place.run("run", "--yolo", "-c", "what now?", server=server)


def schema_calls(place: Place) -> None:
    once(place, NO_TOOLS, Turn(text=SCHEMA_CALL), Turn(text=SCHEMA_END))


def text_calls(place: Place) -> None:
    once(place, NO_TOOLS, NO_FORM, Turn(text=TEXT_CALL), Turn(text="It says one."))


def step_limit(place: Place) -> None:
    look = calls(call("read", path="a.txt"))
    once(place, look, look, Turn(text="not done yet"), words=("run", "--max-turns", "2", "go"))


def near_step_limit(place: Place) -> None:
    looks = [calls(call("glob", pattern=f"*{number}")) for number in range(5)]
    with ModelServer([*looks, Turn(text="not done yet"), *looks[:4], Turn(text="in time")]) as server:
        place.run("run", "--max-turns", "5", "go", server=server)
        place.run("run", "-c", "--max-turns", "5", "go", server=server)
    assert server.posts[-1].body.count(b"4 of the 5 steps") == 2


def storm(place: Place) -> None:
    once(place, *[calls(call("read", path="missing.txt"))] * 8)


def typed_command(place: Place) -> None:
    chat(place, [Turn(text="I see.")], ("!echo hello", "hello"), ("what was it?", "I see."))


def refused(place: Place) -> None:
    wrong = Turn(fault=Fault(status=401, body='{"error": {"message": "no such key"}}'))
    with ModelServer([wrong, Turn(text="better")]) as server:
        place.run("run", "go", server=server)
        place.run("run", "-c", "again", server=server)


def secret(place: Place) -> None:
    """What was taken out of a call cannot be led through the loop again; the entries still give the bytes."""
    key = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1w"
    once(place, calls(call("bash", command=f"echo {key} | wc -c")), calls(call("read", path="a.txt")), Turn(text="ok"))


KINDS: tuple[Recording, ...] = (
    plain, tools, parallel, repair, denial, retry, another_model, compaction, room_made, interrupted, resumed, killed,
    schema_calls, text_calls, step_limit, near_step_limit, storm, typed_command, refused, secret,
)  # fmt: skip
LED_BY_ENTRIES = {"secret": 1}
"""How many steps of a kind the loop is not led to; to a summary it never is."""


@pytest.fixture
def recorded(place: Place) -> Place:
    (place.work / "a.txt").write_text("one\n")
    for number in range(8):
        (place.work / f"{number}.txt").write_text(f"{number}\n")
    return place


def session_id(place: Place) -> str:
    return place.session().stem.rpartition("-")[2]


def replay(place: Place, *more: str) -> tuple[int, dict[str, Any]]:
    done = place.run("replay", session_id(place), "--json", *more)
    found: dict[str, Any] = json.loads(done.out)
    return done.code, found


@pytest.mark.parametrize("record", KINDS, ids=lambda record: record.__name__)
def test_a_session_run_again_comes_to_the_same_requests(recorded: Place, record: Recording) -> None:
    record(recorded)
    before = recorded.session().read_bytes()
    sent = [entry for entry in entries(recorded.session()) if entry["type"] == "request"]
    code, found = replay(recorded)
    folded = [line["why"] for line in found["lines"] if line["state"] == "folded"]
    assert (code, found["identical"], found["unlike"]) == (0, True, [])
    assert [line["seq"] for line in found["lines"]] == [entry["seq"] for entry in sent] != []
    summaries = sum(entry["data"].get("purpose") == "summary" for entry in sent)
    assert len(folded) == summaries + LED_BY_ENTRIES.get(record.__name__, 0), folded
    assert (summaries > 0) == (record in (compaction, room_made))
    assert recorded.session().read_bytes() == before


def test_replay_needs_neither_the_workspace_nor_a_server_nor_a_key(recorded: Place) -> None:
    tools(recorded)
    for path in recorded.work.iterdir():
        path.unlink()
    done = recorded.run("replay", session_id(recorded), env={"OVERT_API_KEY": ""})
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("0 differences: 4 requests run again.\n")


# ── what is not as it was ────────────────────────────────────────────────────────────────────────────────


def rewrite(path: Path, change: Callable[[dict[str, Any]], bool]) -> int:
    """Change the first entry that lets itself be, and give every line the sum it should have; the entry's number."""
    chain, lines, changed = 0, [], 0
    for line in path.read_bytes().splitlines():
        body = line[: line.rindex(b',"sum":"')]
        entry = json.loads(body + b"}")
        if not changed and change(entry):
            changed = entry["seq"]
            body = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
        chain = crc32(body, chain)
        lines.append(b'%s,"sum":"%08x"}\n' % (body, chain))
    path.write_bytes(b"".join(lines))
    assert changed
    return changed


def test_a_tampered_outcome_is_found_at_the_request_that_held_it(recorded: Place) -> None:
    tools(recorded)

    def tamper(entry: dict[str, Any]) -> bool:
        if entry["type"] != "outcome":
            return False
        entry["data"]["result"]["parts"][0]["text"] += " "
        return True

    rewrite(recorded.session(), tamper)
    code, found = replay(recorded)
    assert (code, found["identical"]) == (1, False)
    assert [(line["turn"], line["step"], line["state"]) for line in found["lines"]] == [
        (1, 1, "same"),
        (1, 2, "differs"),
        (1, 3, "differs"),
        (1, 4, "differs"),
    ]
    told = recorded.run("replay", session_id(recorded))
    assert told.code == 1
    assert "the first: turn 1, step 2 (entry" in told.out


def test_a_call_that_the_loop_reads_another_way_is_found(recorded: Place) -> None:
    """The entries give the same requests as ever here: only running the loop again shows it."""
    repair(recorded)

    def tamper(entry: dict[str, Any]) -> bool:
        wrong = bool(entry["type"] == "call" and entry["data"]["call"]["name"] == "read")
        if wrong:
            entry["data"]["call"]["arguments"] = '{"path":"other.txt"}'
        return wrong

    rewrite(recorded.session(), tamper)
    code, found = replay(recorded)
    assert (code, found["identical"]) == (1, False)
    assert found["unlike"][0]["what"].startswith("the call read was read as read")


def test_a_changed_byte_is_damage_and_ends_with_one(recorded: Place) -> None:
    plain(recorded)
    path = recorded.session()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"Hello", b"Hullo"))
    done = recorded.run("replay", session_id(recorded))
    path.write_bytes(whole)
    assert done.code == 1
    assert "was changed (its sum does not fit)" in done.err


def test_a_session_that_is_not_there_is_said_to_be_missing(place: Place) -> None:
    assert place.run("replay", "zz").code == 1
    assert place.run("replay", "zz").err.startswith("overt: No session has an id")
    assert place.run("replay").code == 2


# ── tools, run again ─────────────────────────────────────────────────────────────────────────────────────


def test_tools_run_again_touch_only_a_copy(recorded: Place) -> None:
    again = [
        calls(call("read", path="a.txt")),
        calls(call("bash", command="echo more >> a.txt; pwd; wc -l < a.txt")),
        calls(call("bash", command="date +%N")),
        calls(call("bash", command="seq 9000")),
        calls(call("bash", command="rm -rf /"), call("glob", pattern="*.txt")),
        Turn(text="done"),
    ]
    with ModelServer(again) as server:
        recorded.run("run", "--permission-mode", "auto", "go", server=server)
    (recorded.work / "a.txt").write_text("one\n")
    code, found = replay(recorded, "--tools")
    assert [(each["name"], each["state"]) for each in found["tools"]] == [
        ("read", "same"),
        ("bash", "same"),
        ("bash", "differs"),
        ("bash", "same"),
        ("bash", "skipped"),
        ("glob", "same"),
    ]
    assert found["tools"][4]["why"] == "it was denied"
    assert (code, found["identical"], found["unlike"]) == (1, False, [])
    assert (recorded.work / "a.txt").read_text() == "one\n"
