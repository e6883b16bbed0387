"""The terminal as a file: its mode, its size, and bytes that arrive whole or not at all."""

import errno
import fcntl
import os
import select
import signal
import sys
import termios

LOST = (errno.EIO, errno.EPIPE, errno.EBADF, errno.ENXIO)
USUAL = (80, 24)
SMALLEST = (2, 2)


Mode = list[int | list[bytes | int]]


class Gone(OSError):
    """The terminal went away: the window was closed or the line was cut. Nothing more can be shown."""


class Device:
    """`raw` and `usual` may be called any number of times, in any order."""

    def __init__(self, *, reads: int = 0, writes: int = 1, before: Mode | None = None, typed: int = 0) -> None:
        """`before` is the mode to go back to, if it was changed already; so many bytes were `typed` in it."""
        self.reads = reads
        self.writes = writes
        self._before: Mode | None = before
        self._left: Mode | None = None
        self._typed = typed

    def size(self) -> tuple[int, int]:
        """Columns and lines; a terminal that does not know is taken for an ordinary one."""
        try:
            columns, lines = os.get_terminal_size(self.writes)
        except OSError:
            return USUAL
        return (max(columns, SMALLEST[0]), max(lines, SMALLEST[1])) if columns and lines else USUAL

    def raw(self) -> None:
        """Every key comes at once and as it is, Ctrl+C and Ctrl+Z too. Keys typed before are kept."""
        try:
            mode = termios.tcgetattr(self.reads)
            cooked = mode[3] & termios.ICANON
            if self._before is None:
                self._before = [*mode[:6], [*mode[6]]]
            mode[0] &= ~(termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.ISTRIP | termios.IXON)
            mode[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self.reads, termios.TCSANOW, mode)
            if cooked:
                self._typed = self._unread()
        except termios.error as wrong:
            raise Gone(*wrong.args) from None

    def _unread(self) -> int:
        try:
            return int.from_bytes(fcntl.ioctl(self.reads, termios.FIONREAD, bytes(4)), sys.byteorder)
        except OSError:
            return 0

    def is_raw(self) -> bool:
        """Whether nobody has changed the mode since: a shell does while the program is stopped."""
        try:
            return not termios.tcgetattr(self.reads)[3] & termios.ICANON
        except termios.error:
            return True

    def usual(self, *, forget: bool = False) -> None:
        """The mode found at first. `forget` drops what was not read, such as a late answer of the terminal."""
        if self._before is None:
            return
        before, self._before, self._left = self._before, None, self._before
        try:
            termios.tcsetattr(self.reads, termios.TCSAFLUSH if forget else termios.TCSADRAIN, before)
        except termios.error:
            pass  # it went away, and its mode with it

    def again_usual(self) -> None:
        """The mode that was left last: a program that had the terminal since may have been ended in the middle."""
        try:
            if self._left is not None and termios.tcgetattr(self.reads) != self._left:
                termios.tcsetattr(self.reads, termios.TCSADRAIN, self._left)
        except termios.error:
            pass

    def read(self) -> bytes:
        """What was typed; blocks when nothing was. Enter in the usual mode is a line feed: here it is Enter again."""
        try:
            data = os.read(self.reads, 65536)
        except OSError as wrong:
            if wrong.errno in (errno.EAGAIN, errno.EINTR):
                return b""
            raise Gone(wrong.errno, wrong.strerror) from None
        if not data:
            raise Gone(errno.EIO, os.strerror(errno.EIO))
        early, self._typed = self._typed, max(self._typed - len(data), 0)
        return data[:early].replace(b"\n", b"\r") + data[early:] if early else data

    def write(self, text: str) -> None:
        """All of it, in one call where the terminal takes it so."""
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            try:
                data = data[os.write(self.writes, data) :]
            except BlockingIOError:
                select.select([], [self.writes], [], 1)
            except OSError as wrong:
                if wrong.errno in LOST:
                    raise Gone(wrong.errno, wrong.strerror) from None
                raise

    def stop(self) -> None:
        """As Ctrl+Z does: the whole group sleeps until it is called to the front again."""
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            os.kill(0, signal.SIGTSTP)
        finally:
            signal.signal(signal.SIGTSTP, handler)
