"""However the chat ends or sleeps, the terminal is as it was found, and what the session holds is whole."""

import fcntl
import os
import signal
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.model_server import FakeCall, Fault, ModelServer, Turn
from tests.journeys.journey_kit import Place, descendants, gone, still, until
from tests.journeys.tty_kit import PATIENCE, Tty, state, stopped, tty

READY = "fake-model ·"
STALLED = Turn(text="word " * 400, chunk=5, delay=0.002, fault=Fault(stall_after=60))
ASKED = Turn(calls=(FakeCall(name="bash", arguments={"command": "touch made"}),))
EDITOR = """#!/bin/sh
before=$(stty -g)
trap 'stty $before; printf "\\033[?1049l"; exit 9' TERM
stty -echo -icanon
printf '\\033[?1049heditor here'
while :; do sleep 0.05; done
"""
BREAKING = """
import overt.app.chat.clipboard
import overt.frontends.tui.composer.composer

def attachment():
    raise ZeroDivisionError("in a thread")

def press(self, key, usual=overt.frontends.tui.composer.composer.Composer.press):
    if key.text == "!!":
        raise ZeroDivisionError("in the loop")
    return usual(self, key)

overt.app.chat.clipboard.attachment = attachment
overt.frontends.tui.composer.composer.Composer.press = press
"""
"""What Python runs before the program: two of its parts do what they never should."""
CTRL_C, CTRL_D, CTRL_G, CTRL_O, CTRL_Z = "\x03", "\x04", "\x07", "\x0f", "\x1a"


Moment = Callable[[Tty], None]


def ready(chat: Tty) -> None:
    chat.expect(lambda shown: READY in shown and "? help" in shown)


def prompted(chat: Tty, shown: str) -> None:
    ready(chat)
    chat.type("go\r")
    chat.expect(shown)


def at_the_prompt(chat: Tty) -> None:
    ready(chat)
    chat.type("a draft\x1b\r中")
    chat.expect("中")


def while_an_answer_streams(chat: Tty) -> None:
    prompted(chat, "word word")


def while_a_question_waits(chat: Tty) -> None:
    prompted(chat, "Allow bash?")


def with_an_inspector_open(chat: Tty) -> None:
    ready(chat)
    chat.type("?")
    chat.expect(lambda _shown: "?1049" in chat.kept.on and "?1006" in chat.kept.on)


def with_an_inspector_open_while_an_answer_streams(chat: Tty) -> None:
    while_an_answer_streams(chat)
    chat.type(CTRL_O)
    chat.expect(lambda _shown: "?1049" in chat.kept.on)


def in_the_editor(chat: Tty) -> None:
    ready(chat)
    chat.type("text" + CTRL_G)
    chat.expect("editor here")


MOMENTS: dict[Moment, Turn] = {
    at_the_prompt: ASKED,
    while_an_answer_streams: STALLED,
    while_a_question_waits: ASKED,
    with_an_inspector_open: ASKED,
    with_an_inspector_open_while_an_answer_streams: STALLED,
    in_the_editor: ASKED,
}


def environment(place: Place, server: ModelServer) -> dict[str, str]:
    editor = place.home / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o700)
    return place.environment(server, {"VISUAL": str(editor)})


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        *((moment, signal.SIGTERM) for moment in MOMENTS),
        (at_the_prompt, signal.SIGHUP),
        (with_an_inspector_open, signal.SIGHUP),
    ],
)
def test_a_program_that_is_told_to_end_leaves_the_terminal_as_it_was(
    place: Place, moment: Moment, number: signal.Signals
) -> None:
    with ModelServer([MOMENTS[moment]]) as server, tty(place, env=environment(place, server)) as chat:
        moment(chat)
        known = descendants(chat.pid)
        os.kill(chat.pid, number)
        code = chat.wait()
        chat.assert_as_found()
        assert (code, gone(lambda: still(known)), "Traceback" in chat.screen()) == (128 + number, [], False)


@pytest.mark.parametrize("keys", [CTRL_D, CTRL_C + CTRL_C, "/exit\r", "?q" + CTRL_D])
def test_a_program_that_ends_by_keys_leaves_the_terminal_as_it_was(place: Place, keys: str) -> None:
    with ModelServer([]) as server, tty(place, env=environment(place, server)) as chat:
        ready(chat)
        for key in keys if "/" not in keys else [keys]:
            chat.type(key)
            chat.idle()
        code = chat.wait()
        chat.assert_as_found()
        assert code == 0


