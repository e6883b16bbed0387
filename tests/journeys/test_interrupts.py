"""Ctrl-C and signals at the worst moments: the prompt is back at once, nothing runs on, the session goes on."""

import signal
import socket
import subprocess

import pytest
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.journey_kit import (
    OVERT,
    PROMPT,
    Place,
    Terminal,
    assert_intact,
    assert_paired,
    call,
    calls,
    descendants,
    entries,
    gone,
    messages,
    still,
    until,
)

BACK = 2000.0
"""Milliseconds. The goal is 200 on a quiet machine; this only tells back from hanging, and what it took is printed."""

INTERRUPTED = "Interrupted before it finished"
STALLED = Turn(text="One word after another, and then", chunk=4, fault=Fault(stall_after=5))


def measured(what: str, ms: float) -> None:
    print(f"\nCtrl-C during {what}: prompt back after {ms:.0f} ms")
    assert ms < BACK


def only_the_program(place: Place, terminal: Terminal) -> list[str]:
    """Processes besides the chat itself."""
    return [line for line in place.alive() if not line.startswith(f"{terminal.process.pid} ")]


def sleepers(place: Place) -> list[str]:
    return [line for line in place.alive() if line.split()[1:2] == ["sleep"]]


def goes_on(terminal: Terminal, server: ModelServer) -> None:
    terminal.line("and now?")
    terminal.expect("still here")
    terminal.expect(PROMPT)
    assert messages(server)[-1] == {"role": "user", "content": "and now?"}
    assert_paired(messages(server))
    terminal.line("/exit")
    assert terminal.wait() == 0


