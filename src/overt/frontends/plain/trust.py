"""The first question in a folder: is it trusted? Until it is answered, nothing of the folder is obeyed."""

import sys
import termios

from overt.app.chat.trust_question import TrustQuestion, answer, trust_question
from overt.app.inspect.queries import colour_wanted
from overt.app.options import Options
from overt.core.errors import OvertError
from overt.frontends.describe_events import trust_lines
from overt.frontends.plain.draw import Ink
from overt.lib.text import visible
from overt.lib.translations import say


def ask_trust(options: Options) -> bool:
    """Ask when an answer is due. False: the person wants to leave."""
    question = trust_question(options)
    if question is None:
        return True
    ink = Ink(colour=colour_wanted() and sys.stdout.isatty())
    for line in trust_lines(question):
        print(ink(line.style, " " * line.indent + line.text), flush=True)
    choices = say("trust.choices_no") if question.problem else say("trust.choices")
    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # keys pressed before the question are no answer to it
    while True:
        print(choices, flush=True)
        try:
            typed = input(say("trust.prompt")).strip().lower()
        except (EOFError, KeyboardInterrupt):
            print(flush=True)
            return False
        except UnicodeDecodeError:
            continue  # no answer, whatever it was
        match typed:
            case "y" | "yes" if not question.problem:
                return _kept(question, yes=True, ink=ink)
            case "n" | "no":
                return _kept(question, yes=False, ink=ink)
            case "q" | "quit":
                return False
            case _:
                continue


def _kept(question: TrustQuestion, *, yes: bool, ink: Ink) -> bool:
    """An answer that cannot be kept does not keep anybody from working; the folder counts as untrusted then."""
    try:
        answer(question, yes)
    except OvertError as error:
        print(ink("error", say("prefix.error", text=visible(error.message))), flush=True)
    return True
