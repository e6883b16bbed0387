"""The process of the embedded model's server, as its parent sees it."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from overt.core.codec import decode, encode
from overt.providers.http_provider import HttpProvider

if TYPE_CHECKING:
    from overt.providers.embedded.server_program import ServerArguments

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server_program.py")
KEPT_MOST = 3000
"""Tokens of a context worth keeping between runs: the beginning that all share, not a whole conversation."""
SETTLE = 1.0
"""Seconds that the end of a server waits for a context that is being saved."""
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


class StatusLine(Struct, frozen=True):
    """A line that the server prints: its port, why it could not start, or whether a context was saved."""

    port: int = 0
    failed: str = ""
    saved: bool | None = None


class ServerProcess:
    """Its token is known to it and to us, and stands in no argument and no variable."""

    def __init__(self, told: "ServerArguments", slot: str) -> None:
        self.token = told["token"]
        self.port = 0
        self.failure = ""
        self.provider: HttpProvider | None = None
        self._slot = slot
        self._found = _identity(slot)
        self._kept = False
        self._saving = False
        self._said = b""
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.path.dirname(slot),
            env={"OMP_WAIT_POLICY": "PASSIVE", "LANG": "C.UTF-8"},
            start_new_session=True,
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._write(encode(told))

    def heard(self) -> bool:
        """Whether it has said how its start went; one that was ended says nothing more."""
        if not (self.port or self.failure):
            self._hear()
        return bool(self.port or self.failure)

    def keep(self, read: int, cached: int) -> None:
        """Save what the first request made it read, unless that came from a file already or is too much."""
        if self._kept:
            return
        self._kept = True
        if cached * 2 < read <= KEPT_MOST:
            self._saving = self._write(b"save")

    def forget(self) -> None:
        """A kept context may be what it stumbled over; one that another run has saved since is not."""
        if self._found is not None and _identity(self._slot) == self._found:
            with suppress(OSError):
                os.unlink(self._slot)

    @property
    def crashed(self) -> bool:
        return -(self.process.poll() or 0) in CRASHES

    def death(self) -> str:
        code = self.process.poll() or 0
        if code == -signal.SIGKILL:
            return "killed, as happens when memory runs out"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def end(self) -> None:
        """Not asked but killed: a busy server does not listen. Only a context that is being saved is waited for."""
        self._settle()
        if self.provider is not None:
            self.provider.close()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        with suppress(OSError):
            os.unlink(f"{self._slot}.{self.process.pid}")

    def _settle(self) -> None:
        until = time.monotonic() + SETTLE
        while self._saving and self.process.poll() is None and time.monotonic() < until:
            self._hear()
            time.sleep(0.01)

    def _hear(self) -> None:
        pipe = self.process.stdout
        if pipe is None or pipe.closed:
            return
        try:
            self._said += os.read(pipe.fileno(), 4096)
        except BlockingIOError:
            return
        *lines, self._said = self._said.split(b"\n")
        for line in lines:
            said = decode(line, type=StatusLine)
            self.port, self.failure = said.port or self.port, said.failed or self.failure
            if said.saved is not None:
                self._saving = False

    def _write(self, line: bytes) -> bool:
        """Whether it was there to be told; if not, whoever waits for it finds out."""
        pipe = self.process.stdin
        if pipe is None or pipe.closed:
            return False
        try:
            os.write(pipe.fileno(), line + b"\n")
        except OSError:
            return False
        return True


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
