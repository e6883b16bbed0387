"""Whatever is wrong, one clear message says what and what to do; no traceback, no key, the session whole.

Tracebacks and keys are looked for in everything each run prints, and in every file of its home.
"""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import IO

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.journey_kit import KEY, OVERT, Place, Ran, call, calls, checked, entries, messages, results, until

LOCAL_PORTS = (8000, 8080, 11434, 1234)
ROOT = os.geteuid() == 0
UNSAVED = "Session not saved completely: missing entries in "


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.3)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ended(place: Place) -> dict[str, object]:
    last = entries(place.session())[-1]
    assert last["type"] == "end"
    found: dict[str, object] = last["data"]
    return found


# ── the model's server ───────────────────────────────────────────────────────────────────────────────────


def test_without_a_model_it_lists_what_was_looked_for_and_three_remedies(place: Place) -> None:
    busy = [port for port in LOCAL_PORTS if is_open(port)]
    if busy:
        pytest.skip(f"something listens on {busy}, where a model server would")
    done = place.run("run", "hi")
    assert (done.code, done.out, place.sessions()) == (1, "", [])
    for word in ("OVERT_BASE_URL", "OPENAI_API_KEY", *(f"127.0.0.1:{port}" for port in LOCAL_PORTS), "ollama serve"):
        assert word in done.err
    assert [line for line in done.err.splitlines() if line.startswith(("  1.", "  2.", "  3."))] != []
    assert done.err.count("\n  1. ") == done.err.count("\n  2. ") == done.err.count("\n  3. ") == 1


def test_a_server_that_is_not_there_is_named(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    config = place.home / ".config/overt/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[[providers]]\nname = "mine"\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "m"\nattempts = 1\n'
    )
    done = place.run("run", "hi")
    assert (done.code, done.out) == (1, "")
    assert f"No answer from http://127.0.0.1:{port}: connection refused. Is the server running?" in done.err
    assert ended(place)["kind"] == "down"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(status=401, body=f'{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}'), ["OVERT_API_KEY"]),
        (
            Fault(
                status=404,
                body='{"error":{"message":"The model `fake-model` does not exist","code":"model_not_found"}}',
            ),
            ["no model 'fake-model'", "big-model", "small-model"],
        ),
        (Fault(html=True), ["not an API endpoint", "text/html"]),
        (Fault(status=402, body='{"error":{"message":"Insufficient Balance"}}'), ["balance"]),
        (Fault(status=400, body='{"error":{"message":"too hot","param":"temperature"}}'), ["`temperature`", "too hot"]),
    ],
    ids=["wrong key", "unknown model", "a web page", "no balance", "wrong parameter"],
)
def test_what_a_server_refuses_is_told_in_words_after_one_request(place: Place, fault: Fault, words: list[str]) -> None:
    with ModelServer([Turn(fault=fault)], after="repeat", models=("big-model", "small-model")) as server:
        done = place.run("run", "hi", server=server)
    assert (done.code, done.out, len(server.posts)) == (1, "", 1)
    assert done.err.startswith("error: ") and all(word in done.err for word in words), done.err
    assert ended(place)["reason"] == "error"


def test_a_reply_that_breaks_off_is_an_error_and_what_came_is_kept(place: Place) -> None:
    cut = Turn(text="The answer is forty", chunk=5, fault=Fault(cut_after=3))
    with ModelServer([cut, Turn(text="two")]) as server:
        done = place.run("run", "hi", server=server)
        assert (done.code, len(server.posts)) == (1, 1)
        assert "broke off" in done.err or "ended" in done.err or "closed" in done.err, done.err
        assert (done.out, done.err.splitlines()[0]) == ("", "The answer")
        assert ended(place)["kind"] == "cut"
        again = place.run("-c", "and?", server=server)
    assert again == Ran(0, "two\n", "")
    assert [message["role"] for message in messages(server)][1:] == ["user", "assistant", "user"]
    assert str(messages(server)[2]["content"]).startswith("The answer")


