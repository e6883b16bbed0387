"""A program in a pseudo-terminal, and what it costs there: time to what it shows, bytes, processor time, memory."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE = 30.0
TICKS = os.sysconf("SC_CLK_TCK")
ANSWERS = ((b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b]11;?", b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"))
"""What a terminal says when it is asked."""


class Pty:
    """`began` is just before the program was started; `seen` is everything it wrote."""

    def __init__(self, argv: list[str], *, env: Mapping[str, str], cwd: Path, size: tuple[int, int] = (80, 24)) -> None:
        self.began = time.monotonic()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(argv[0], argv, dict(env))
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.seen = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            os.kill(self.pid, signal.SIGTERM)
            self.read_for(0.5)
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has left by itself
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    def send(self, data: bytes) -> float:
        """The moment it was sent. What does not fit at once is sent as the program reads."""
        sent = time.monotonic()
        while data:
            readable, writable, _ = select.select([self._fd], [self._fd], [], PATIENCE)
            if readable:
                self._take()
            if writable:
                data = data[os.write(self._fd, data[:4096]) :]
        return sent

    def until(self, wanted: bytes, since: int | None = None) -> float:
        """The moment when it had been written, looked for behind `since`."""
        start = len(self.seen) if since is None else since
        deadline = time.monotonic() + PATIENCE
        while self.seen.find(wanted, max(start - len(wanted), 0) if since is None else start) < 0:
            if not self._wait(deadline - time.monotonic()):
                raise SystemExit(f"bench: {wanted!r} was not shown; the last was {bytes(self.seen[-600:])!r}")
        return time.monotonic()

    def any(self) -> float:
        """The moment of the next output."""
        if not self._wait(PATIENCE):
            raise SystemExit("bench: nothing was shown")
        return time.monotonic()

    def read_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._wait(deadline - time.monotonic()):
            pass

    def quiet(self, seconds: float = 0.15) -> None:
        """Until nothing has come for so long."""
        while self._wait(seconds):
            pass

    def _wait(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._fd], [], [], seconds)[0]:
            return False
        return self._take()

    def _take(self) -> bool:
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.seen += data
        for question, answer in ANSWERS:
            if question in data:
                os.write(self._fd, answer)
        return bool(data)

    # ── what it costs ────────────────────────────────────────────────────────────────────────────────────

    def cpu(self) -> float:
        """Seconds, of the program itself."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def mib(self) -> float:
        """The most it has had so far: some systems take from a program what it does not use."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
