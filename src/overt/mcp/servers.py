"""The MCP servers of a workspace: what each offers, how it is doing, and calls to it.

One host process talks to all of them. It is started with the first command to a server, and a server is started or
connected to with the first command that names it. Until then, what it offers is read from the cache.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Literal, TypeVar

from msgspec import Raw, Struct

from overt.core.codec import encode
from overt.core.errors import OvertError, ToolError
from overt.core.protocols import ServerChild
from overt.core.settings import ServerEntry
from overt.lib.logs.background import log_failure
from overt.lib.logs.log import LOG
from overt.mcp.error_output import watch_program
from overt.mcp.headers_helper import HELPER_LIMIT_S, MAX_HELPER_BYTES, refuse_helper
from overt.mcp.host_process import AnswerQuestion, HostEvents, HostProcess, Report, ShowPage, log_page
from overt.mcp.manifest import Manifest, ServerTool
from overt.mcp.manifest_cache import KnownServers
from overt.mcp.messages import (
    CallTool,
    Configure,
    Disconnect,
    GetPrompt,
    HelperFinished,
    HostCommand,
    ListEverything,
    LoggedIn,
    Login,
    OffersChanged,
    PromptText,
    ReadResource,
    ResourceContents,
    RunHelper,
    ServerExited,
    ServerStarted,
    StartServer,
    StopServer,
    ToolOutput,
    Value,
)

LIST_WITHIN_S = 30.0
RETRY_FAILED_AFTER_S = 30.0
"""A server that failed is not asked again for what it offers before this has passed."""
ERROR_LINES = 20
KEPT_FROM_WRITING = (
    "It was kept from writing to the workspace, because no call to it was allowed yet. If it has to, start it with "
    "/mcp reconnect {name} or `overt mcp inspect {name}`."
)

V = TypeVar("V", bound=Value)


StartServerProgram = Callable[[ServerEntry, bool], Awaitable[ServerChild]]
"""Starts the program of a server in the sandbox; with True it may write to the workspace."""


class HostSettings(Struct, frozen=True, kw_only=True):
    """What the host process is told when it starts, besides the servers."""

    roots: tuple[str, ...]
    token_folder: str
    version: str
    interactive: bool
    environment: Mapping[str, str]
    browser: str = ""


class ServerState(Struct, frozen=True, kw_only=True):
    """How a server is doing. Without a `manifest` nothing is known of what it offers."""

    entry: ServerEntry
    phase: Literal["off", "not started", "starting", "connected", "failed", "needs login"]
    manifest: Manifest | None = None
    problem: str = ""
    error_lines: tuple[str, ...] = ()


class _Record:
    """What is known of one server while the program runs."""

    def __init__(self, entry: ServerEntry) -> None:
        self.entry = entry
        self.loading: asyncio.Task[Manifest] | None = None
        self.connected = False
        self.may_write = False
        """A program that was only asked what it offers is kept from writing: nobody has approved a call yet."""
        self.failure: ToolError | None = None
        self.failed_at = 0.0
        self.error_lines: deque[str] = deque(maxlen=ERROR_LINES)


class McpServers:
    """The servers of one workspace, shared by all its sessions and agents in this process.

    `start` starts the program of a stdio server in the sandbox. `run_helper` runs there the command that prints headers
    for a remote server and returns its output; a failure is a ToolError whose text follows the name of the command and
    does not quote the output. `count_tokens` counts the tokens of a manifest's tools.
    """

    def __init__(
        self,
        known: KnownServers,
        *,
        settings: Callable[[], HostSettings],
        start: StartServerProgram,
        count_tokens: Callable[[ServerEntry, Manifest], int],
        run_helper: Callable[[ServerEntry], Awaitable[str]] = refuse_helper,
    ) -> None:
        self._known = known
        self._records = {name: _Record(entry) for name, entry in known.entries.items()}
        self._settings = settings
        self._start = start
        self._run_helper = run_helper
        self._count_tokens = count_tokens
        self._host: HostProcess | None = None
        self._opening = asyncio.Lock()
        self._programs: dict[int, ServerChild] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def list_states(self) -> tuple[ServerState, ...]:
        return tuple(self._state(name) for name in self._records)

    def _state(self, server: str) -> ServerState:
        record = self._records[server]
        failed = "needs login" if record.failure and record.failure.code == "login" else "failed"
        return ServerState(
            entry=record.entry,
            phase="off"
            if not record.entry.enabled
            else failed  # type: ignore[arg-type]
            if record.failure
            else "connected"
            if record.connected
            else "starting"
            if record.loading
            else "not started",
            manifest=self._known.manifest(server) if record.entry.enabled else None,
            problem=record.failure.message if record.failure else "",
            error_lines=tuple(record.error_lines) if record.failure else (),
        )

    # ── what a server offers ─────────────────────────────────────────────────────────────────────────────

    async def load_manifest(self, server: str) -> Manifest:
        """Return what a server offers; it is asked unless that is known. A failure is repeated for a while."""
        if (manifest := self._known.manifest(server)) is not None:
            return manifest
        record = self._records[server]
        if record.failure and monotonic() - record.failed_at < RETRY_FAILED_AFTER_S:
            raise record.failure
        return await self.refresh_manifest(server)

    async def refresh_manifest(self, server: str) -> Manifest:
        """Ask a server what it offers, and remember it. Several callers share one question."""
        record = self._records[server]
        if record.loading is None:
            record.loading = asyncio.get_running_loop().create_task(self._ask_for_manifest(record))
        return await asyncio.shield(record.loading)

    async def _ask_for_manifest(self, record: _Record) -> Manifest:
        name = record.entry.name
        try:
            async with asyncio.timeout(LIST_WITHIN_S):
                manifest = await self._ask(record, Manifest, lambda id: ListEverything(id=id, server=name))
        except TimeoutError:
            raise self._record_failure(
                record, ToolError(f"MCP server {name} did not say within {LIST_WITHIN_S:g} s what it offers.")
            ) from None
        except ToolError as error:
            if error.code != "start" or record.may_write:
                raise
            message = f"{error.message} {KEPT_FROM_WRITING.format(name=name)}"
            raise self._record_failure(record, ToolError(message, code="start")) from None
        finally:
            record.loading = None
        self._known.learn(name, manifest, self._count_tokens(record.entry, manifest))
        for problem in manifest.problems:
            LOG.warning("mcp", f"{name}: {problem}")
        return manifest

    # ── commands to a server ─────────────────────────────────────────────────────────────────────────────

    async def call_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, object],
        *,
        report: Report,
        ask: AnswerQuestion | None,
        show_page: ShowPage = log_page,
    ) -> ToolOutput:
        record, described = self._record(server), self._find_tool(server, tool)
        await self._let_write(record)
        repeatable = described is not None and (described.read_only is True or described.idempotent is True)

        def make(number: int) -> HostCommand:
            return CallTool(
                id=number,
                server=server,
                tool=tool,
                arguments=Raw(encode(arguments)),
                timeout_ms=record.entry.timeout_ms,
                repeatable=repeatable,
            )

        return await self._ask(record, ToolOutput, make, report=report, ask=ask, show_page=show_page)

    def may_write_files(self, server: str) -> bool:
        """True if a server may change files here: it is a program, and the user has not said that it only reads."""
        entry = self._known.entries[server]
        return entry.kind == "stdio" and not entry.read_only

    def _find_tool(self, server: str, tool: str) -> ServerTool | None:
        manifest = self._known.manifest(server) or Manifest()
        return next((each for each in manifest.tools if each.name == tool), None)

    async def _let_write(self, record: _Record) -> None:
        """Start the program of a server anew if it was kept from writing so far."""
        if record.may_write or record.entry.kind != "stdio":
            return
        record.may_write = True
        if record.loading is not None:
            await asyncio.wait([record.loading])
        if record.connected and self._host and not self._host.ended:
            await self._host.send(Disconnect(server=record.entry.name))

    async def get_prompt(self, server: str, prompt: str, arguments: dict[str, str]) -> PromptText:
        record = self._record(server)
        wait = record.entry.timeout_ms
        return await self._ask(
            record,
            PromptText,
            lambda id: GetPrompt(id=id, server=server, prompt=prompt, arguments=arguments, timeout_ms=wait),
        )

    async def read_resource(self, server: str, uri: str) -> ResourceContents:
        record = self._record(server)
        wait = record.entry.timeout_ms
        return await self._ask(
            record, ResourceContents, lambda id: ReadResource(id=id, server=server, uri=uri, timeout_ms=wait)
        )

    async def log_in(self, server: str, show_page: ShowPage) -> LoggedIn:
        record = self._record(server)
        return await self._ask(record, LoggedIn, lambda id: Login(id=id, server=server), show_page=show_page)

    async def reconnect(self, server: str) -> Manifest:
        """Close the connection, forget failures, and ask anew what the server offers."""
        record = self._record(server)
        record.failure, record.connected, record.may_write = None, False, True
        if self._host and not self._host.ended:
            await self._host.send(Disconnect(server=server))
        return await self.refresh_manifest(server)

    def _record(self, server: str) -> _Record:
        record = self._records.get(server)
        if record is None or not record.entry.enabled:
            known = ", ".join(entry.name for entry in self._known.enabled) or "none"
            raise ToolError(f"There is no MCP server called {server!r}. Servers: {known}.", code="missing")
        return record

    async def _ask(
        self,
        record: _Record,
        kind: type[V],
        make: Callable[[int], HostCommand],
        *,
        report: Report = lambda text: None,
        ask: AnswerQuestion | None = None,
        show_page: ShowPage = log_page,
    ) -> V:
        try:
            host = await self._running_host()
            value = await host.run_command(make, report=report, ask=ask, show_page=show_page)
        except ToolError as error:
            if error.code in ("start", "unreachable", "login", "protocol"):
                self._record_failure(record, error)
            raise
        assert isinstance(value, kind)
        first_use, record.connected, record.failure = not record.connected, True, None
        if first_use and kind is not Manifest:
            self._run_in_background(self._refresh_quietly(record.entry.name))  # the cache may be older than the server
        return value

    def _record_failure(self, record: _Record, error: ToolError) -> ToolError:
        record.failure, record.failed_at, record.connected = error, monotonic(), False
        lines = "".join(f"\n{line}" for line in record.error_lines)
        LOG.warning("mcp", f"{record.entry.name}: {error.message}{lines}")
        return error

    async def _refresh_quietly(self, server: str) -> None:
        try:
            await self.refresh_manifest(server)
        except OvertError as error:
            LOG.info("mcp", f"{server}: {error.message}")

    # ── the host process ─────────────────────────────────────────────────────────────────────────────────

    async def _running_host(self) -> HostProcess:
        async with self._opening:
            if self._host is not None and self._host.ended:
                await self._host.close()
                self._host = None
            if self._host is None:
                settings = self._settings()
                events = HostEvents(
                    start=self._start_program,
                    stop=self._stop_program,
                    run_helper=self._answer_helper,
                    changed=self._offers_changed,
                )
                self._host = HostProcess(settings.environment, events)
                await self._host.send(
                    Configure(
                        servers=self._known.enabled,
                        eras={entry.name: self._known.cache.era(entry) for entry in self._known.enabled},
                        roots=settings.roots,
                        token_folder=settings.token_folder,
                        version=settings.version,
                        interactive=settings.interactive,
                        browser=settings.browser,
                    )
                )
            return self._host

    def _offers_changed(self, report: OffersChanged) -> None:
        self._run_in_background(self._refresh_quietly(report.server))

    async def _start_program(self, report: StartServer) -> None:
        record, host = self._records[report.server], self._host
        assert host is not None
        record.error_lines.clear()
        try:
            program = await self._start(record.entry, record.may_write)
        except OvertError as error:
            await host.send(ServerStarted(start=report.start, problem=error.message))
            return
        self._programs[report.start] = program
        await host.send(ServerStarted(start=report.start), (program.stdin, program.stdout))
        program.close_pipes()
        self._run_in_background(self._watch_program(report.start, record, program, host))

    async def _watch_program(self, start: int, record: _Record, program: ServerChild, host: HostProcess) -> None:
        """Keep the last lines of a server's error output until it ends, and tell the host of its end."""

        def add_line(text: str) -> None:
            record.error_lines.append(text)
            LOG.info("mcp", f"{record.entry.name}: {text}")

        try:
            code = await watch_program(program, add_line)
        finally:
            self._programs.pop(start, None)
        last_line = record.error_lines[-1] if record.error_lines else ""
        await host.send(ServerExited(start=start, code=code, last_line=last_line))

    def _stop_program(self, report: StopServer) -> None:
        if program := self._programs.get(report.start):
            self._run_in_background(program.kill(grace=0.5))

    async def _answer_helper(self, report: RunHelper) -> None:
        host, output = self._host, ""
        assert host is not None
        try:
            async with asyncio.timeout(HELPER_LIMIT_S):
                output = await self._run_helper(self._records[report.server].entry)
            problem = f"printed more than {MAX_HELPER_BYTES >> 10} KB" if len(output) > MAX_HELPER_BYTES else ""
        except TimeoutError:
            problem = f"took more than {HELPER_LIMIT_S:g} s"
        except OvertError as error:
            problem = error.message
        await host.send(HelperFinished(run=report.run, output="" if problem else output, problem=problem))

    def _run_in_background(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(log_failure("mcp"))

    async def close(self) -> None:
        """End the host process, and with it the connections. The programs of servers end with their sandbox."""
        loading = [record.loading for record in self._records.values() if record.loading]
        tasks = [*self._tasks, *loading]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._host is not None:
            await self._host.close()
            self._host = None