def test_a_call_in_a_reply_that_breaks_off_is_not_run(place: Place) -> None:
    write = calls(call("bash", command="touch made"))
    cut = Turn(calls=write.calls, fault=Fault(cut_after=3))
    with ModelServer([cut]) as server:
        done = place.run("run", "hi", server=server)
    assert (done.code, done.out, (place.work / "made").exists()) == (1, "", False)


def test_bytes_that_are_not_utf8_become_a_mark_and_the_reply_goes_on(place: Place) -> None:
    with ModelServer([Turn(text="all right", fault=Fault(invalid_utf8=True))]) as server:
        done = place.run("run", "hi", server=server)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("all right\n") and "\ufffd" in done.out


# ── configuration and flags ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[agent]\nmax_steps = 'many'\n",
            "overt.toml:2: `max_steps` must be a whole number above 0, or 0 for no limit, got 'many'",
        ),
        ("[agent\n", "overt.toml:1"),
        ("[permissions]\nmode = 'reveiw'\n", "overt.toml:2: `mode`"),
    ],
)
def test_a_broken_configuration_is_named_with_file_and_line(place: Place, text: str, words: str) -> None:
    (place.work / "overt.toml").write_text(text)
    with ModelServer([]) as server:
        done = place.run("run", "hi", server=server)
    assert (done.code, done.out, server.requests) == (1, "", [])
    assert words in done.err