def test_an_interrupt_from_elsewhere_is_ctrl_c(place: Place) -> None:
    with ModelServer([STALLED]) as server, tty(place, env=environment(place, server)) as chat:
        while_an_answer_streams(chat)
        os.kill(chat.pid, signal.SIGINT)
        chat.expect("Interrupted")
        os.kill(chat.pid, signal.SIGINT)
        chat.expect("again")
        os.kill(chat.pid, signal.SIGINT)
        code = chat.wait()
        chat.assert_as_found()
        assert code == 0


# ── sleeping ─────────────────────────────────────────────────────────────────────────────────────────────────


def at_the_shell(chat: Tty) -> None:
    chat.expect(lambda shown: shown.splitlines()[-1:] == ["$"])


def in_a_shell(chat: Tty) -> int:
    """A shell with job control that leaves the modes of its terminal alone; the program's pid."""
    at_the_shell(chat)
    chat.type("overt\n")
    ready(chat)
    (child,) = descendants(chat.pid)
    return child


def shell(place: Place, server: ModelServer) -> dict[str, str]:
    folder = Path(sys.executable).parent
    more = environment(place, server)
    return more | {"PS1": "$ ", "PATH": f"{folder}:{more['PATH']}"}


@pytest.mark.parametrize("by", ["key", "signal"])
@pytest.mark.parametrize("where", [at_the_prompt, while_a_question_waits, with_an_inspector_open])
def test_a_shell_has_its_terminal_while_the_program_sleeps(place: Place, where: Moment, by: str) -> None:
    with (
        ModelServer([ASKED, Turn(text="It was done.")]) as server,
        tty(place, env=shell(place, server), argv=["dash", "-i"]) as chat,
    ):
        pid = in_a_shell(chat)
        where(chat)
        chat.idle(0.3)
        before = chat.screen().splitlines()[-3:]
        if by == "key":
            chat.type(CTRL_Z)
        else:
            os.kill(pid, signal.SIGTSTP)
        stopped(pid)
        at_the_shell(chat)
        chat.assert_modes_as_found()
        chat.type("fg\n")
        chat.expect(lambda shown: shown.splitlines()[-3:] == before)
        assert ("?1049" in chat.kept.on) == (where is with_an_inspector_open)
        chat.type(
            "q" if where is with_an_inspector_open else "y" if where is while_a_question_waits else "\x15\x7f\x15"
        )
        chat.expect(lambda shown: "? help" in shown and "?1049" not in chat.kept.on)
        if where is while_a_question_waits:
            chat.expect("It was done.")
        chat.type(CTRL_D)
        at_the_shell(chat)
        chat.assert_modes_as_found()


def test_an_editor_that_is_stopped_takes_the_program_with_it(place: Place) -> None:
    """Else nobody would have the terminal: the editor sleeps, and the shell waits for the program."""
    with ModelServer([]) as server, tty(place, env=shell(place, server), argv=["dash", "-i"]) as chat:
        pid = in_a_shell(chat)
        in_the_editor(chat)
        (editor, *_) = descendants(pid)
        os.killpg(pid, signal.SIGTSTP)
        stopped(pid)
        until(lambda: state(editor) in "TD")  # D: its shell was just about to start something
        chat.type("fg\n")
        until(lambda: state(pid) in "RS" and state(editor) in "RS")
        os.kill(editor, signal.SIGTERM)
        chat.expect("› text")
        chat.type("\x15" + CTRL_D)
        at_the_shell(chat)
        chat.assert_modes_as_found()


# ── ends that nobody wished for ──────────────────────────────────────────────────────────────────────────────


def test_a_fault_of_the_loop_leaves_the_terminal_as_it_was_and_is_told(place: Place) -> None:
    (place.home / "sitecustomize.py").write_text(BREAKING)
    with ModelServer([STALLED]) as server:
        env = {**environment(place, server), "PYTHONPATH": str(place.home)}
        with tty(place, env=env, size=(120, 24)) as chat:
            while_an_answer_streams(chat)
            chat.type("!!")
            code = chat.wait()
            chat.assert_as_found()
            shown = chat.screen().splitlines()
        (crash,) = (place.home / ".local/state/overt/crashes").iterdir()
        last = "".join(shown).partition("overt: ")[2]
        assert (code, last.rstrip()) == (1, f"Internal error: ZeroDivisionError: in the loop. Crash file: {crash}")
        assert "ZeroDivisionError: in the loop" in crash.read_text()


