"""A line-by-line chat for any terminal.

The session lives in a thread with its own event loop; this thread owns the terminal. Events arrive through a
pipe that wakes `select`, so a line typed while the agent works is seen at once and steers it, and Ctrl-C
reaches the turn wherever it is.
"""

import locale
import os
import select
import signal
import sys
import termios
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import NoReturn

from msgspec.structs import replace

from overt import __version__
from overt.app.chat.chat_preferences import start
from overt.app.custom.typed_lines import expand_note, names_command
from overt.app.inspect.queries import colour_wanted
from overt.app.options import Options
from overt.app.session import MAIN
from overt.app.setting import Setting, read_setting
from overt.app.slash_command import Action, CommandOutcome
from overt.app.start import open_conversation
from overt.core.agents.agent_events import AgentEnded
from overt.core.agents.agent_paths import is_below
from overt.core.errors import ConfigError, OvertError
from overt.core.events import EndReason, Event, PermissionAsked, TurnEnded
from overt.core.protocols import Answer
from overt.core.questions import FormAnswer, FormAsked
from overt.frontends.describe_events import always_words, takes_session, who_asks
from overt.frontends.plain.draw import Ink, draw_question
from overt.frontends.plain.screen import Screen
from overt.frontends.plain.trust import ask_trust
from overt.frontends.session_thread import NUDGE, SessionItem, SessionThread
from overt.frontends.wakeup_queue import Wake
from overt.lib.text import visible
from overt.lib.translations import say

PROMPT = "› "
SETTLING = 0.3
"""Seconds."""


