"""Questions line by line on any terminal, for what is asked outside of a chat: setup, and fetching a model."""

import sys
import termios
import warnings
from typing import TextIO

from overt.app.diagnostics.event_loop import run_async
from overt.app.models.fetch_bar import Bar
from overt.app.models.fetch_weights import fetch_model, plan
from overt.app.options import Options
from overt.app.setting import Setting
from overt.app.setup.run import Answers, SetupResult, set_up
from overt.core.errors import OvertError, UsageError
from overt.lib.logs.log import LOG
from overt.lib.text import visible
from overt.lib.translations import say


class TerminalDialog:
    """A person at the terminal of this program, which must not be in raw mode."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()

    def tell(self, text: str) -> None:
        print(text, flush=True)

    def write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def line(self, prompt: str) -> str:
        """Keys pressed before a question are no answer to it. What is no text is asked for again."""
        while True:
            _forget_typed(sys.stdin)
            self.write(prompt)
            try:
                typed = sys.stdin.readline()
            except UnicodeDecodeError:
                continue
            if not typed:
                raise EOFError
            return typed

    def secret(self, prompt: str) -> str:
        """Where the echo cannot be switched off, nothing is asked: a key on a screen is a key lost."""
        import getpass  # late: 0.1 ms

        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            try:
                typed: str = getpass.getpass(prompt)
                LOG.learn(typed)
            except getpass.GetPassWarning:
                raise UsageError(say("setup.echo")) from None
            except UnicodeDecodeError:
                return self.secret(prompt)
        return typed


class NoTerminalDialog:
    """Where nobody can be asked: every answer must have been given beforehand."""

    terminal = False

    def tell(self, text: str) -> None:
        print(text, flush=True)

    def write(self, text: str) -> None:
        sys.stdout.write(text)

    def line(self, prompt: str) -> str:
        raise UsageError(say("setup.no_terminal"))

    secret = line


def _forget_typed(stream: TextIO) -> None:
    if stream.isatty():
        termios.tcflush(stream, termios.TCIFLUSH)


def run_setup(options: Options, answers: Answers | None = None) -> SetupResult:
    """The whole walk, at the terminal where there is one."""
    there = sys.stdin.isatty() and sys.stdout.isatty()
    if not there and not (answers and answers.yes):
        raise UsageError(say("setup.no_terminal"))
    return set_up(TerminalDialog() if there else NoTerminalDialog(), options, answers)


def fetch_embedded(setting: Setting) -> bool:
    """Fetch the embedded model for a person who has said yes to it. Return True if it is installed now."""
    about = plan(setting, "")
    lines = TerminalDialog()
    lines.tell(about.told)
    try:
        run_async(fetch_model(setting, about.name, Bar(lines.write, terminal=lines.terminal)))
    except KeyboardInterrupt:
        lines.tell("\n" + say("fetch.interrupted", name=about.name))
        return False
    except OvertError as error:
        lines.tell(say("prefix.error", text=visible(error.message)))
        return False
    return True
