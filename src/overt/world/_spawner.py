"""The spawner: starts programs through a supervisor (see `sandbox/supervisor.py`), one per profile.

A supervisor is started at first use or by `warm`. One event loop serves a spawner for its whole life.
"""

import asyncio
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from overt.core.errors import ToolError
from overt.core.ports import Profile
from overt.world.sandbox import none

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUPERVISOR = "import sys; sys.path[:0] = sys.argv[1:2]; from overt.world.sandbox.supervisor import main; main()"
"""Imported, not run by its path, so that its bytecode is kept."""
MOST_PROCESSES = 4096
LONGEST = 128 * 1024
"""The kernel takes no longer word on a command line."""
PIPE = 1024 * 1024
CONFIRM = 1.0
START = 30.0


class Supervised:
    """A Spawner. `walls` gives the words that put a profile's supervisor into its sandbox."""

    def __init__(
        self,
        *,
        walls: Callable[[Profile], Sequence[str]] = none.walls,
        most_processes: int = MOST_PROCESSES,
    ) -> None:
        self._walls = walls
        self._most = most_processes
        self._stations: dict[Profile, Station] = {}
        self._children: set[Started] = set()

    def warm(self, profile: Profile) -> None:
        """Start the supervisor now, without waiting for it."""
        self._station(profile)

    async def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], profile: Profile, linger: bool = False
    ) -> "Started":
        words = ["linger" if linger else "", cwd, str(len(argv)), *argv, *(f"{k}={v}" for k, v in env.items())]
        payload = _payload(words)
        for _ in range(2):
            try:
                return await self._try(payload, argv[0], cwd=cwd, profile=profile)
            except ConnectionError:
                if profile in self._stations:
                    self._stations.pop(profile).end()  # it was killed before it took the order; one fresh start
        raise ToolError(f"could not start {argv[0]}: the supervisor of programs was killed twice", code="failed")

    async def _try(self, payload: bytes, program: str, *, cwd: str, profile: Profile) -> "Started":
        child = Started(self._children.discard)
        self._children.add(child)
        up = False
        try:
            await child.send(self._station(profile), payload)
            await child.started(program, cwd)
            up = True
        except asyncio.CancelledError:
            await child.kill()
            raise
        except ConnectionError:
            raise
        except OSError as error:
            raise ToolError(f"could not start a program: {error.strerror}", code="failed") from error
        finally:
            if not up:
                child.close()
        return child

    async def close(self) -> None:
        """End every program; returns when they are gone, or after two seconds."""
        for child in tuple(self._children):
            child.close()
        stations = list(self._stations.values())
        self._stations.clear()
        for station in stations:
            station.link.close()
        deadline = time.monotonic() + 2.0
        for station in stations:
            while not station.reaped() and time.monotonic() < deadline:  # noqa: ASYNC110 - nothing tells of its end
                await asyncio.sleep(0.005)
            station.end()

    def _station(self, profile: Profile) -> "Station":
        if profile not in self._stations:
            try:
                self._stations[profile] = Station(self._walls(profile), self._most)
            except OSError as error:
                raise ToolError(f"could not start the supervisor of programs: {error.strerror}") from error
        return self._stations[profile]


class Station:
    """One running supervisor and the link to it."""

    def __init__(self, walls: Sequence[str], most: int) -> None:
        self.link, theirs = socket.socketpair()
        self.link.setblocking(False)
        self._sending = asyncio.Lock()
        self._rest: asyncio.Task[None] | None = None
        self._pid = 0
        argv = [*walls, sys.executable, "-I", "-S", "-c", SUPERVISOR, PACKAGE, str(most)]
        nothing = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)
        try:
            self._pid = os.posix_spawnp(
                argv[0],
                argv,
                {"PATH": os.defpath},
                file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), nothing, (os.POSIX_SPAWN_DUP2, 1, 2)],
                setsid=True,
            )
        finally:
            theirs.close()
            if not self._pid:
                self.link.close()

    async def send(self, data: bytes, descriptors: Sequence[int]) -> None:
        rights = b"".join(it.to_bytes(4, sys.byteorder) for it in descriptors)
        loop = asyncio.get_running_loop()
        async with self._sending:
            if self._rest:
                await asyncio.wait([self._rest])
            while True:
                try:
                    sent = self.link.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                    break
                except BlockingIOError:
                    await asyncio.sleep(0.002)
            if sent < len(data):
                # Half an order would garble the next one, so cancelling does not stop the rest of it.
                self._rest = asyncio.create_task(loop.sock_sendall(self.link, memoryview(data)[sent:]))
                await asyncio.shield(self._rest)

    def reaped(self) -> bool:
        if self._pid:
            try:
                done, _ = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:
                done = self._pid
            if done:
                self._pid = 0
        return not self._pid

    def end(self) -> None:
        """Only when asking has not helped: the keepers see their controls close and do the rest."""
        self.link.close()
        if not self.reaped():
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0


