"""Runs the commands of Overt, each in a task of its own, and reports how it ended."""

import asyncio
import os
from collections.abc import Coroutine

import mcp_types as types
from mcp.shared.exceptions import MCPError
from msgspec import json
from pydantic import TypeAdapter

from overt.core.settings import ServerEntry
from overt.mcp.host.connection import UNLIMITED_S, Connection, complete_request
from overt.mcp.host.contents import prompt_text, resource_contents, tool_output
from overt.mcp.host.failures import CommandFailed, explain_failure
from overt.mcp.host.headers_helpers import HeadersHelpers
from overt.mcp.host.link import OvertLink
from overt.mcp.host.login import ServerLogin
from overt.mcp.host.manifest import read_manifest
from overt.mcp.host.questions import Questions
from overt.mcp.host.running_command import CURRENT, RunningCommand
from overt.mcp.host.server import HostServices, Server
from overt.mcp.host.stdio_processes import StdioProcesses
from overt.mcp.manifest import Manifest
from overt.mcp.messages import (
    CallTool,
    Cancel,
    Configure,
    Disconnect,
    Failed,
    GetPrompt,
    HelperFinished,
    HostCommand,
    ListEverything,
    Login,
    Progressed,
    PromptText,
    QuestionAnswered,
    ReadResource,
    ResourceContents,
    ServerExited,
    ServerStarted,
    Succeeded,
    ToolOutput,
    Value,
)

LIST_LIMIT_S = 60.0
ServerCommand = ListEverything | CallTool | GetPrompt | ReadResource | Login
_CALL_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_PROMPT_RESULT: TypeAdapter[types.GetPromptResult | types.InputRequiredResult] = TypeAdapter(
    types.GetPromptResult | types.InputRequiredResult
)
_RESOURCE_RESULT: TypeAdapter[types.ReadResourceResult | types.InputRequiredResult] = TypeAdapter(
    types.ReadResourceResult | types.InputRequiredResult
)


