"""Ten injected faults: each leaves a traceback on disk without a secret, and the chat goes on where one turn failed."""

import json
import subprocess
import sys

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.fault_kit import (
    HIDDEN,
    assert_crash,
    assert_no_secret,
    crash_shown,
    crashes,
    faulty,
    log,
    prompt_until,
    state,
)
from tests.journeys.journey_kit import PROMPT, Place, call, calls, entries, results
from tests.journeys.test_terminal_signals import environment, ready
from tests.journeys.tty_kit import tty

READ = calls(call("read", path="a.txt"))
BASH = calls(call("bash", command="echo hello"))
SLOW_BASH = calls(call("bash", command="sleep 0.3; echo hello; sleep 0.3"))
DONE = Turn(text="all done")
WRITE = calls(call("write", path="new.txt", content="new\n"))
NAMED = 'small_model = "fake-model"\n'


def test_exception_in_the_loop_ends_a_headless_run_with_code_1_and_a_crash_file(place: Place) -> None:
    (place.work / "a.txt").write_text("hi\n")
    with ModelServer([READ, DONE]) as server:
        ran = place.run("run", "secret plan", server=server, env=faulty(place, "overt.agent.loop:run_calls"))
    assert ran.code == 1
    text = assert_crash(place, "run_turn", shown=ran.err)
    assert "base_url = http://127.0.0.1" in text
    assert "RequestSent" in text and "Replied" in text
    assert "secret plan" not in text
    assert entries(place.session())[-1]["type"] == "end"


def test_exception_in_the_loop_ends_the_turn_and_the_plain_chat_goes_on(place: Place) -> None:
    (place.work / "a.txt").write_text("hi\n")
    with ModelServer([READ, DONE]) as server:
        env = faulty(place, "overt.agent.loop:run_calls", times=1)
        with place.chat(server=server, env=env) as chat:
            shown = prompt_until(chat, "first", ".txt\n")
            prompt_until(chat, "second", "all done")
            chat.expect(PROMPT)
            chat.type("\x04")
            assert chat.wait() == 0
    assert_crash(place, "run_turn", shown=shown)


def test_exception_in_the_loop_ends_the_turn_and_the_terminal_chat_goes_on(place: Place) -> None:
    (place.work / "a.txt").write_text("hi\n")
    with ModelServer([READ, DONE]) as server:
        env = {**environment(place, server), **faulty(place, "overt.agent.loop:run_calls", times=1)}
        with tty(place, env=env, size=(160, 30)) as chat:
            ready(chat)
            chat.type("first\r")
            shown = chat.expect(crash_shown)
            chat.type("second\r")
            chat.expect("all done")
            chat.type("\x04")
            assert chat.wait() == 0
    assert_crash(place, "run_turn", shown=shown)


def test_a_tool_that_breaks_is_a_failed_call_and_its_traceback_is_logged(place: Place) -> None:
    (place.work / "a.txt").write_text("hi\n")
    with ModelServer([READ, DONE]) as server:
        ran = place.run("run", "x", server=server, env=faulty(place, "overt.workspace.files:Files.lines"))
        told = results(server)
    assert (ran.code, ran.out, ran.err) == (0, "all done\n", f"read broke: {HIDDEN}\n")
    assert told == [f"read broke: {HIDDEN}"]
    assert f"tool: read broke: {HIDDEN}" in log(place)
    assert "in broken" in log(place) and "tools/read.py" in log(place)
    assert crashes(place) == []
    assert_no_secret(place)


def test_exception_in_the_decoder_saves_the_reply_for_replay(place: Place) -> None:
    fault = faulty(place, "overt.providers.wires._openai_decoder:ChatDecoder._take_choice")
    with ModelServer([Turn(text="an answer in several words", chunk=5)]) as server:
        ran = place.run("run", "x", server=server, env=fault)
    assert ran.code == 1
    crash = assert_crash(place, "feed", shown=ran.err)
    (saved,) = (state(place) / "replies").iterdir()
    assert f"overt replay --raw {saved}".replace(str(place.home), "~") in crash
    assert saved.stat().st_mode & 0o777 == 0o600

    again = place.run("replay", "--raw", str(saved), env=fault)
    assert again.code == 1
    assert "Error in event 1, which ends at byte" in again.out and HIDDEN in again.out
    cured = place.run("replay", "--raw", str(saved))
    assert cured.code == 0
    assert "TextDelta(text='an an')" in cured.out and "Decoded without an error" in cured.out


def test_exception_in_the_decoder_ends_the_turn_and_the_chat_goes_on(place: Place) -> None:
    fault = faulty(place, "overt.providers.wires._openai_decoder:ChatDecoder.feed", times=1)
    with ModelServer([DONE, DONE]) as server, place.chat(server=server, env=fault) as chat:
        shown = prompt_until(chat, "first", ".txt\n")
        prompt_until(chat, "second", "all done")
        chat.expect(PROMPT)
        chat.type("\x04")
        assert chat.wait() == 0
    assert_crash(place, "_feed", shown=shown)


