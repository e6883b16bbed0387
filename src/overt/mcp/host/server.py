"""One configured server: its connection, shared by all commands, and when it is made again."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from overt.core.settings import ServerEntry
from overt.mcp.host.connection import Connection, ProbeFailed
from overt.mcp.host.failures import CommandFailed, explain_failure, login_needed, was_sent
from overt.mcp.host.headers_helpers import HeadersHelpers
from overt.mcp.host.http_transport import has_own_authorization, open_http
from overt.mcp.host.link import OvertLink
from overt.mcp.host.login import ServerLogin
from overt.mcp.host.pipe_streams import open_pipes
from overt.mcp.host.questions import Questions
from overt.mcp.host.running_command import RunningCommand
from overt.mcp.host.stdio_processes import StdioProcess, StdioProcesses
from overt.mcp.manifest import Era
from overt.mcp.messages import LoggedIn, OffersChanged

MAX_CRASHES = 3
FAILURE_KEPT_S = 30.0
CHANGE_DELAY_S = 0.2

CONNECT_ERRORS = (
    MCPError,
    ValidationError,
    RuntimeError,
    OSError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OAuthFlowError,
    ProbeFailed,
)

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class HostServices:
    """What all servers share."""

    link: OvertLink
    processes: StdioProcesses
    questions: Questions
    helpers: HeadersHelpers
    client_version: str


class Server:
    """Connects when a command needs it. Commands may run at the same time and share the connection."""

    def __init__(self, entry: ServerEntry, era: Era, services: HostServices, login: ServerLogin) -> None:
        self.entry = entry
        self._era: Era = era
        self._services = services
        self._login = login
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[Connection] | None = None
        self._crashes = 0
        self._failure: tuple[float, CommandFailed] | None = None
        self._change: asyncio.TimerHandle | None = None

    async def run(
        self,
        command: RunningCommand,
        action: Callable[[Connection], Awaitable[Value]],
        *,
        repeatable: bool,
        patient: bool = False,
    ) -> Value:
        """Run an action on the connection, and once more if its connection was lost and a second time is safe.

        If `patient`, a server that could not be connected to a short while ago is not tried again.
        """
        if patient and self._failure and time.monotonic() - self._failure[0] < FAILURE_KEPT_S:
            raise self._failure[1]
        try:
            return await self._run_once(command, action)
        except CommandFailed as failure:
            if failure.kind != "cut" or (failure.may_have_run and not repeatable):
                raise
        command.sent = False
        return await self._run_once(command, action)

    async def log_in(self, command: RunningCommand) -> LoggedIn:
        """Let the user log in, although tokens may be stored. The next command connects with the new ones."""
        if self.entry.kind == "stdio":
            raise CommandFailed("login", f"{self.entry.name}: a server that runs here needs no login.")
        try:
            issuer = await self._login.log_in(await self._services.helpers.request_headers(self.entry), command)
        except CONNECT_ERRORS as error:
            raise explain_failure(self.entry, error) from None
        await self.disconnect()
        return LoggedIn(issuer=issuer)

    async def disconnect(self) -> None:
        """Close the connection and forget crashes and failures."""
        if self._connecting:
            self._connecting.cancel()
        if self._connection:
            await self._drop_connection(self._connection)
        self._crashes, self._failure = 0, None

    async def _run_once(self, command: RunningCommand, action: Callable[[Connection], Awaitable[Value]]) -> Value:
        connection = await self._connect(command)
        try:
            return await action(connection)
        except MCPError as error:
            if connection.http.session_lost:
                await self._drop_connection(connection)
                raise CommandFailed("cut", f"{self.entry.name}: the server has lost the session") from None
            if connection.http.unauthorized:
                await self._drop_connection(connection)
                raise login_needed(self.entry) from None
            if error.code == CONNECTION_CLOSED:
                raise await self._explain_loss(connection, command, error) from None
            failure = explain_failure(self.entry, error)
        except (ValidationError, RuntimeError) as error:
            failure = explain_failure(self.entry, error)
        if failure.kind == "protocol":  # the server has answered, only not in a way that can be read
            failure.may_have_run = command.sent
        raise failure

    async def _explain_loss(self, connection: Connection, command: RunningCommand, error: MCPError) -> CommandFailed:
        """Return why the connection was lost during a command, and whether the call may have run."""
        if connection.process:
            text = f"{self.entry.name}: the server ended during the call{await connection.process.exit_reason()}"
            return CommandFailed("cut", text, may_have_run=command.sent)
        cause = await connection.cause() if connection.ended.is_set() else None
        if cause is None:
            text = f"{self.entry.name}: the connection was lost: {error.message}"
            return CommandFailed("cut", text, may_have_run=True)
        failure = explain_failure(self.entry, cause)
        if failure.kind == "unreachable" and was_sent(cause):
            return CommandFailed("cut", failure.message, may_have_run=command.sent)
        return failure

    async def _connect(self, command: RunningCommand) -> Connection:
        if self._connection and not self._connection.ended.is_set():
            return self._connection
        if self._connecting is None:
            self._login.command = command
            self._connecting = asyncio.create_task(self._open_connection())
            self._connecting.add_done_callback(self._finish_connecting)
        connecting = self._connecting
        try:
            # A cancelled command does not take the connection away from others that wait for it.
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            if not connecting.cancelled():
                raise
            raise CommandFailed(
                "start", f"{self.entry.name}: the connection was closed while it was being made"
            ) from None

    def _finish_connecting(self, task: asyncio.Task[Connection]) -> None:
        self._connecting = None
        error = None if task.cancelled() else task.exception()
        self._failure = (time.monotonic(), error) if isinstance(error, CommandFailed) else None

    async def _open_connection(self) -> Connection:
        if self._connection:
            await self._drop_connection(self._connection)
        connection = await (self._open_stdio() if self.entry.kind == "stdio" else self._open_http())
        self._era = "modern" if connection.session.discover_result else "legacy"
        self._connection = connection
        return connection

    async def _open_http(self) -> Connection:
        headers = await self._services.helpers.request_headers(self.entry)
        connection = self._new_connection(None)
        login = None if has_own_authorization(headers) else self._login
        try:
            await connection.open(open_http(self.entry, headers, login, connection.http), self._era)
        except CONNECT_ERRORS as error:
            failure = explain_failure(self.entry, error)
            raise (
                login_needed(self.entry) if connection.http.unauthorized and failure.kind != "login" else failure
            ) from None
        return connection

    async def _open_stdio(self) -> Connection:
        if self._crashes > MAX_CRASHES:
            raise CommandFailed(
                "start",
                f"{self.entry.name}: the server has ended {self._crashes} times and is not started again. "
                f"See why with `overt mcp inspect {self.entry.name}`, then start it again with "
                f"/mcp reconnect {self.entry.name}.",
            )
        if self._era != "legacy":
            try:
                return await self._start(self._era)
            except ProbeFailed:
                pass  # a server of the older era; some of them end or fall silent, so the process is not used again
        return await self._start("legacy")

    async def _start(self, era: Era) -> Connection:
        process = await self._services.processes.start(self.entry)
        connection = self._new_connection(process)
        pipes = open_pipes(
            process.descriptors,
            pending=connection.tap.pending,
            log=lambda text: self._services.link.log(self.entry.name, text),
        )
        try:
            await connection.open(pipes, era)
        except CONNECT_ERRORS as error:
            lost = isinstance(error, ProbeFailed) or (isinstance(error, MCPError) and error.code == CONNECTION_CLOSED)
            if era != "legacy" and lost:
                raise
            if not lost:
                raise explain_failure(self.entry, error) from None
            self._crashes += 1
            reason = await process.exit_reason()
            raise CommandFailed("start", f"{self.entry.name}: the server ended before it answered{reason}") from None
        finally:
            if connection.ended.is_set():
                self._services.processes.stop(process)
        return connection

    def _new_connection(self, process: StdioProcess | None) -> Connection:
        services = self._services
        return Connection(
            self.entry,
            services.questions,
            process,
            client_version=services.client_version,
            on_change=self._report_change,
        )

    async def _drop_connection(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None
            if connection.process and connection.ended.is_set():
                self._crashes += 1
        await connection.close()
        if connection.process:
            self._services.processes.stop(connection.process)

    def _report_change(self) -> None:
        """Report that the server offers other things; several changes at once are one."""
        if self._change is None:
            self._change = asyncio.get_running_loop().call_later(CHANGE_DELAY_S, self._send_change)

    def _send_change(self) -> None:
        self._change = None
        self._services.link.send(OffersChanged(server=self.entry.name))
