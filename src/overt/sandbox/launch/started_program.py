"""A started program as Overt knows it: its control socket and its pipes."""

import asyncio
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence

from overt.core.errors import ToolError
from overt.sandbox.launch.supervisor_process import START, SupervisorProcess
from overt.sandbox.profile import AccessRules

LONGEST = 128 * 1024
"""The kernel takes no longer word on a command line."""
PIPE = 1024 * 1024
CONFIRM = 0.6
REPORT_TIMEOUT_S = 2.0


class OrderLedger:
    """Which orders were taken, in memory that outlives whoever took one. It is looked at only when a monitor is gone
    before it said anything: told on the control, it would wake us once more for every command."""

    def __init__(self) -> None:
        self._fd = -1
        self._count = 0

    def enter(self) -> tuple[int, int]:
        """The descriptor to mark, and the place in it that stands for a new order."""
        if self._fd < 0:
            self._fd = os.memfd_create("ledger") if sys.platform == "linux" else os.open("/dev/null", os.O_RDWR)
        self._count += 1
        return self._fd, self._count

    def taken(self, place: int) -> bool:
        """Once closed, of every order: nothing is tried again then."""
        return self._fd < 0 or sys.platform != "linux" or os.pread(self._fd, 1, place) == b"\1"

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class StartedProgram:
    """A Child. `walls` are those it runs behind, None outside."""

    def __init__(
        self,
        ledger: OrderLedger,
        forget: Callable[["StartedProgram"], None],
        *,
        tracked: bool = False,
        stdio: bool = False,
    ) -> None:
        self.pid = 0
        self.output = self.stdin = self.stdout = -1
        self.left = 0
        self.rules: AccessRules | None = None
        self.breaches: list[str] = []
        """Protected names that got around the refusals of the monitor."""
        self.is_monitor_lost = False
        self._forget = forget
        self._ledger = ledger
        self._place = 0
        self._loop = asyncio.get_running_loop()
        self._running: asyncio.Future[int] = self._loop.create_future()
        self._code: int | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self._said = b""
        self._sent = False
        self._stdio = stdio
        self._control: socket.socket | None = None
        self._station: SupervisorProcess | None = None
        self._record = os.memfd_create("writes") if tracked and sys.platform == "linux" else -1
        self._last_record: bytes | None = None
        self._reported: asyncio.Future[None] | None = None

    async def send(self, station: SupervisorProcess, payload: bytes) -> None:
        self._release()
        self._station = station
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        self.output, writer = os.pipe()
        os.set_blocking(self.output, False)
        pipes = self._open_pipes() if self._stdio else ()
        try:
            try:
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE)
            except OSError:
                pass  # only slower: this user's share of large pipes is used up
            ledger, self._place = self._ledger.enter()
            order = b"%d\0%b" % (self._place, payload)
            descriptors = [theirs.fileno(), writer, ledger, *((self._record,) if self._record >= 0 else ()), *pipes]
            await station.send(b"%08x%b" % (len(order), order), descriptors)
        finally:
            theirs.close()
            for fd in (writer, *pipes):
                os.close(fd)
        self._sent = True
        self._loop.add_reader(self._control.fileno(), self._hear)

    def _open_pipes(self) -> tuple[int, int]:
        """Return the ends for the program: what it reads its input from, and what it writes its output to."""
        reader, self.stdin = os.pipe()
        self.stdout, writer = os.pipe()
        return reader, writer

    async def started(self, program: str, cwd: str) -> None:
        try:
            async with asyncio.timeout(START):
                error = await self._running
        except TimeoutError:
            message = f"{program} did not start within {START:g} s: the machine, or the limit on processes, is full"
            raise ToolError(message, code="failed") from None
        if error > 0:
            raise ToolError(f"could not start {program} in {cwd}: {os.strerror(error)}", code="failed")
        if error < 0 and not self._ledger.taken(self._place):
            raise ConnectionResetError
        if error < 0:
            raise ToolError(f"{program} was killed with its supervisor while it started", code="failed")

    async def wait(self) -> int:
        """Everybody waits for a future of their own: who gives up takes nothing from the others."""
        while self._code is None:
            waiter = self._loop.create_future()
            self._waiting.append(waiter)
            await waiter
        return self._code

    async def kill(self, *, grace: float = 0.0) -> None:
        if self._control is None or self._code is not None or not self._sent:
            return
        try:
            self._control.send(b"kill %f\n" % grace)
        except OSError:
            pass  # its monitor is gone, and with it the command
        if not await self._gone(grace + CONFIRM) and self._station and self._station.launch.box:
            self._station.hang_up()  # what cannot be killed alone, or not soon, goes with its whole box
            await self._gone(CONFIRM)

    async def write_record(self) -> bytes | None:
        if self._record < 0:
            return self._last_record
        if self._code is None and self._control is not None:
            self._reported = self._loop.create_future()
            try:
                self._control.send(b"report\n")
                async with asyncio.timeout(REPORT_TIMEOUT_S):
                    await self._reported
            except (OSError, TimeoutError):
                return None
        return self._read_record()

    def _read_record(self) -> bytes | None:
        size = os.fstat(self._record).st_size
        return os.pread(self._record, size, 0) if size else None

    async def _gone(self, within: float) -> bool:
        try:
            async with asyncio.timeout(within):
                await self.wait()
        except TimeoutError:
            return False  # the supervisor goes on trying
        return True

    def close_pipes(self) -> None:
        for fd in (self.stdin, self.stdout):
            if fd >= 0:
                os.close(fd)
        self.stdin = self.stdout = -1

    def close(self) -> None:
        self._release()
        if self._record >= 0:
            self._last_record = self._read_record()
            os.close(self._record)
            self._record = -1
        self._forget(self)
        self._settle(-signal.SIGKILL)
        self._end(-signal.SIGKILL)

    def _release(self) -> None:
        self.close_pipes()
        if self._control is not None:
            self._loop.remove_reader(self._control.fileno())
            self._control.close()
            self._control = None
        if self.output >= 0:
            self._loop.remove_reader(self.output)
            os.close(self.output)
            self.output = -1

    def _hear(self) -> None:
        if self._control is None:
            return
        try:
            data = self._control.recv(256)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._said = (self._said + data).split(b"\n")
        for line in lines:
            self._take(line.split())
        if not data:
            self.is_monitor_lost = bool(self.pid) and self._code is None
            self._take([b"failed", b"-1"] if not self.pid else [b"exit", b"-9", b"0"])
        if self._code is not None:
            self._loop.remove_reader(self._control.fileno())  # nothing is said after that

    def _take(self, words: list[bytes]) -> None:
        match words:
            case [b"pid", pid]:
                self.pid = int(pid)
                self._settle(0)
            case [b"breach", path]:
                self.breaches.append(os.fsdecode(bytes.fromhex(path.decode())))
            case [b"report"]:
                if self._reported and not self._reported.done():
                    self._reported.set_result(None)
            case [b"failed", error]:
                self._settle(int(error))
                self._end(-signal.SIGKILL)
            case [b"exit", code, left] if self._code is None:
                self.left = int(left)
                self._end(int(code))

    def _settle(self, error: int) -> None:
        """Whether it runs is known now; whoever asked may have given up."""
        if not self._running.done():
            self._running.set_result(error)

    def _end(self, code: int) -> None:
        if self._code is None:
            self._code = code
            if self._reported and not self._reported.done():
                self._reported.set_result(None)
            for waiter in self._waiting:
                if not waiter.done():
                    waiter.set_result(None)
            self._waiting.clear()


def payload(words: Sequence[str]) -> bytes:
    """Words with a NUL between them; refused where a program could not be given one of them."""
    joined = "\0".join(words)
    if joined.count("\0") >= max(len(words), 1):
        raise ToolError("the command holds a NUL byte, which no program can be given", code="invalid")
    try:
        encoded = joined.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ToolError("the command holds half a character (a lone surrogate); write it out", code="invalid") from None
    if len(encoded) >= LONGEST and any(len(word) >= LONGEST for word in encoded.split(b"\0")):
        raise ToolError("the command is longer than 128 KiB; write it to a file and run that", code="invalid")
    return encoded
