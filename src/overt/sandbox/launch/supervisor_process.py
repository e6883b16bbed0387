"""One running supervisor and the link to it: started directly, or in a box with somebody outside to tidy up."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence

from overt.sandbox.launch.launch_plans import LaunchPlan

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
RUN = "import sys; sys.path[:0] = sys.argv[1:2]; from overt.sandbox.{} import main; main()"
"""Imported, not run by its path, so that its bytecode is kept."""
PYTHON = os.path.realpath(sys.executable)
"""Fixed here: a link to it in the workspace could be led elsewhere meanwhile."""
START = 30.0
LONGEST_COMPLAINT = 2000


class SupervisorProcess:
    """`children` counts the programs that have not been let go; `launch` says how it was started, `greeted` that
    it has come up and was looked at."""

    def __init__(self, launch: LaunchPlan, most: int) -> None:
        self.launch = launch
        self.children = 0
        self.greeted = False
        self.link, theirs = socket.socketpair()
        self.link.setblocking(False)
        self._said = b""
        self._answer: asyncio.Future[tuple[str, ...] | None] | None = None
        self._complaint = os.memfd_create("complaint") if sys.platform == "linux" else os.open("/dev/null", os.O_RDWR)
        self._sending = asyncio.Lock()
        self._rest: asyncio.Task[None] | None = None
        self._pid = 0
        argv = command_line(launch, most)
        try:
            self._pid = os.posix_spawnp(
                argv[0],
                argv,
                {"PATH": os.defpath},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, self._complaint, 2),
                ],
                setsid=True,
            )
        finally:
            theirs.close()
            if not self._pid:
                self.hang_up()
                os.close(self._complaint)

    async def up(self) -> tuple[str, ...] | None:
        """Wait until it takes orders; the walls it lacks, or None when it ended instead."""
        if self._answer is None:
            loop = asyncio.get_running_loop()
            self._answer = loop.create_future()
            loop.add_reader(self.link.fileno(), self._hear)
        if not self._answer.done():
            try:
                async with asyncio.timeout(START):
                    await asyncio.shield(self._answer)
            except TimeoutError:
                return None
        return self._answer.result()

    def complaint(self) -> str:
        """What whoever was to bring it up wrote last."""
        try:
            text = os.pread(self._complaint, LONGEST_COMPLAINT, 0).decode("utf-8", "replace").strip()
        except OSError:
            text = ""
        return text.split("\n")[-1] or "it ended without a word"

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

    @property
    def ended(self) -> bool:
        """Whether we hung up: no more orders."""
        return self.link.fileno() < 0

    def hang_up(self) -> None:
        """Close the link: the supervisor ends, and everything it started with it."""
        self._settle(None)
        self.link.close()

    def reaped(self) -> bool:
        if self._pid:
            try:
                done, _ = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:
                done = self._pid
            if done:
                self._pid = 0
                os.close(self._complaint)
        return not self._pid

    def end(self) -> None:
        """Only when asking has not helped: the monitors see their controls close and do the rest."""
        self.hang_up()
        if not self.reaped():
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0
            os.close(self._complaint)

    def _hear(self) -> None:
        try:
            data = self.link.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._said += data
        if self._said.endswith(b"\n"):
            self._settle(tuple(word.decode() for word in self._said[:-1].split(b"\0")[1:] if word))
        elif not data:
            self._settle(None)

    def _settle(self, answer: tuple[str, ...] | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.get_loop().remove_reader(self.link.fileno())
            self._answer.set_result(answer)


def command_line(launch: LaunchPlan, most: int) -> list[str]:
    python = [PYTHON, "-I", "-S", "-c"]
    if not launch.box:
        return [*launch.before, *python, RUN.format("supervisor"), PACKAGE, str(most)]
    outer = [
        *python,
        RUN.format("host_process"),
        PACKAGE,
        str(most),
        launch.temp,
        str(len(launch.names)),
        *launch.names,
    ]
    inner = [RUN.format("sandbox_process"), PACKAGE, str(most), str(len(launch.wanted)), *launch.wanted]
    return [*outer, *launch.before, *python, *inner, *launch.box]
