"""Overt's side of the MCP host process: starts it, sends commands and takes its reports."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from time import monotonic

from msgspec import DecodeError, Struct, json

from overt.core.errors import ToolError
from overt.lib.logs.background import log_failure
from overt.lib.logs.log import LOG
from overt.mcp.messages import (
    Cancel,
    Failed,
    HostCommand,
    HostReport,
    OffersChanged,
    OpenPage,
    Progressed,
    QuestionAnswered,
    RunHelper,
    ServerQuestion,
    StartServer,
    StopServer,
    Succeeded,
    Value,
)

PYTHON = os.path.realpath(sys.executable)
"""Fixed here: a link to it in the workspace could be led elsewhere meanwhile."""
RUN = "import sys; sys.path[:0] = sys.argv[1].split('\\n'); from overt.mcp.host.main import main; main()"
READ_BYTES = 256 * 1024
CLOSE_WITHIN_S = 1.0
MAX_STDERR_BYTES = 8000
MAY_HAVE_RUN = "The call may have run: look at what it was to change before you make it again."

Report = Callable[[str], None]
AnswerQuestion = Callable[[ServerQuestion], Awaitable[QuestionAnswered]]
ShowPage = Callable[[OpenPage], None]


def log_page(page: OpenPage) -> None:
    """Log that a page was to be shown, without its address, which holds the state of the login."""
    LOG.warning("mcp", f"{page.server}: it waits for a login; log in with `overt mcp login {page.server}`")


class HostEvents(Struct, frozen=True, kw_only=True):
    """What the owner of a host process does about its reports."""

    start: Callable[[StartServer], Awaitable[None]]
    stop: Callable[[StopServer], None]
    run_helper: Callable[[RunHelper], Awaitable[None]]
    changed: Callable[[OffersChanged], None]


class _Waiting(Struct, frozen=True):
    """A command that is not answered yet, and what becomes of reports about it."""

    answer: asyncio.Future[Value]
    report: Report
    ask: AnswerQuestion
    show_page: ShowPage


class HostProcess:
    """A running host. When it ends, whatever waits for it fails; another one has to be started then."""

    def __init__(self, environment: Mapping[str, str], events: HostEvents) -> None:
        self._events = events
        self._numbers = count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending = asyncio.Lock()
        self._decoder = json.Decoder(HostReport)
        self._link, theirs = socket.socketpair()
        self._link.setblocking(False)
        self._stderr = os.memfd_create("complaint") if sys.platform == "linux" else os.open("/dev/null", os.O_RDWR)
        try:
            self._pid = os.posix_spawn(
                PYTHON,
                [PYTHON, "-I", "-S", "-c", RUN, "\n".join(filter(None, sys.path))],
                dict(environment),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, self._stderr, 2),
                ],
                setsid=True,
                setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP),
            )
        except OSError:
            self._link.close()
            os.close(self._stderr)
            raise
        finally:
            theirs.close()
        self._reader = asyncio.get_running_loop().create_task(self._read())
        self._reader.add_done_callback(log_failure("mcp"))

    @property
    def ended(self) -> bool:
        return self._reader.done()

    async def run_command(
        self,
        make: Callable[[int], HostCommand],
        *,
        report: Report = lambda text: None,
        ask: AnswerQuestion | None = None,
        show_page: ShowPage = log_page,
    ) -> Value:
        """Send a command, made with the number that is given to it, and return its answer.

        `report` is told of progress, `ask` puts a question of the server to the user, and `show_page` shows them a page
        to log in. A failure is a ToolError whose code is the kind of `Failed`.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        self._waiting[number] = _Waiting(answer, report, ask or _decline, show_page)
        try:
            await self.send(make(number))
            return await answer
        except asyncio.CancelledError:
            self._run_in_background(self.send(Cancel(id=number)))
            raise
        finally:
            del self._waiting[number]

    async def send(self, command: HostCommand, descriptors: Sequence[int] = ()) -> None:
        """Send a command that has no answer. Nothing happens if the host has ended."""
        data = memoryview(json.encode(command) + b"\n")
        loop = asyncio.get_running_loop()
        async with self._sending:
            try:
                while descriptors:
                    try:
                        data = data[socket.send_fds(self._link, [data], descriptors) :]
                        break
                    except BlockingIOError:
                        await asyncio.sleep(0.002)
                await loop.sock_sendall(self._link, data)
            except OSError as error:
                LOG.warning("mcp", f"the MCP host process takes no commands: {error}")
                self._fail_all()

    async def close(self) -> None:
        """End the host, and with it every connection to a server."""
        self._link.shutdown(socket.SHUT_RDWR)
        for task in (self._reader, *self._tasks):
            task.cancel()
        self._fail_all()
        await asyncio.wait((self._reader, *self._tasks))
        self._link.close()
        deadline = monotonic() + CLOSE_WITHIN_S
        while not self._reaped():
            if monotonic() > deadline:
                os.kill(self._pid, signal.SIGKILL)
            await asyncio.sleep(0.005)
        os.close(self._stderr)

    def _reaped(self) -> bool:
        try:
            pid, _ = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            return True
        return bool(pid)

    async def _read(self) -> None:
        loop, rest = asyncio.get_running_loop(), bytearray()
        try:
            while data := await loop.sock_recv(self._link, READ_BYTES):
                searched = len(rest)
                rest += data
                while (end := rest.find(b"\n", searched)) >= 0:
                    line, searched = bytes(rest[:end]), 0
                    del rest[: end + 1]
                    self._handle_report(line)
        except OSError as error:
            LOG.warning("mcp", f"the MCP host process cannot be heard: {error}")
        finally:
            self._fail_all()
        LOG.error("mcp", f"the MCP host process ended: {os.pread(self._stderr, MAX_STDERR_BYTES, 0).decode()}")

    def _handle_report(self, line: bytes) -> None:
        try:
            report = self._decoder.decode(line)
        except DecodeError as error:
            LOG.error("mcp", f"the MCP host process sent something else than a report: {error}")
            return
        match report:
            case Succeeded(id=number, value=value):
                if (waiting := self._waiting.get(number)) and not waiting.answer.done():
                    waiting.answer.set_result(value)
            case Failed(id=number):
                if (waiting := self._waiting.get(number)) and not waiting.answer.done():
                    waiting.answer.set_exception(_error(report))
            case Progressed(id=number, text=text):
                if waiting := self._waiting.get(number):
                    waiting.report(text)
            case ServerQuestion(id=number):
                waiting = self._waiting.get(number)
                self._run_in_background(self._answer_question(report, waiting.ask if waiting else _decline))
            case OpenPage(id=number):
                if waiting := self._waiting.get(number):
                    waiting.show_page(report)
            case StartServer():
                self._run_in_background(self._events.start(report))
            case StopServer():
                self._events.stop(report)
            case RunHelper():
                self._run_in_background(self._events.run_helper(report))
            case OffersChanged():
                self._events.changed(report)
            case _:
                LOG.write(report.level, "mcp", f"{report.server}: {report.text}")

    async def _answer_question(self, question: ServerQuestion, ask: AnswerQuestion) -> None:
        await self.send(await ask(question))

    def _run_in_background(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(log_failure("mcp"))

    def _fail_all(self) -> None:
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(
                    ToolError(f"The process that talks to MCP servers has ended. {MAY_HAVE_RUN}", code="cut")
                )


async def _decline(question: ServerQuestion) -> QuestionAnswered:
    return QuestionAnswered(question=question.question, action="decline")


def _error(failed: Failed) -> ToolError:
    message = f"{failed.message} {MAY_HAVE_RUN}" if failed.may_have_run else failed.message
    return ToolError(message, code=failed.kind)