def test_an_unknown_key_is_named_with_the_nearest_one_and_work_goes_on(place: Place) -> None:
    (place.work / "overt.toml").write_text("[agent]\nmax_step = 3\n")
    with ModelServer([Turn(text="hello")]) as server:
        done = place.run("run", "hi", server=server)
    assert (done.code, done.out) == (0, "hello\n")
    assert "overt.toml:2" in done.err and "max_steps" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "hi", "--modle", "x"], "unknown flag --modle; did you mean --model?"),
        (["--output-fromat=json", "hi"], "did you mean --output-format?"),
        (["run", "hi", "--max-turns", "many"], "--max-turns must be a whole number above 0, got 'many'"),
        (["run", "hi", "--max-turns", "0"], "above 0, got '0'"),
        (["run", "hi", "--max-turns"], "--max-turns"),
        (["run", "hi", "--output-format", "xml"], "text, json, stream-json"),
        (["run", "hi", "--permission-mode", "fast"], "plan"),
        (["run"], "nothing to do"),
        (["run", ""], "nothing to do"),
        (["run", " \n"], "nothing to do"),
        (["-p"], "nothing to do"),
        (["run", "hi", "--system-prompt-file", "missing.md"], "cannot read missing.md: No such file"),
        (["sessions", "burn"], "delete"),
        (["sessions", "show"], "needs an id"),
        (["config", "--jsn"], "did you mean --json?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_ends_with_code_two_and_says_why(place: Place, words: list[str], told: str) -> None:
    with ModelServer([]) as server:
        done = place.run(*words, server=server)
    assert (done.code, done.out, server.requests, place.sessions()) == (2, "", [], [])
    assert done.err.startswith("overt: ") and told in done.err, done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "hi", "-C", "nowhere"], "nowhere"),
        (["run", "hi", "-C", "file.txt"], "file.txt"),
        (["run", "hi", "--add-dir", "nowhere"], "--add-dir"),
        (["run", "hi", "--resume", "deadbeef"], "No session has an id that begins with `deadbeef`"),
        (["run", "hi", "--continue"], "There is no session in "),
        (["sessions", "show", "deadbeef"], "`overt sessions` lists them"),
        (["sessions", "delete", "deadbeef"], "`overt sessions` lists them"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_exist_is_named_and_nothing_is_begun(place: Place, words: list[str], told: str) -> None:
    (place.work / "file.txt").write_text("x")
    with ModelServer([]) as server:
        done = place.run(*words, server=server)
    assert done.code in (1, 2)
    assert (done.out, server.posts, place.sessions()) == ("", [], [])
    assert done.err.startswith("overt: ") and told in done.err, done.err
    assert len(done.err.splitlines()) <= 3


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_cannot_be_read_or_lies_outside_is_told_to_the_model(place: Place) -> None:
    os.mkfifo(place.work / "pipe")
    (place.work / "locked.txt").write_text("x")
    (place.work / "locked.txt").chmod(0)
    (place.work / "photo.bin").write_bytes(bytes(range(256)) * 40)
    turns = [
        calls(
            call("read", path="pipe"),
            call("read", path="../secret"),
            call("read", path="/dev/zero"),
            call("read", path="photo.bin"),
            call("write", path="/etc/overt-was-here", content="x"),
            call("edit", path="../outside.txt", old_string="", new_string="x"),
            call("read", path="locked.txt"),
        ),
        Turn(text="I see."),
    ]
    with ModelServer(turns) as server:
        done = place.run("run", "hi", server=server)
    assert done == Ran(0, "I see.\n", "")
    pipe, secret, zero, photo, etc, outside, locked = results(server)
    assert "named pipe" in pipe
    assert secret == "/tmp is empty: commands have one of their own, and none has run yet."
    assert zero.startswith("/dev/zero may not be read: the system makes up what is in it")
    assert all("is outside the workspace" in text for text in (etc, outside))
    assert "not text" in photo
    assert ("ermission denied" in locked) != ROOT
    assert not Path("/etc/overt-was-here").exists()


# ── the disk ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_that_cannot_save_anything_answers_and_ends_with_1_and_a_list(place: Place) -> None:
    sessions = place.home / ".local/share/overt/sessions"
    sessions.parent.mkdir(parents=True)
    sessions.write_text("in the way")
    with ModelServer([Turn(text="hello")]) as server:
        done = place.run("run", "hi", server=server)
    assert (done.code, done.out) == (1, "hello\n")
    warning, summary, *missing = done.err.splitlines()
    assert "not being saved" in warning and UNSAVED in summary, done.err
    assert missing == ["  session", "  turn 1: prefix, mode, user, request, reply, end"]


def test_a_run_on_a_full_disk_ends_with_1_and_names_what_was_not_saved(place: Place) -> None:
    """The largest size a file may have stands in for the disk; the kernel then writes part of a line."""
    reads = calls(call("read", path="long.txt"))
    (place.work / "long.txt").write_text("a line of text\n" * 500)
    with ModelServer([reads, Turn(text="done"), Turn(text="more")]) as server:
        done = place.run(
            "run",
            "hi",
            server=server,
            under=("sh", "-c", 'ulimit -f 24; export PYTHONDONTWRITEBYTECODE=1; exec "$@"', "sh"),
        )
        assert (done.code, done.out) == (1, "done\n")
        warning, summary, turn, *more = done.err.splitlines()
        assert "not being saved (No space left" in warning, done.err
        missing = turn.removeprefix("  turn 1: ").split(", ")
        assert (f": {len(missing)}. Files in the workspace" in summary, more) == (True, []), done.err
        assert missing[-2:] == ["reply", "end"] and len(missing) < 8, missing
        checked = place.run("sessions", "check")
        assert (checked.code, checked.err) == (1, "")
        saved = entries(place.session())
        assert f"unfinished: {len(saved)} entries, 1 turn\n  turn 1 has no end: " in checked.out, checked.out
        assert f"its last entry is `{saved[-1]['type']}`. Overt was killed, or the disk was full.\n" in checked.out
        again = place.run("-c", "go on", server=server)
        assert (again.code, again.out, again.err) == (0, "more\n", "")


def test_a_run_that_is_interrupted_on_a_full_disk_keeps_the_exit_code_of_the_signal(place: Place) -> None:
    sessions = place.home / ".local/share/overt/sessions"
    sessions.parent.mkdir(parents=True)
    sessions.write_text("in the way")
    with (
        ModelServer([Turn(text="One word after another", chunk=4, fault=Fault(stall_after=2))]) as server,
        place.started("run", "hi", server=server) as child,
    ):
        until(lambda: server.posts)
        child.send_signal(signal.SIGTERM)
        _, err = child.communicate(timeout=20)
    assert child.returncode == 143
    assert UNSAVED.encode() in err and err.endswith(b"end\n"), err


def test_a_full_disk_leaves_a_file_that_is_edited_as_it_was(place: Place) -> None:
    small = place.work / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], capture_output=True, check=False, timeout=30
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system takes root")
    try:
        before = b"word\n" * 8000
        (small / "a.txt").write_bytes(before)
        turns = [
            calls(call("read", path="small/a.txt")),
            calls(call("write", path="small/a.txt", content="other\n" * 8000)),
            Turn(text="It is full."),
        ]
        with ModelServer(turns) as server:
            done = place.run("run", "hi", server=server)
        assert done == Ran(0, "It is full.\n", "")
        assert "small/a.txt: the disk is full; nothing was changed" in results(server)[-1]
        assert ((small / "a.txt").read_bytes(), os.listdir(small)) == (before, ["a.txt"])
    finally:
        subprocess.run(["umount", str(small)], check=True, timeout=30)


