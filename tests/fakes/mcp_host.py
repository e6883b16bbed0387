"""Overt's side of the socket to the MCP host, for tests: a real host process, with stdio servers as our children."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from msgspec import Raw, json

from overt.core.settings import ServerEntry
from overt.mcp.manifest import Era, Manifest
from overt.mcp.messages import (
    CallTool,
    Configure,
    Failed,
    GetPrompt,
    HelperFinished,
    HostCommand,
    HostReport,
    ListEverything,
    Logged,
    Login,
    OffersChanged,
    OpenPage,
    Progressed,
    PromptText,
    QuestionAnswered,
    ReadResource,
    ResourceContents,
    RunHelper,
    ServerExited,
    ServerQuestion,
    ServerStarted,
    StartServer,
    StopServer,
    Succeeded,
    ToolOutput,
)

ROOT = Path(__file__).parent.parent.parent
RUN = "import sys; sys.path[:0] = [sys.argv[1]]; from overt.mcp.host.main import main; main()"
WAIT_S = 60.0
_decoder = json.Decoder(HostReport)


def no_answer(question: ServerQuestion) -> QuestionAnswered:
    return QuestionAnswered(question=question.question, action="cancel")


async def no_page(page: OpenPage) -> None:
    raise AssertionError(f"nobody asked for {page.url}")


class HostDriver:
    """`starts` are the processes that the host asked for, by number; `reports` is everything that it said."""

    def __init__(self, process: subprocess.Popen[bytes], link: socket.socket, servers: tuple[ServerEntry, ...]) -> None:
        self.process = process
        self.link = link
        self.reports: list[HostReport] = []
        self.starts: dict[int, subprocess.Popen[bytes]] = {}
        self.answer: Callable[[ServerQuestion], QuestionAnswered] = no_answer
        self.open_page: Callable[[OpenPage], object] = no_page
        self.helper_output = self.helper_problem = ""
        self._servers = {server.name: server for server in servers}
        self._changed = asyncio.Condition()
        self._ids = 0
        self._tasks: list[asyncio.Task[object]] = []

    async def send(self, command: HostCommand, descriptors: tuple[int, ...] = ()) -> None:
        data = json.encode(command) + b"\n"
        if descriptors:
            sent = socket.send_fds(self.link, [data], list(descriptors))
            data = data[sent:]
        await asyncio.get_running_loop().sock_sendall(self.link, data)

    async def list_everything(self, server: str, *, may_log_in: bool = False) -> Manifest | Failed:
        value = await self.run(ListEverything(id=self.next_id(), server=server, may_log_in=may_log_in))
        assert isinstance(value, Manifest | Failed)
        return value

    async def manifest(self, server: str) -> Manifest:
        value = await self.list_everything(server)
        assert isinstance(value, Manifest), value
        return value

    async def call(
        self, server: str, tool: str, arguments: object = None, *, timeout_ms: int = 30_000, repeatable: bool = False
    ) -> ToolOutput | Failed:
        value = await self.run(self.call_command(server, tool, arguments, timeout_ms=timeout_ms, repeatable=repeatable))
        assert isinstance(value, ToolOutput | Failed)
        return value

    def call_command(
        self, server: str, tool: str, arguments: object = None, *, timeout_ms: int = 30_000, repeatable: bool = False
    ) -> CallTool:
        raw = Raw(json.encode(arguments or {}))
        id = self.next_id()
        return CallTool(id=id, server=server, tool=tool, arguments=raw, timeout_ms=timeout_ms, repeatable=repeatable)

    async def prompt(self, server: str, prompt: str, arguments: dict[str, str]) -> PromptText | Failed:
        command = GetPrompt(id=self.next_id(), server=server, prompt=prompt, arguments=arguments, timeout_ms=30_000)
        value = await self.run(command)
        assert isinstance(value, PromptText | Failed)
        return value

    async def read(self, server: str, uri: str) -> ResourceContents | Failed:
        value = await self.run(ReadResource(id=self.next_id(), server=server, uri=uri, timeout_ms=30_000))
        assert isinstance(value, ResourceContents | Failed)
        return value

    async def run(self, command: ListEverything | CallTool | GetPrompt | ReadResource | Login) -> object:
        """Send a command and wait for its end: its value, or the failure."""
        await self.send(command)
        ended = await self.wait_for(lambda it: isinstance(it, Succeeded | Failed) and it.id == command.id)
        return ended.value if isinstance(ended, Succeeded) else ended

    async def wait_for(self, wanted: Callable[[HostReport], bool]) -> HostReport:
        """Return the first report, old or new, for which `wanted` is true."""
        async with asyncio.timeout(WAIT_S), self._changed:
            while True:
                for report in self.reports:
                    if wanted(report):
                        return report
                await self._changed.wait()

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    def progress(self) -> list[str]:
        return [it.text for it in self.reports if isinstance(it, Progressed)]

    def logs(self) -> list[str]:
        return [it.text for it in self.reports if isinstance(it, Logged)]

    def changes(self) -> int:
        return sum(isinstance(it, OffersChanged) for it in self.reports)

    async def read_reports(self) -> None:
        loop = asyncio.get_running_loop()
        parts: list[bytes] = []
        while data := await loop.sock_recv(self.link, 1 << 20):
            *lines, rest = data.split(b"\n")
            for line in lines:
                parts.append(line)
                await self._receive(_decoder.decode(b"".join(parts)))
                parts.clear()
            parts.append(rest)

    async def _receive(self, report: HostReport) -> None:
        async with self._changed:
            self.reports.append(report)
            self._changed.notify_all()
        if isinstance(report, StartServer):
            await self._start_server(report)
        elif isinstance(report, StopServer):
            self.kill(self.starts[report.start])
        elif isinstance(report, RunHelper):
            await self.send(HelperFinished(run=report.run, output=self.helper_output, problem=self.helper_problem))
        elif isinstance(report, ServerQuestion):
            await self.send(self.answer(report))
        elif isinstance(report, OpenPage):
            work = self.open_page(report)
            if asyncio.iscoroutine(work):
                self._tasks.append(asyncio.create_task(work))

    async def _start_server(self, report: StartServer) -> None:
        server = self._servers[report.server]
        try:
            process = subprocess.Popen(
                server.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(os.environ) | server.environment,
                start_new_session=True,
            )
        except OSError as error:
            await self.send(ServerStarted(start=report.start, problem=str(error.strerror)))
            return
        self.starts[report.start] = process
        assert process.stdin and process.stdout
        await self.send(ServerStarted(start=report.start), (process.stdin.fileno(), process.stdout.fileno()))
        process.stdin.close()
        process.stdout.close()
        self._tasks.append(asyncio.create_task(self._report_exit(report.start, process)))

    async def _report_exit(self, start: int, process: subprocess.Popen[bytes]) -> None:
        while process.poll() is None:
            await asyncio.sleep(0.01)
        await self.send(ServerExited(start=start, code=process.returncode, last_line="its last words"))

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    async def close(self) -> None:
        """Close the socket; the host must end by itself."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.link.close()
        await asyncio.to_thread(self.process.wait, WAIT_S)
        for process in self.starts.values():
            self.kill(process)
            await asyncio.to_thread(process.wait, WAIT_S)

    async def __aenter__(self) -> Self:
        self._tasks.append(asyncio.create_task(self.read_reports()))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@asynccontextmanager
async def running_host(
    *servers: ServerEntry,
    eras: dict[str, Era] | None = None,
    roots: tuple[str, ...] = (),
    token_folder: str = "/nonexistent",
    interactive: bool = False,
    environment: dict[str, str] | None = None,
) -> AsyncIterator[HostDriver]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(ROOT / "src")],
            stdin=theirs.fileno(),
            env=dict(os.environ) | (environment or {}),
        )
    ours.setblocking(False)
    try:
        async with HostDriver(process, ours, servers) as driver:
            await driver.send(
                Configure(
                    servers=servers,
                    eras=eras or {},
                    roots=roots,
                    token_folder=token_folder,
                    version="1.2.3",
                    interactive=interactive,
                )
            )
            yield driver
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(WAIT_S)