def test_exception_in_the_terminal_chat_leaves_a_crash_file_and_the_terminal_as_it_was(place: Place) -> None:
    with ModelServer([DONE]) as server:
        env = {**environment(place, server), **faulty(place, "overt.frontends.tui.chat.transcript:Transcript.feed")}
        with tty(place, env=env, size=(200, 30)) as chat:
            ready(chat)
            chat.type("first\r")
            code = chat.wait()
            chat.assert_as_found()
            shown = chat.screen()
    assert code == 1
    assert_crash(place, "_event", shown=shown)


def test_exception_while_the_status_line_is_read_is_shown_and_the_terminal_chat_goes_on(place: Place) -> None:
    with ModelServer([DONE, Turn(text="the second answer")]) as server:
        env = {**environment(place, server), **faulty(place, "overt.app.inspect.status:read_gauges", times=1)}
        with tty(place, env=env, size=(160, 30)) as chat:
            shown = chat.expect(crash_shown)
            chat.type("first\r")
            chat.expect("all done")
            chat.type("second\r")
            chat.expect("the second answer")
            chat.type("\x04")
            assert chat.wait() == 0
    assert_crash(place, "run", shown=shown)


def test_exception_in_the_headless_frontend_leaves_a_crash_file(place: Place) -> None:
    with ModelServer([DONE]) as server:
        ran = place.run("run", "x", server=server, env=faulty(place, "overt.frontends.headless.run:tell"))
    assert ran.code == 1
    assert_crash(place, "_turn", shown=ran.err)


def test_exception_in_a_session_write_ends_the_headless_run_with_code_1(place: Place) -> None:
    with ModelServer([DONE]) as server:
        ran = place.run("run", "x", server=server, env=faulty(place, "overt.sessions.log:SessionLog.append"))
    assert ran.code == 1
    assert HIDDEN in crashes(place)[0] and "in _take\n" in crashes(place)[0]
    assert f"Internal error: {HIDDEN}. Crash file: " in ran.err
    assert_no_secret(place)


def test_exception_in_a_session_write_ends_the_turn_and_the_chat_goes_on(place: Place) -> None:
    (place.work / "a.txt").write_text("hi\n")
    fault = faulty(place, "overt.sessions.log:SessionLog.append", times=1)
    with ModelServer([DONE, DONE]) as server, place.chat(server=server, env=fault) as chat:
        shown = prompt_until(chat, "first", ".txt\n")
        prompt_until(chat, "second", "all done")
        chat.expect(PROMPT)
        chat.type("\x04")
        assert chat.wait() == 0
    assert_crash(place, "_take", shown=shown)


def test_exception_in_an_event_loop_callback_is_reported_and_the_run_ends_with_code_1(place: Place) -> None:
    with ModelServer([SLOW_BASH, DONE]) as server:
        fault = faulty(place, "overt.workspace.programs:OutputReader._read", times=1)
        ran = place.run("run", "--yolo", "x", server=server, env=fault)
    assert (ran.code, ran.out) == (1, "all done\n")
    assert "where: event loop: Exception in callback" in assert_crash(place, "broken", shown=ran.err)


def test_exception_in_an_event_loop_callback_is_shown_in_the_chat(place: Place) -> None:
    fault = faulty(place, "overt.workspace.programs:OutputReader._read", times=1)
    with ModelServer([SLOW_BASH, DONE]) as server, place.chat("--yolo", server=server, env=fault) as chat:
        shown = prompt_until(chat, "first", "all done")
        chat.expect(PROMPT)
        chat.type("\x04")
        assert chat.wait() == 0
    assert_crash(place, "broken", shown=shown)


def test_exception_in_an_event_loop_callback_is_shown_in_the_terminal_chat(place: Place) -> None:
    with ModelServer([SLOW_BASH, DONE, Turn(text="the second answer")]) as server:
        env = {**environment(place, server), **faulty(place, "overt.workspace.programs:OutputReader._read", times=1)}
        with tty(place, "--yolo", env=env, size=(160, 30)) as chat:
            ready(chat)
            chat.type("first\r")
            shown = chat.expect(lambda screen: crash_shown(screen) and "all done" in screen)
            chat.type("second\r")
            chat.expect("the second answer")
            chat.type("\x04")
            assert chat.wait() == 0
    assert_crash(place, "broken", shown=shown)


def test_a_sandbox_that_fails_to_start_is_a_failed_call_with_a_logged_traceback(place: Place) -> None:
    with ModelServer([BASH, DONE]) as server:
        fault = faulty(place, "overt.sandbox.launch.spawner:SupervisorSpawner._station")
        ran = place.run("run", "--yolo", "x", server=server, env=fault)
        told = results(server)
    assert (ran.code, ran.out) == (0, "all done\n")
    assert told == [f"bash broke: {HIDDEN}"]
    assert f"bash broke: {HIDDEN}" in ran.err
    assert f"tool: bash broke: {HIDDEN}" in log(place) and "in broken" in log(place)
    assert_no_secret(place)