# ── the standard streams ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", [("run", "hi"), ("tools",), ("run", "hi", "--output-format", "stream-json")])
def test_a_result_that_nobody_reads_is_no_internal_error(place: Place, words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with ModelServer([Turn(text="hello")]) as server, os.fdopen(writer, "wb") as unread:
        done = to(unread, place, server, *words)
    assert done.code == 1
    assert done.err == (
        "" if words == ("tools",) else "overt: the result could not be written to stdout: Broken pipe\n"
    )


def test_a_result_that_does_not_fit_the_disk_is_told_in_words(place: Place) -> None:
    with ModelServer([Turn(text="hello")]) as server, open("/dev/full", "wb") as full:
        done = to(full, place, server, "run", "hi")
    assert done == Ran(1, "", "overt: the result could not be written to stdout: No space left on device\n")


def to(stdout: IO[bytes], place: Place, server: ModelServer, *words: str) -> Ran:
    done = subprocess.run(
        [OVERT, *words],
        cwd=place.work,
        env=place.environment(server),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    return checked(done.returncode, b"", done.stderr)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_obstacle(place: Place, closed: str) -> None:
    """Their numbers must not go to the session or a socket either."""
    turns = [calls(call("bash", command="echo to stdout; cat")), Turn(text="hello")]
    with ModelServer(turns) as server:
        done = place.run("run", "hi", server=server, closed=closed)
        assert (done.code, done.err) == (0, "")
        assert done.out == ("" if " >&-" in f" {closed}" else "hello\n")
        assert results(server) == ["to stdout"]


def test_a_closed_stdin_without_a_task_says_that_there_is_nothing_to_do(place: Place) -> None:
    with ModelServer([]) as server:
        done = place.run("run", server=server, closed="<&-")
    assert done.code == 2 and "nothing to do" in done.err


def test_a_prompt_that_is_not_utf8_is_sent_with_marks(place: Place) -> None:
    with ModelServer([Turn(text="hello")]) as server:
        assert place.run("run", server=server, stdin=b"caf\xe9 \x00 \xed\xa0\x80") == Ran(0, "hello\n", "")
        assert str(messages(server)[-1]["content"]).startswith("caf\ufffd")


@pytest.mark.parametrize("shape", ["json", "stream-json"])
def test_a_failure_is_a_result_too_for_whoever_reads_json(place: Place, shape: str) -> None:
    cut = Turn(text="The answer is forty", chunk=5, fault=Fault(cut_after=3))
    with ModelServer([cut]) as server:
        done = place.run("run", "hi", "--output-format", shape, server=server)
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 1
    assert [line["type"] for line in lines] == (["result"] if shape == "json" else ["system", "assistant", "result"])
    assert (lines[-1]["subtype"], lines[-1]["is_error"]) == ("error_during_execution", True)
    assert "in the middle of the reply" in lines[-1]["result"]
    assert shape == "json" or lines[1]["message"]["content"] == [{"type": "text", "text": "The answer"}]