class HostCommands:
    def __init__(self, link: OvertLink, configuration: Configure) -> None:
        self._link = link
        self._processes = StdioProcesses(link)
        self._questions = Questions(link, roots=configuration.roots, interactive=configuration.interactive)
        self._helpers = HeadersHelpers(link)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        services = HostServices(link, self._processes, self._questions, self._helpers, configuration.version)
        self._servers = {
            it.name: Server(it, configuration.eras.get(it.name, ""), services, _login(it, link, configuration))
            for it in configuration.servers
        }

    def receive(self, command: HostCommand) -> None:
        match command:
            case ListEverything() | CallTool() | GetPrompt() | ReadResource() | Login():
                task = asyncio.create_task(self._run(command))
                self._tasks[command.id] = task
                task.add_done_callback(lambda _: self._tasks.pop(command.id, None))
            case Cancel(id=id):
                if running := self._tasks.get(id):
                    running.cancel()
            case ServerStarted():
                self._processes.receive_started(command, os.close)
            case ServerExited():
                self._processes.receive_exit(command)
            case QuestionAnswered():
                self._questions.receive_answer(command)
            case HelperFinished():
                self._helpers.receive_finished(command)
            case Disconnect(server=name):
                if server := self._servers.get(name):
                    self._start(server.disconnect())
            case Configure():
                self._link.log("", "The host is configured already.")

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*(server.disconnect() for server in self._servers.values()))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _run(self, command: ServerCommand) -> None:
        """Run one command. This is the one place where an unexpected exception becomes a failure of the command."""
        shows_pages = isinstance(command, CallTool) or (isinstance(command, ListEverything) and command.may_log_in)
        running = RunningCommand(id=command.id, server=command.server, may_log_in=shows_pages)
        CURRENT.set(running)
        try:
            self._link.send(Succeeded(id=command.id, value=await self._execute(command, running)))
        except CommandFailed as failure:
            self._report_failure(command, failure)
        except Exception as error:  # noqa: BLE001  the boundary of the process: no server may end it
            server = self._servers[command.server]
            self._report_failure(command, explain_failure(server.entry, error))

    def _report_failure(self, command: ServerCommand, failure: CommandFailed) -> None:
        may_have_run = failure.may_have_run and isinstance(command, CallTool)
        self._link.send(Failed(id=command.id, kind=failure.kind, message=failure.message, may_have_run=may_have_run))

    async def _execute(self, command: ServerCommand, running: RunningCommand) -> Value:
        server = self._servers.get(command.server)
        if server is None:
            raise CommandFailed("error", f"No MCP server is called {command.server!r}.")
        limit_s = LIST_LIMIT_S if isinstance(command, ListEverything | Login) else command.timeout_ms / 1000
        try:
            async with running.limited(limit_s):
                return await self._execute_in_time(server, command, running)
        except TimeoutError:
            text = f"{command.server}: the server {running.explain_timeout()}"
            raise CommandFailed("timeout", text, may_have_run=running.sent) from None

    async def _execute_in_time(
        self,
        server: Server,
        command: ServerCommand,
        running: RunningCommand,
    ) -> Value:
        match command:
            case ListEverything():
                return await server.run(running, _list_everything, repeatable=True, patient=True)
            case CallTool():
                return await server.run(
                    running, lambda it: self._call_tool(it, command, running), repeatable=command.repeatable
                )
            case GetPrompt():
                return await server.run(running, lambda it: _get_prompt(it, command), repeatable=True)
            case ReadResource():
                return await server.run(running, lambda it: _read_resource(it, command), repeatable=True)
            case Login():
                return await server.log_in(running)

    async def _call_tool(self, connection: Connection, command: CallTool, running: RunningCommand) -> ToolOutput:
        session = connection.session
        arguments = json.decode(command.arguments, type=dict[str, object])

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            running.restart_limit()
            share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
            self._link.send(Progressed(id=command.id, text=f"{share} {message}" if message else share))

        async def send(
            answers: types.InputResponses | None, state: str | None
        ) -> types.CallToolResult | types.InputRequiredResult:
            params = types.CallToolRequestParams(
                name=command.tool, arguments=arguments, input_responses=answers, request_state=state
            )
            # Not `session.call_tool`: it fails a call that has run if its result does not fit the output schema.
            request = types.CallToolRequest(params=params)
            try:
                return await session.send_request(request, _CALL_RESULT, UNLIMITED_S, progress_callback=on_progress)
            except MCPError as error:
                if error.code != types.HEADER_MISMATCH:
                    raise
            await read_manifest(session, connection.tap.take_problems)  # the session learns which headers are needed
            return await session.send_request(request, _CALL_RESULT, UNLIMITED_S, progress_callback=on_progress)

        return tool_output(await complete_request(session, send), running.all_notes())


def _login(entry: ServerEntry, link: OvertLink, configuration: Configure) -> ServerLogin:
    may_ask = configuration.interactive or bool(configuration.browser)
    return ServerLogin(entry, link, token_folder=configuration.token_folder, may_ask=may_ask)


async def _list_everything(connection: Connection) -> Manifest:
    return await read_manifest(connection.session, connection.tap.take_problems)


async def _get_prompt(connection: Connection, command: GetPrompt) -> PromptText:
    session = connection.session

    async def send(
        answers: types.InputResponses | None, state: str | None
    ) -> types.GetPromptResult | types.InputRequiredResult:
        params = types.GetPromptRequestParams(
            name=command.prompt, arguments=command.arguments, input_responses=answers, request_state=state
        )
        return await session.send_request(types.GetPromptRequest(params=params), _PROMPT_RESULT, UNLIMITED_S)

    return prompt_text(await complete_request(session, send))


async def _read_resource(connection: Connection, command: ReadResource) -> ResourceContents:
    session = connection.session

    async def send(
        answers: types.InputResponses | None, state: str | None
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        params = types.ReadResourceRequestParams(uri=command.uri, input_responses=answers, request_state=state)
        return await session.send_request(types.ReadResourceRequest(params=params), _RESOURCE_RESULT, UNLIMITED_S)

    return resource_contents(await complete_request(session, send))
