"""When no model was found: the embedded one is offered, with what it is and where it comes from."""

import sys
import termios

from overt.app.diagnostics.event_loop import run_async
from overt.app.models.fetch_bar import Bar
from overt.app.models.fetch_weights import offer
from overt.app.setting import Setting
from overt.lib.translations import say


def offer_model(setting: Setting) -> bool:
    """Ask, and fetch after a yes. Return True if there is a model now. Ctrl-C leaves, and says how to go on."""
    try:
        return run_async(offer(setting, _agreed, Bar(_write, terminal=sys.stdout.isatty())))
    except KeyboardInterrupt:
        print(f"\n{say('fetch.interrupted', name='')}".rstrip(), flush=True)
        raise


def _agreed(question: str) -> bool:
    _write(question)
    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # keys pressed before the question are no answer to it
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
