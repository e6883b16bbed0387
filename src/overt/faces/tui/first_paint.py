"""The composer on the screen before anything heavy is loaded.

Nothing is imported here that costs time. Keys typed from now on are kept by the terminal, in order, until the chat
reads them. Whoever does not open the chat after all calls `undo`, and the terminal is as it was.
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
OTHERWISE = ("-p", "--print", "-h", "--help", "-v", "--version", "--plain", "--output-format")
"""Flags that do not open the chat, or not this one."""
SIGHUP, SIGINT, SIGTERM, SIGTSTP = 1, 2, 15, 20

_before: "Mode | None" = None
_typed = 0
_handlers: "dict[int, object]" = {}


def wanted(argv: list[str], variables: "Mapping[str, str]") -> bool:
    """Whether these words surely open the chat: a first word without a space may be a subcommand."""
    if not capable(variables.get("TERM", "")) or any(word.partition("=")[0] in OTHERWISE for word in argv):
        return False
    return not argv or " " in argv[0] or (argv[0].startswith("-") and "run" not in argv)


def capable(term: str) -> bool:
    """Whether there is a terminal at both ends that can move its cursor and speaks UTF-8."""
    here = sys.stdin and sys.stdout and sys.stdin.isatty() and sys.stdout.isatty()
    return bool(here) and term not in ("", "dumb", "unknown") and sys.stdout.encoding.lower() in ("utf-8", "utf8")


def paint() -> None:
    global _before
    try:
        _before = termios.tcgetattr(0)
        _quieten(_before)
    except (termios.error, OSError):
        _before = None
        return
    for number in (SIGHUP, SIGINT, SIGTERM):
        if _signal.getsignal(number) is not _signal.SIG_IGN:  # nohup means it
            _handlers[number] = _signal.signal(number, _ended)
    _handlers[SIGTSTP] = _signal.signal(SIGTSTP, _stopped)
    _write(MARK)


def _quieten(mode: "Mode") -> None:
    """Keys are kept as they are and shown nowhere yet; Ctrl+C and Ctrl+Z are signals still."""
    global _typed
    quiet, input_flags, local_flags = [*mode], mode[0], mode[3]
    assert isinstance(input_flags, int) and isinstance(local_flags, int)
    quiet[0] = input_flags & ~(termios.ICRNL | termios.IXON)
    quiet[3] = local_flags & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSANOW, quiet)
    _typed = waiting()


def _write(text: str) -> None:
    """Past `sys.stdout`, which takes nothing from a handler of a signal that struck while it was writing."""
    try:
        os.write(1, text.encode())
    except OSError:
        pass  # the terminal is gone, as whoever reads from it will find


def waiting() -> int:
    """How many bytes were typed and not read yet. What was typed in the usual mode has line feeds for Enter."""
    count = fcntl.ioctl(0, termios.FIONREAD, bytes(4))
    return int.from_bytes(count, sys.byteorder)


def found() -> "tuple[Mode | None, int]":
    """How the terminal stood before, for whoever takes it over, and how many bytes were typed until then."""
    return _before, _typed


def taken() -> None:
    """Somebody else puts everything back from now on, and draws over what stands here."""
    global _before
    if _before is not None:
        _before = None
        _write(ABOVE)


def deaf() -> None:
    """Signals mean what they meant before; those that another has taken over are left to them."""
    for number, handler in _handlers.items():
        if _signal.getsignal(number) in (_ended, _stopped):
            _signal.signal(number, handler)
    _handlers.clear()


def undo() -> None:
    global _before
    before, _before = _before, None
    if before is not None:
        _put_back(before)
        deaf()


def _put_back(before: "Mode") -> None:
    _write(UNMARK)
    try:
        termios.tcsetattr(0, termios.TCSANOW, before)
    except termios.error:
        pass  # it went away, and its mode with it


def _ended(number: int, _frame: object) -> None:
    """Nothing has been opened that needs to be closed."""
    undo()
    os._exit(128 + number)


def _stopped(number: int, _frame: object) -> None:
    """Ctrl+Z: the shell has its terminal until the program is in front again."""
    if _before is not None:
        _put_back(_before)
    _signal.signal(number, _signal.SIG_DFL)
    os.kill(0, number)
    _signal.signal(number, _stopped)
    if _before is not None:
        try:
            _quieten(_before)
        except termios.error:
            return
        _write(MARK)