class PlainChat:
    def __init__(self, options: Options, setting: Setting) -> None:
        self._options = options
        self._start = start(setting)
        self._wake = Wake[SessionItem]()
        self._thread = SessionThread(self._wake)
        self._ink = Ink(colour=colour_wanted() and sys.stdout.isatty())
        self._screen = Screen(self._ink)
        self._listening = True
        self._in_turn = False
        self._settling = False
        self.ending: EndReason = "interrupted"
        try:
            self._conversation = self._thread.call(open_conversation(options, setting))
            self._thread.call(self._thread.watch(self._conversation.session))
        except BaseException:
            self._stop()
            raise

    def run(self, first: str) -> int:
        signal.signal(signal.SIGINT, self._interrupted)
        signal.signal(NUDGE, lambda number, frame: None)
        conversation = self._conversation
        model, mode = conversation.agent.spec.params.model, conversation.mode
        self._print(say("chat.welcome", version=__version__, model=visible(model), mode=mode))
        for notice in conversation.notices:
            self._print(visible(notice))
        text: str | None = first or None
        import readline  # late: 0.8 ms

        for earlier in self._start.history:
            readline.add_history(" ".join(earlier.splitlines()))
        while True:
            self._show_pending()
            text = text if text is not None else self._read()
            if text is None or not self._handle(text):
                break
            text = self._thread.call(self._conversation.next_prompt())
        self._print(say("chat.goodbye"))
        return 0

    def close(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._thread.call(self._conversation.close(self.ending))
        self._stop()

    def _stop(self) -> None:
        self._thread.stop()
        self._wake.close()

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-C. In a turn nothing is raised: a second press while the first is dealt with would end the chat."""
        if self._in_turn:
            self._thread.call_soon(self._conversation.interrupt)
        elif not self._settling:
            raise KeyboardInterrupt

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def _read(self) -> str | None:
        """A prompt, or None to leave: Ctrl-D, or Ctrl-C twice on an empty line."""
        warned = False
        while True:
            try:
                text = self._typed()
            except EOFError:
                self._print("")
                return None
            except KeyboardInterrupt:
                self._print("")
                if warned:
                    return None
                warned = True
                self._print(say("chat.again"))
                continue
            if text.strip():
                self._remember(text)
                return text

    def _typed(self) -> str:
        """After an interrupted turn the presses that follow at once still mean that turn, not this prompt."""
        import readline  # late: 0.8 ms

        readline.set_pre_input_hook(self._settle if self._settling else None)
        try:
            with self._thread.nudging():
                return input(PROMPT)
        finally:
            readline.set_pre_input_hook(None)

    def _settle(self) -> None:
        select.select([sys.stdin], [], [], SETTLING)
        self._settling = False

    def _remember(self, text: str) -> None:
        """The history of prompts is a file: no secret goes there."""
        kept = self._conversation.redact(text)
        if kept != text:
            import readline  # late: 0.8 ms

            readline.replace_history_item(readline.get_current_history_length() - 1, kept)
        if self._start.preferences.history:
            self._start.prompts.add(kept)

    def _handle(self, text: str) -> bool:
        text = expand_note(text)
        if text.startswith("!") and text[1:].strip():
            self._turn(lambda: self._conversation.command(text[1:].strip()))
            return True
        if not names_command(text):
            self._turn(lambda: self._conversation.prompt(text))
            return True
        done = self._run_command(text)
        if done.play:
            self._turn(done.play)
        return done.action is not Action.LEAVE

    def _run_command(self, text: str) -> CommandOutcome:
        """Run a slash command and print its lines. If it fails, print why and return an empty outcome."""
        try:
            done = self._thread.call(self._conversation.commands.run(self._conversation, text))
            if done.action is Action.NEW:
                self._begin_anew(done.resume)
        except OvertError as error:
            self._print(self._ink("error", say("prefix.error", text=visible(error.message))))
            return CommandOutcome()
        except KeyboardInterrupt:
            self._print(say("turn.interrupted"))
            return CommandOutcome()
        for line in done.lines:
            self._print(visible(line))
        return done

    def _runs_in_turn(self, text: str) -> bool:
        """True for a command that may run during a turn. Any other line, also `/exit`, goes to the model."""
        if not names_command(text):
            return False
        commands = self._conversation.commands
        command = commands.get(commands.parse(text)[0])
        return command is not None and command.anytime and command.name != "exit"

    def _begin_anew(self, resume: str = "") -> None:
        """The old conversation is given up only when the new one stands."""
        options = replace(
            self._options,
            resume=resume,
            continue_last=False,
            fork=False,
            name="",
            session_id="",
            previous=self._conversation.id,
        )
        fresh = self._thread.call(open_conversation(options))
        self._thread.call(self._thread.watch(fresh.session))
        old, self._conversation = self._conversation, fresh
        self._thread.call(old.close())
        self._print(say("session.new", id=fresh.id))

    # ── a turn ───────────────────────────────────────────────────────────────────────────────────────────

    def _turn(self, start: Callable[[], Awaitable[TurnEnded]]) -> None:
        self._in_turn = True
        self._show_pending()
        self._listening = True
        following = self._thread.start(self._thread.play(start))
        try:
            while (event := self._next()) is not None:
                self._show(event)
            following.result()
        finally:
            self._in_turn = False

    def _show_pending(self) -> None:
        """Show what happened between two turns: the line that the user types is not disturbed by it."""
        while self._wake.items:
            item = self._wake.items.popleft()
            if item is not None:
                self._show(item)

    def _next(self) -> SessionItem:
        while not self._wake.items:
            self._wait()
        return self._wake.items.popleft()

    def _wait(self) -> None:
        """Until something has happened; a line typed meanwhile steers, or with a + waits for the next turn."""
        ready, _, _ = select.select([self._wake, *((sys.stdin,) if self._listening else ())], [], [])
        if self._wake in ready:
            self._wake.drain()
        elif sys.stdin in ready:
            line = sys.stdin.readline()
            self._listening = bool(line)
            later, text = line.startswith("+"), line.removeprefix("+").strip()
            inbox = self._conversation.inbox
            if not later and self._runs_in_turn(text):
                self._run_command(text)
            elif text:
                self._thread.call_soon(inbox.queue if later else inbox.steer, text)

    def _show(self, event: "Event | OvertError") -> None:
        if isinstance(event, OvertError):
            self._print(self._ink("error", say("prefix.error", text=visible(event.message))))
            return
        sys.stdout.write(self._screen.feed(event))
        sys.stdout.flush()
        if isinstance(event, PermissionAsked | FormAsked) and self._is_over(event):
            return
        if isinstance(event, PermissionAsked):
            try:
                self._thread.call_soon(self._conversation.answer, event.id, self._ask(event))
            except KeyboardInterrupt:
                self._thread.call_soon(self._conversation.interrupt)
        elif isinstance(event, FormAsked):
            self._thread.call_soon(self._conversation.answer_form, event.id, self._ask_form(event))
        elif isinstance(event, TurnEnded):
            self._settling = event.reason == "interrupted"

    def _is_over(self, question: PermissionAsked | FormAsked) -> bool:
        """True if the asking agent ended while another question was on the screen."""
        return any(
            isinstance(item, AgentEnded) and is_below(question.agent, item.agent) for item in tuple(self._wake.items)
        )

    def _ask(self, question: PermissionAsked) -> Answer:
        self._print(draw_question(question, self._ink, width=os.get_terminal_size(sys.stdout.fileno()).columns))
        offers = [say("ask.choice_once"), say("ask.choice_no")]
        if question.always:
            offers.insert(1, say("ask.choice_always", words=visible(always_words(question))))
        if takes_session(question):
            offers.insert(1, say("ask.choice_session"))
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # keys pressed before the question are no answer to it
        while True:
            self._print("  ".join(offers))
            typed = self._answered(say("ask.prompt"))
            if typed is None:
                return Answer(choice="deny")
            word, _, reason = typed.strip().partition(" ")
            match word.lower():
                case "y" | "yes" if not reason:
                    return Answer(choice="once")
                case "s" | "session" if takes_session(question) and not reason:
                    return Answer(choice="session")
                case "a" | "always" if question.always and not reason:
                    return Answer(choice="always")
                case "n" | "no":
                    reason = reason or self._answered(say("ask.reason")) or ""
                    return Answer(choice="deny", reason=reason.strip())
                case _:
                    continue

    def _ask_form(self, question: FormAsked) -> FormAnswer:
        from overt.app.chat.browser import open_page  # late: 0.3 ms
        from overt.frontends.plain.forms import FormDialog  # late: 0.2 ms

        width, workspace = os.get_terminal_size(sys.stdout.fileno()).columns, self._conversation.workspace
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # keys pressed before the question are no answer to it
        dialog = FormDialog(
            self._answered, self._print, lambda url: open_page(url, workspace), ink=self._ink, width=width
        )
        if question.agent != MAIN:
            self._print(self._ink("bold", who_asks(question, "", visible)))
        return dialog.fill(question.form)

    def _answered(self, prompt: str) -> str | None:
        """A line that does not join the history of prompts; None where there is no more input."""
        import readline  # late: 0.8 ms

        readline.set_auto_history(False)
        in_turn, self._in_turn = self._in_turn, False
        try:
            with self._thread.nudging():
                return input(prompt)
        except EOFError:
            return None
        finally:
            self._in_turn = in_turn
            readline.set_auto_history(True)

    def _print(self, text: str) -> None:
        print(text, flush=True)


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


def _letters() -> None:
    """Where the locale that was asked for is not installed, lines would be edited byte by byte, not by letters."""
    if sys.flags.utf8_mode:
        try:
            locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
        except locale.Error:
            pass  # then it stays as it is


def run(options: Options, first: str) -> int:
    _letters()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup means it
            signal.signal(number, _terminated)  # leave through the finally below: the terminal is put in order
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    if not ask_trust(options):
        return 0
    setting = read_setting(options)
    try:
        chat = PlainChat(options, setting)
    except ConfigError as error:
        from overt.frontends.plain.offer_model import offer_model  # late: 10 ms

        if error.code != "no_model" or not offer_model(setting):
            raise
        chat = PlainChat(options, setting)
    try:
        return chat.run(first)
    except SystemExit:
        chat.ending = "terminated"
        raise
    finally:
        chat.close()