def test_a_fault_in_a_thread_is_told_and_the_chat_goes_on(place: Place) -> None:
    (place.home / "sitecustomize.py").write_text(BREAKING)
    with ModelServer([Turn(text="an answer")]) as server:
        env = {**environment(place, server), "PYTHONPATH": str(place.home)}
        with tty(place, env=env, size=(120, 24)) as chat:
            ready(chat)
            chat.type("\x16")
            chat.expect("Internal error: ZeroDivisionError: in a thread. Crash file:")
            chat.type("go\r")
            chat.expect("an answer")
            chat.type(CTRL_D)
            assert chat.wait() == 0
        (crash,) = (place.home / ".local/state/overt/crashes").iterdir()
        assert "ZeroDivisionError: in a thread" in crash.read_text()


@pytest.mark.parametrize("where", [at_the_prompt, with_an_inspector_open_while_an_answer_streams, in_the_editor])
def test_a_program_whose_terminal_is_gone_ends_and_its_session_is_whole(place: Place, where: Moment) -> None:
    with ModelServer([MOMENTS[where]]) as server, tty(place, env=environment(place, server)) as chat:
        where(chat)
        known = descendants(chat.pid)
        chat.hang_up()
        assert (chat.wait(), gone(lambda: still(known))) == (129, [])
        assert len(place.sessions()) == (where is with_an_inspector_open_while_an_answer_streams)


def test_a_terminal_that_takes_no_more_bytes_does_not_keep_the_program(place: Place) -> None:
    long = Turn(text="".join(f"line {number}\n\n" for number in range(20_000)))
    with ModelServer([long]) as server, tty(place, env=environment(place, server)) as chat:
        ready(chat)
        chat.type("go\r")
        assert chat.process
        until(lambda: blocked(chat))
        os.kill(chat.pid, signal.SIGTERM)
        assert chat.process.wait(PATIENCE) == 143
        assert chat.termios() == chat.before


def blocked(chat: Tty) -> bool:
    """What is on its way to the terminal has not changed for a while."""
    sizes = set()
    for _ in range(4):
        sizes.add(fcntl.ioctl(chat.master, termios.FIONREAD, bytes(4)))
        time.sleep(0.1)
    return len(sizes) == 1 and bytes(4) not in sizes


# ── before the chat stands ───────────────────────────────────────────────────────────────────────────────────


def cut_short(place: Place, server: ModelServer, number: signal.Signals, after: float) -> None:
    """From the first byte on the screen it is ours to leave the terminal as it was."""
    with tty(place, env=environment(place, server)) as chat:
        chat.expect("›")
        chat.read(after)
        os.kill(chat.pid, number)
        if number == signal.SIGINT and after > 0:  # it ends a start, and not a chat that is up: both may be so
            chat.idle()
            if chat.process and chat.process.poll() is None:
                chat.type(CTRL_D)
            assert chat.wait() in (0, 130)
        else:
            assert chat.wait() == 128 + number
        chat.assert_as_found()
        assert "Traceback" not in chat.screen()


@pytest.mark.parametrize("after", [0.0, 0.02, 0.05, 0.08, 0.12, 0.2])
def test_a_program_that_is_ended_while_it_starts_leaves_the_terminal_as_it_was(place: Place, after: float) -> None:
    with ModelServer([]) as server:
        for number in (signal.SIGTERM, signal.SIGHUP) if after < 0.1 else (signal.SIGTERM,):
            cut_short(place, server, number, after)


def test_ctrl_c_and_ctrl_z_work_from_the_first_moment(place: Place) -> None:
    with ModelServer([Turn(text="Here.")]) as server:
        cut_short(place, server, signal.SIGINT, 0.0)
        with tty(place, env=shell(place, server), argv=["dash", "-i"]) as chat:
            at_the_shell(chat)
            chat.type("overt\n")
            chat.expect("›")
            chat.type(CTRL_Z)
            at_the_shell(chat)
            (pid,) = descendants(chat.pid)
            stopped(pid)
            chat.type("fg\nhello\r")
            chat.expect("Here.")
            shown = chat.screen()
            chat.type(CTRL_D)
            at_the_shell(chat)
        assert [line for line in shown.splitlines() if "overt" in line] == [
            "$ overt",
            "[1] + Stopped                    overt",
            "overt",
        ]


@pytest.mark.soak
def test_a_program_that_is_ended_at_any_moment_of_its_start_leaves_the_terminal_as_it_was(place: Place) -> None:
    with ModelServer([]) as server:
        for step in range(200):
            cut_short(place, server, (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)[step % 3], step / 600)
