"""Processes of stdio servers. Overt starts them in its sandbox and sends their pipes; the host only asks for them."""

import asyncio
from collections.abc import Callable
from itertools import count

from overt.core.settings import ServerEntry
from overt.mcp.host.failures import CommandFailed
from overt.mcp.host.link import OvertLink
from overt.mcp.messages import ServerExited, ServerStarted, StartServer, StopServer

START_LIMIT_S = 30.0
EXIT_WAIT_S = 0.3


class StdioProcess:
    def __init__(self, number: int, descriptors: tuple[int, int]) -> None:
        self.number = number
        self.descriptors = descriptors
        self.exited: asyncio.Future[ServerExited] = asyncio.get_running_loop().create_future()

    async def exit_reason(self) -> str:
        """Return how the process ended, as the end of a sentence. Empty if that is not known soon."""
        await asyncio.wait([self.exited], timeout=EXIT_WAIT_S)
        if not self.exited.done():
            return ""
        report = self.exited.result()
        how = f" (signal {-report.code})" if report.code < 0 else f" (exit code {report.code})"
        return f"{how}: {report.last_line}" if report.last_line else how


class StdioProcesses:
    def __init__(self, link: OvertLink) -> None:
        self._link = link
        self._numbers = count(1)
        self._starting: dict[int, asyncio.Future[tuple[int, int]]] = {}
        self._running: dict[int, StdioProcess] = {}

    async def start(self, server: ServerEntry) -> StdioProcess:
        number = next(self._numbers)
        started: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()
        self._starting[number] = started
        self._link.send(StartServer(start=number, server=server.name))
        try:
            async with asyncio.timeout(START_LIMIT_S):
                await started
        except TimeoutError:
            self._link.send(StopServer(start=number))
            raise CommandFailed("start", f"{server.name}: the server was not started in time") from None
        except CommandFailed as failure:
            raise CommandFailed("start", f"{server.name}: the server did not start: {failure.message}") from None
        finally:
            del self._starting[number]
        return self._running[number]

    def stop(self, process: StdioProcess) -> None:
        if self._running.pop(process.number, None) and not process.exited.done():
            self._link.send(StopServer(start=process.number))

    def receive_started(self, report: ServerStarted, close: Callable[[int], None]) -> None:
        """`close` is called with each descriptor that nobody waits for any more."""
        waiting = self._starting.get(report.start)
        if report.problem:
            if waiting and not waiting.done():
                waiting.set_exception(CommandFailed("start", report.problem))
            return
        descriptors = self._link.take_descriptors()
        if waiting is None or waiting.done():
            close(descriptors[0])
            close(descriptors[1])
            self._link.send(StopServer(start=report.start))
            return
        self._running[report.start] = StdioProcess(report.start, descriptors)
        waiting.set_result(descriptors)

    def receive_exit(self, report: ServerExited) -> None:
        process = self._running.get(report.start)
        if process and not process.exited.done():
            process.exited.set_result(report)