class Started:
    """A Child, known to us by its control socket and the pipe of its output."""

    def __init__(self, forget: Callable[["Started"], None]) -> None:
        self.pid = 0
        self.output = -1
        self.left = 0
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._running: asyncio.Future[int] = self._loop.create_future()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._said = b""
        self._sent = False
        self._taken = False
        self._control: socket.socket | None = None

    async def send(self, station: Station, payload: bytes) -> None:
        self._release()
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        self.output, writer = os.pipe()
        os.set_blocking(self.output, False)
        try:
            try:
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE)
            except OSError:
                pass  # only slower: this user's share of large pipes is used up
            await station.send(b"%08x" % len(payload) + payload, (theirs.fileno(), writer))
        finally:
            theirs.close()
            os.close(writer)
        self._sent = True
        self._loop.add_reader(self._control.fileno(), self._hear)

    async def started(self, program: str, cwd: str) -> None:
        try:
            async with asyncio.timeout(START):
                error = await asyncio.shield(self._running)
        except TimeoutError:
            message = f"{program} did not start within {START:g} s: the machine, or the limit on processes, is full"
            raise ToolError(message, code="failed") from None
        if error > 0:
            raise ToolError(f"could not start {program} in {cwd}: {os.strerror(error)}", code="failed")
        if error < 0 and not self._taken:
            raise ConnectionResetError
        if error < 0:
            raise ToolError(f"{program} was killed with its supervisor while it started", code="failed")

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def kill(self, *, grace: float = 0.0) -> None:
        if self._control is None or self._ended.done() or not self._sent:
            return
        try:
            self._control.send(b"kill %f\n" % grace)
        except OSError:
            pass  # its keeper is gone, and with it the command
        try:
            async with asyncio.timeout(grace + CONFIRM):
                await self.wait()
        except TimeoutError:
            pass  # it cannot be killed now; the supervisor goes on trying

    def close(self) -> None:
        self._release()
        self._forget(self)
        for future in (self._running, self._ended):
            if not future.done():
                future.set_result(-signal.SIGKILL)

    def _release(self) -> None:
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
            self._loop.remove_reader(self._control.fileno())
            self._take([b"failed", b"-1"] if not self.pid else [b"exit", b"-9", b"0"])

    def _take(self, words: list[bytes]) -> None:
        match words:
            case [b"taken"]:
                self._taken = True
            case [b"pid", pid] if not self._running.done():
                self.pid = int(pid)
                self._running.set_result(0)
            case [b"failed", error] if not self._running.done():
                self._running.set_result(int(error))
                self._ended.set_result(-signal.SIGKILL)
            case [b"exit", code, left] if not self._ended.done():
                self.left = int(left)
                self._ended.set_result(int(code))


def _payload(words: Sequence[str]) -> bytes:
    if any("\0" in word for word in words):
        raise ToolError("the command holds a NUL byte, which no program can be given", code="invalid")
    try:
        encoded = [word.encode("utf-8", "surrogateescape") for word in words]
    except UnicodeEncodeError:
        raise ToolError("the command holds half a character (a lone surrogate); write it out", code="invalid") from None
    if any(len(word) >= LONGEST for word in encoded):
        raise ToolError("the command is longer than 128 KiB; write it to a file and run that", code="invalid")
    return b"\0".join(encoded)
