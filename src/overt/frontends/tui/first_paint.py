"""Paint the composer before anything heavy is loaded.

Nothing is imported here that costs time. Keys typed from now on are kept by the terminal, in order, until the chat
reads them. If the chat is not opened after all, `undo` restores the terminal.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes enums of all signals first: milliseconds
import fcntl
import os
import sys
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Mode = list[int | list[bytes | int]]

MARK, ABOVE, UNMARK = "\r\x1b[K\n› ", "\r\x1b[A", "\r\x1b[A\x1b[J"
"""The composer as the chat shows it first, with an empty row above it; what was typed before is echoed there."""
OTHERWISE = ("-p", "--print", "-h", "--help", "-v", "--version", "--plain", "--output-format", "--frontend")
"""Flags that open no chat, or the plain one."""
SIGHUP, SIGINT, SIGTERM, SIGTSTP = 1, 2, 15, 20

_before: "Mode | None" = None
_typed = 0
_handlers: "dict[int, object]" = {}


def opens_chat(argv: list[str], variables: "Mapping[str, str]") -> bool:
    """Return whether these arguments surely open the chat. A first word without a space may be a subcommand."""
    if not capable(variables.get("TERM", "")) or any(word.partition("=")[0] in OTHERWISE for word in argv):
        return False
    return not argv or " " in argv[0] or (argv[0].startswith("-") and "run" not in argv)


def capable(term: str) -> bool:
    """Return whether input and output are a terminal that can move its cursor and uses UTF-8."""
    here = sys.stdin and sys.stdout and sys.stdin.isatty() and sys.stdout.isatty()
    return bool(here) and term not in ("", "dumb", "unknown") and sys.stdout.encoding.lower() in ("utf-8", "utf8")


def paint() -> None:
    global _before
    try:
        _before = termios.tcgetattr(0)
        _disable_echo(_before)
    except (termios.error, OSError):
        _before = None
        return
    for number in (SIGHUP, SIGINT, SIGTERM):
        if _signal.getsignal(number) is not _signal.SIG_IGN:  # nohup means it
            _handlers[number] = _signal.signal(number, _ended)
    _handlers[SIGTSTP] = _signal.signal(SIGTSTP, _stopped)
    _write(MARK)


def _disable_echo(mode: "Mode") -> None:
    """Keep keys as they are and do not echo them. Ctrl+C and Ctrl+Z still send signals."""
    global _typed
    quiet, input_flags, local_flags = [*mode], mode[0], mode[3]
    assert isinstance(input_flags, int) and isinstance(local_flags, int)
    quiet[0] = input_flags & ~(termios.ICRNL | termios.IXON)
    quiet[3] = local_flags & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSANOW, quiet)
    _typed = unread_bytes()


def _write(text: str) -> None:
    """Write past `sys.stdout`, which a signal handler must not use while it is writing."""
    try:
        os.write(1, text.encode())
    except OSError:
        pass  # the terminal is gone, as whoever reads from it will find


def unread_bytes() -> int:
    """Return how many typed bytes were not read yet. Those typed in the usual mode have line feeds for Enter."""
    count = fcntl.ioctl(0, termios.FIONREAD, bytes(4))
    return int.from_bytes(count, sys.byteorder)


def state_before() -> "tuple[Mode | None, int]":
    """Return the mode of the terminal before the paint, and how many bytes were typed until then."""
    return _before, _typed


def hand_over() -> None:
    """Leave it to the chat to restore the terminal and to draw over the paint."""
    global _before
    if _before is not None:
        _before = None
        _write(ABOVE)


def restore_signals() -> None:
    """Restore the signal handlers, except those that another part has replaced."""
    for number, handler in _handlers.items():
        if _signal.getsignal(number) in (_ended, _stopped):
            _signal.signal(number, handler)
    _handlers.clear()


def undo() -> None:
    global _before
    before, _before = _before, None
    if before is not None:
        _restore_mode(before)
        restore_signals()


def _restore_mode(before: "Mode") -> None:
    _write(UNMARK)
    try:
        termios.tcsetattr(0, termios.TCSANOW, before)
    except termios.error:
        pass  # it went away, and its mode with it


def _ended(number: int, _frame: object) -> None:
    """End at once: nothing has been opened that must be closed."""
    undo()
    os._exit(128 + number)


def _stopped(number: int, _frame: object) -> None:
    """Suspend on Ctrl+Z: the shell has its terminal until the program is in front again."""
    if _before is not None:
        _restore_mode(_before)
    _signal.signal(number, _signal.SIG_DFL)
    os.kill(0, number)
    _signal.signal(number, _stopped)
    if _before is not None:
        try:
            _disable_echo(_before)
        except termios.error:
            return
        _write(MARK)
