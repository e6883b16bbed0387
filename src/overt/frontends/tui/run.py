"""Run the chat: take over the terminal from the first paint, run the loop, and restore everything."""

import signal
import sys
import threading
from functools import partial

from overt.app.chat.terminal import terminal_type
from overt.app.options import Options
from overt.app.registries import USE_PLAIN_CHAT
from overt.frontends.tui import first_paint
from overt.frontends.tui.chat.background import Worker
from overt.frontends.tui.chat.chat import Chat
from overt.frontends.tui.terminal.loop import Callback, Item, Loop, ThreadCrash
from overt.frontends.tui.terminal.screen import Device, Gone, Terminal
from overt.frontends.tui.terminal.theme import theme
from overt.frontends.wakeup_queue import Wake
from overt.lib.translations import say

SWITCH = 0.0005
"""Seconds that a thread may keep the interpreter: a key must not wait for the usual ten times of that."""


def run(options: Options, first: str) -> int:
    sys.setswitchinterval(SWITCH)
    before, typed = first_paint.state_before()
    terminal = Terminal(Device(before=before, typed=typed), theme("dark", depth=0))
    terminal.extended = terminal_type() != "linux"
    while True:
        wake = Wake[Item]()
        threading.excepthook = partial(_broken, wake)
        chat = Chat(terminal, wake, options, first)
        with Loop(terminal, wake) as loop:
            try:
                _play(chat, loop)
            finally:
                chat.background.close(chat.ending)
        wake.close()
        first_paint.restore_signals()
        from overt.frontends.terminal_dialog import fetch_embedded, run_setup  # late: 73 ms

        match chat.startup.outside:
            case "plain":
                return USE_PLAIN_CHAT
            case "setup" if run_setup(options).done:
                continue
            case "fetch" if chat.startup.setting and fetch_embedded(chat.startup.setting):
                continue
            case "":
                _farewell(chat)
            case _:
                pass  # not done: whoever was asked has said why
        return 0


def _play(chat: Chat, loop: Loop) -> None:
    try:
        loop.run(chat, lambda: _begin(chat))
    except SystemExit:
        chat.ending = "terminated"
        raise
    except Gone:
        chat.ending = "terminated"
        raise SystemExit(128 + signal.SIGHUP) from None


def _broken(wake: Wake[Item], failed: threading.ExceptHookArgs) -> None:
    """A traceback would be drawn over the screen, and whoever waits for the thread would wait for ever."""
    if isinstance(failed.thread, Worker) and isinstance(failed.exc_value, Exception):
        from overt.app.diagnostics.crash import report_crash  # late: 23 ms

        wake.post(Callback(partial(failed.thread.failed, report_crash(failed.exc_value, where="thread"))))
    elif failed.exc_value is not None:
        wake.post(ThreadCrash(failed.exc_value))


def _begin(chat: Chat) -> None:
    first_paint.hand_over()
    chat.startup.begin()


def _farewell(chat: Chat) -> None:
    conversation = chat.background.conversation
    if conversation is None or not conversation.session.turn:
        return
    from overt.app.inspect.queries import is_stored  # late: 28 ms

    if is_stored(conversation.path):
        print(say("tui.chat.goodbye", id=conversation.id))
