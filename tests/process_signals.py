"""Signals as a program started from a terminal finds them, whatever the shell that started the tests ignores.

`make test &` and `nohup make test` start pytest with SIGINT, SIGQUIT or SIGHUP ignored. An ignored signal stays ignored
in every child, so a test that interrupts a program would wait for ever. A handler is not inherited across exec: with a
handler that does nothing, pytest itself still survives the signal and its children start with the default.
"""

import signal
from types import FrameType

TERMINAL_SIGNALS = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGCONT,
    signal.SIGWINCH,
    signal.SIGALRM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


def reset_inherited_signals() -> None:
    """Replace every inherited "ignored" by a handler that does nothing, and unblock every signal."""
    for number in TERMINAL_SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _survive)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _survive(_number: int, _frame: FrameType | None) -> None:
    """Do nothing. Unlike SIG_IGN, this is not inherited by the programs that tests start."""