def test_ctrl_c_during_a_stream_keeps_what_came_and_gives_the_prompt_back(place: Place) -> None:
    with ModelServer([STALLED, Turn(text="still here")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("tell me")
        terminal.expect("One word after a")
        measured("a stream", terminal.interrupt_until(PROMPT))
        goes_on(terminal, server)
        assert messages(server)[-2] == {"role": "assistant", "content": "One word after a"}
        assert "Interrupted." in terminal.text()


def test_ctrl_c_before_the_first_byte_gives_the_prompt_back(place: Place) -> None:
    silent = Turn(fault=Fault(stall_before_headers=60))
    with ModelServer([silent, Turn(text="still here")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("tell me")
        terminal.expect("tell me")
        until(lambda: server.posts)
        measured("the wait for headers", terminal.interrupt_until(PROMPT))
        goes_on(terminal, server)


def test_ctrl_c_during_a_long_command_ends_it_and_all_it_started(place: Place) -> None:
    command = "sleep 61 & setsid sleep 62 & sleep 60"
    with ModelServer([calls(call("bash", command=command)), Turn(text="still here")]) as server:
        with place.chat("--permission-mode", "yolo", server=server) as terminal:
            terminal.expect(PROMPT)
            terminal.line("wait a minute")
            terminal.expect("● bash sleep 61")
            until(lambda: len(sleepers(place)) == 3)
            measured("sleep 60", terminal.interrupt_until(PROMPT))
            assert gone(lambda: only_the_program(place, terminal)) == []
            goes_on(terminal, server)
        assert INTERRUPTED in messages(server)[-2]["content"]


def test_ctrl_c_during_three_parallel_reads_gives_the_prompt_back(place: Place) -> None:
    """Gigabytes without a line end take long to look through; a hole in the file makes them cost no disk."""
    for name in ("one", "two", "three"):
        with (place.work / name).open("wb") as file:
            file.write(b"text\n" * 4000)
            file.truncate(250 << 20)
    reads = [call("read", path=name, offset=9_000_000) for name in ("one", "two", "three")]
    with ModelServer([calls(*reads), Turn(text="still here")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("read them")
        terminal.expect("read three")
        measured("three parallel reads", terminal.interrupt_until(PROMPT))
        goes_on(terminal, server)
        told = [message["content"] for message in messages(server) if message["role"] == "tool"]
        assert len(told) == 3 and all(INTERRUPTED in text for text in told)


def test_ctrl_c_during_three_searches_ends_them(place: Place) -> None:
    for name in ("one", "two", "three"):
        with (place.work / name).open("wb") as file:
            file.write(b"text\n" * 4000)
            file.truncate(8 << 30)
    greps = [call("grep", pattern="(x+x+)+y$", path=name) for name in ("one", "two", "three")]
    with ModelServer([calls(*greps), Turn(text="still here")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("search them")
        terminal.expect("three")
        measured("three searches", terminal.interrupt_until(PROMPT))
        assert gone(lambda: only_the_program(place, terminal)) == []
        goes_on(terminal, server)


def test_ctrl_c_at_a_question_is_no_answer_and_ends_the_turn(place: Place) -> None:
    asking = calls(call("write", path="a.txt", content="x"))
    with ModelServer([asking, Turn(text="still here")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("write it")
        terminal.expect("Allow? ")
        measured("a question", terminal.interrupt_until(PROMPT))
        goes_on(terminal, server)
    assert not (place.work / "a.txt").exists()


def test_ctrl_c_twice_at_the_prompt_leaves(place: Place) -> None:
    with ModelServer([Turn(text="hello")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.ready()
        terminal.interrupt()
        terminal.expect("again to leave")
        terminal.expect(PROMPT)
        terminal.ready()
        terminal.interrupt()
        terminal.expect("Goodbye")
        assert terminal.wait() == 0


def test_ctrl_c_once_and_a_prompt_and_ctrl_c_does_not_leave(place: Place) -> None:
    with ModelServer([Turn(text="hello")]) as server, place.chat(server=server) as terminal:
        for _ in range(2):
            terminal.expect(PROMPT)
            terminal.ready()
            terminal.interrupt()
            terminal.expect("again to leave")
            terminal.expect(PROMPT)
            terminal.line("/status")
            terminal.expect("mode review")
        terminal.line("/exit")
        assert terminal.wait() == 0


def test_ctrl_d_leaves(place: Place) -> None:
    with ModelServer([Turn(text="hello")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.type("\x04")
        terminal.expect("Goodbye")
        assert terminal.wait() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
@pytest.mark.parametrize("during", ["a stream", "a command"])
def test_a_signal_ends_a_task_with_its_code_and_the_session_goes_on(
    place: Place, number: signal.Signals, code: int, during: str
) -> None:
    sleeping = calls(call("bash", command="sleep 60"), text="One moment.")
    with ModelServer([STALLED if during == "a stream" else sleeping, Turn(text="Done.")]) as server:
        with place.started("run", "take your time", "--verbose", server=server) as child:
            if during == "a stream":
                until(lambda: place.sessions() and b'"request"' in place.session().read_bytes())
                until(lambda: server.posts)
            else:
                until(lambda: any("sleep 60" in line for line in place.alive()))
            below = descendants(child.pid)
            child.send_signal(number)
            out, err = child.communicate(timeout=20)
            assert (child.returncode, out) == (code, b"")
            assert err.decode().endswith("Interrupted.\n")
        assert gone(lambda: still(below)) == []
        assert entries(place.session())[-1]["data"]["reason"] == {130: "interrupted", 143: "terminated"}[code]
        done = place.run("-c", "run on", server=server)
        assert (done.code, done.out) == (0, "Done.\n")
        assert_paired(messages(server))
        assert len(place.sessions()) == 1


def test_a_task_in_the_background_of_a_script_ignores_what_the_script_ignores(place: Place) -> None:
    """`overt run … &` in a script and `nohup overt run …` start with signals ignored, and they stay so."""
    turns = [calls(call("bash", command="touch begun; until test -e go; do sleep 0.02; done")), Turn(text="Done.")]
    with ModelServer(turns) as server:
        child = subprocess.Popen(
            ["sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh", OVERT, "run", "take your time"],
            cwd=place.work,
            env=place.environment(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with child:
            try:
                until((place.work / "begun").exists)
                child.send_signal(signal.SIGINT)
                child.send_signal(signal.SIGHUP)
                (place.work / "go").touch()
                out, err = child.communicate(timeout=20)
            finally:
                child.kill()
    assert (child.returncode, out) == (0, b"Done.\n")
    assert err.startswith(b"1 file changed by commands") and err.count(b"\n") == 1


def test_a_killed_program_leaves_no_child_and_continue_goes_on_with_the_task(place: Place) -> None:
    command = "sleep 61 & setsid sleep 62 & nohup sleep 63 >/dev/null 2>&1 & sleep 60"
    with ModelServer([calls(call("bash", command=command)), Turn(text="Done.")]) as server:
        with place.started("run", "take your time", server=server) as child:
            until(lambda: len(sleepers(place)) == 4)
            below = descendants(child.pid)
            child.send_signal(signal.SIGKILL)
            child.wait(20)
        assert len(below) > 4
        assert gone(lambda: still(below) + place.alive()) == []
        assert_intact(place.session())
        done = place.run("run", "--continue", "go on", server=server)
        assert (done.code, done.out) == (0, "Done.\n")
        said = messages(server)
        assert_paired(said)
        assert [message["role"] for message in said] == ["system", "user", "assistant", "tool", "user"]
        assert INTERRUPTED in said[3]["content"]


def test_ctrl_c_while_the_last_words_are_still_being_printed_loses_nothing(place: Place) -> None:
    """The terminal is slow, the turn is already over, and its last events wait to be shown."""
    many = Turn(text="word after word\n" * 20_000)
    with ModelServer([many, Turn(text="still here")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("tell me all")
        until(lambda: place.sessions() and b'"type":"end"' in place.session().read_bytes())
        terminal.interrupt()
        terminal.expect(PROMPT)
        goes_on(terminal, server)


def test_ctrl_c_pressed_many_times_during_a_command_is_as_good_as_once(place: Place) -> None:
    turns = [calls(call("bash", command="sleep 60")), Turn(text="still here")]
    with ModelServer(turns) as server, place.chat("--permission-mode", "auto", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("wait a minute")
        until(lambda: sleepers(place))
        terminal.type("\x03" * 3)
        terminal.expect("Interrupted.")
        terminal.expect(PROMPT)
        assert gone(lambda: only_the_program(place, terminal)) == []
        goes_on(terminal, server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("during", ["the prompt", "a command"])
def test_a_signal_ends_the_chat_with_its_terminal_in_order(place: Place, number: signal.Signals, during: str) -> None:
    turns = [calls(call("bash", command="sleep 60"))]
    with ModelServer(turns) as server, place.chat("--permission-mode", "auto", server=server) as terminal:
        before = terminal.modes()
        terminal.expect(PROMPT)
        terminal.ready()
        below: dict[int, bytes] = {}
        if during == "a command":
            terminal.line("wait a minute")
            until(lambda: sleepers(place))
            below = descendants(terminal.process.pid)
        terminal.process.send_signal(number)
        assert terminal.wait() == 143
        assert terminal.modes() == before
        assert gone(lambda: still(below)) == []
    if during == "a command":
        assert [line["type"] for line in entries(place.session())][-2:] == ["outcome", "end"]


def test_ctrl_c_during_a_slash_command_gives_the_prompt_back(place: Place) -> None:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as deaf, ModelServer([]) as server:
        env = {"OVERT_BASE_URL": f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"}
        with place.chat(server=server, env=env) as terminal:
            terminal.expect(PROMPT)
            terminal.line("/model")
            terminal.expect("/model")
            connection, _ = deaf.accept()
            with connection:
                measured("a slash command", terminal.interrupt_until(PROMPT))
            terminal.line("/mode")
            terminal.expect("Mode: review")
            terminal.line("/exit")
            assert terminal.wait() == 0


def test_a_line_typed_while_the_agent_works_steers_it(place: Place) -> None:
    turns = [calls(call("bash", command="sleep 1")), Turn(text="as you wish")]
    with ModelServer(turns) as server, place.chat("--permission-mode", "auto", server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("wait a second")
        terminal.expect("● bash sleep 1")
        terminal.line("and then turn left")
        terminal.expect("as you wish")
        terminal.expect(PROMPT)
        assert messages(server)[-1] == {"role": "user", "content": "and then turn left"}
        terminal.line("/exit")
        assert terminal.wait() == 0