def test_exception_while_the_configuration_is_read_leaves_a_crash_file(place: Place) -> None:
    for words in (("run", "x"), ("config",)):
        ran = place.run(*words, env=faulty(place, "overt.config.load:load"))
        assert ran.code == 1
        assert_crash(place, "read_setting", shown=ran.err)
        for path in (state(place) / "crashes").iterdir():
            path.unlink()


def test_exception_in_the_title_request_is_logged_and_nothing_else_happens(place: Place) -> None:
    settings = place.home / ".config/overt/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(NAMED)
    with ModelServer([DONE, DONE]) as server:
        fault = faulty(place, "overt.app.session_title:title_request")
        with place.chat(server=server, env=fault) as chat:
            prompt_until(chat, "first", "all done")
            prompt_until(chat, "second", "all done")
            chat.expect(PROMPT)
            chat.type("\x04")
            assert chat.wait() == 0
    assert "title: a background task failed" in log(place) and HIDDEN in log(place)
    assert "in ask_title" in log(place)
    assert crashes(place) == []
    assert_no_secret(place)


def test_exception_in_undo_is_reported_and_the_chat_goes_on(place: Place) -> None:
    fault = faulty(place, "overt.app.undo.session_undo:SessionUndo.undo", times=1)
    with ModelServer([WRITE, DONE, DONE]) as server, place.chat("--yolo", server=server, env=fault) as chat:
        prompt_until(chat, "first", "all done")
        shown = prompt_until(chat, "/undo", ".txt\n")
        prompt_until(chat, "/undo", "new.txt")
        prompt_until(chat, "second", "all done")
        chat.expect(PROMPT)
        chat.type("\x04")
        assert chat.wait() == 0
    assert_crash(place, "broken", shown=shown)
    assert not (place.work / "new.txt").exists()


def test_exception_in_undo_is_shown_in_the_terminal_chat_which_goes_on(place: Place) -> None:
    with ModelServer([WRITE, DONE, DONE]) as server:
        env = {**environment(place, server), **faulty(place, "overt.app.undo.session_undo:SessionUndo.undo", times=1)}
        with tty(place, "--yolo", env=env, size=(160, 40)) as chat:
            ready(chat)
            chat.type("first\r")
            chat.expect("all done")
            chat.type("/undo\r")
            shown = chat.expect(crash_shown)
            chat.type("second\r")
            chat.expect(lambda screen: screen.count("all done") == 2)
            chat.type("\x04")
            assert chat.wait() == 0
    assert_crash(place, "broken", shown=shown)


def test_exception_in_the_undo_command_leaves_a_crash_file(place: Place) -> None:
    with ModelServer([WRITE, DONE]) as server:
        place.run("run", "--yolo", "x", server=server)
    ran = place.run("undo", env=faulty(place, "overt.app.undo.session_undo:SessionUndo.undo"))
    assert ran.code == 1
    assert_crash(place, "undo_session", shown=ran.err)


def test_exception_in_a_callback_of_a_subcommand_is_reported(place: Place) -> None:
    """`overt models` reads from a server; the callback that takes its bytes breaks."""
    script = (
        "import asyncio, os, sys; from overt.app.diagnostics.event_loop import run_async\n"
        "async def work():\n"
        "    asyncio.get_running_loop().call_soon(lambda: {}[os.environ['OVERT_API_KEY']])\n"
        "    task = asyncio.get_running_loop().create_task(fail())\n"
        "    await asyncio.sleep(0.01)\n"
        "    del task\n"
        "async def fail(): raise OSError('never awaited ' + os.environ['OVERT_API_KEY'])\n"
        "run_async(work())\n"
        "from overt.app.diagnostics.recent_events import RECENT; print(RECENT.uncaught)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=place.environment(),
        cwd=place.work,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "2\n"
    assert sorted(line.partition(". Crash")[0] for line in done.stderr.splitlines()) == [
        "overt: Internal error: KeyError: '[redacted secret]'",
        "overt: Internal error: OSError: never awaited [redacted secret]",
    ]
    assert len(crashes(place)) == 2
    assert_no_secret(place)


def test_the_crash_file_is_named_in_the_json_result_of_a_headless_run(place: Place) -> None:
    (place.work / "a.txt").write_text("hi\n")
    with ModelServer([READ, DONE]) as server:
        fault = faulty(place, "overt.agent.loop:run_calls")
        ran = place.run("run", "--output-format", "json", "x", server=server, env=fault)
    result = json.loads(ran.out)
    assert (ran.code, result["is_error"]) == (1, True)
    assert_crash(place, "run_turn", shown=str(result))
