"""The first question in a folder: is it trusted? Until it is answered, nothing of the folder is obeyed."""

import sys
import termios

from overt.app.chat.trust_question import TrustQuestion, answer, trust_question
from overt.app.inspect.queries import colour_wanted
from overt.app.options import Options
from overt.core.errors import OvertError
from overt.frontends.plain.draw import Ink
from overt.lib.catalogue import say
from overt.lib.text import cut_line, visible

WIDEST = 400


def ask_trust(options: Options) -> bool:
    """Ask when an answer is due. False: the person wants to leave."""
    question = trust_question(options)
    if question is None:
        return True
    ink = Ink(colour=colour_wanted() and sys.stdout.isatty())
    print("\n".join(told(question, ink)), flush=True)
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


def told(question: TrustQuestion, ink: Ink) -> list[str]:
    """What a person should know before the answer; every word of the folder is shown, none is obeyed."""
    lines = [ink.bold(say("trust.question", project=visible(question.project)))]
    if question.broad:
        lines.append(ink.red(say(f"trust.{question.broad}")))
    if question.warning:
        lines.append(visible(question.warning))
    if question.changed:
        lines.append(say("trust.changed", files=listed(question.changed)))
    if question.before == "unrecorded":
        lines.append(say("trust.no_record"))
    lines.append(say("trust.holds") if question.described_files else say("trust.empty"))
    for file in question.described_files:
        changed = " *" if file.name in question.changed else ""
        lines.append(f"  {visible(cut_line(file.name, WIDEST))}{changed}")
        lines += [ink.dim(f"    {visible(line)}") for line in file.effects]
    if question.more:
        lines.append(f"  {say('trust.more', count=question.more)}")
    if question.problem:
        lines.append(ink.red(say("trust.problem", problem=visible(question.problem))))
    return lines


def listed(names: tuple[str, ...]) -> str:
    return visible(cut_line(", ".join(names), WIDEST))


def _kept(question: TrustQuestion, *, yes: bool, ink: Ink) -> bool:
    """An answer that cannot be kept does not keep anybody from working; the folder counts as untrusted then."""
    try:
        answer(question, yes)
    except OvertError as error:
        print(ink.red(say("prefix.error", text=visible(error.message))), flush=True)
    return True
