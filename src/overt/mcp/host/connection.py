"""One connection to a server: a task that holds the transport and the SDK's session open."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from typing import TypeVar

import anyio
import mcp_types as types
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from overt.core.settings import ServerEntry
from overt.mcp.host.failures import root_cause
from overt.mcp.host.http_transport import HttpStatus
from overt.mcp.host.message_tap import MessageTap, TappedReader, TappedWriter
from overt.mcp.host.questions import Questions
from overt.mcp.host.stdio_processes import StdioProcess
from overt.mcp.manifest import Era

PROBE_LIMIT_S = 2.0
REQUEST_LIMIT_S = 30.0
"""For the handshake and for lists. It does not run while the user logs in. Calls have limits of their own."""
UNLIMITED_S = 1e9
CLOSE_LIMIT_S = 1.0
MAX_INPUT_ROUNDS = 10
SUBSCRIPTION_ATTEMPTS = 3
SUBSCRIPTION_PAUSE_S = 5.0
CHANGED = (
    types.ToolListChangedNotification | types.PromptListChangedNotification | types.ResourceListChangedNotification
)

Result = TypeVar("Result", bound=BaseModel)


class ProbeFailed(Exception):
    """The server did not answer `server/discover` as a modern server does."""


class Connection:
    """`ended` is set when the connection is closed or lost."""

    def __init__(
        self,
        server: ServerEntry,
        questions: Questions,
        process: StdioProcess | None,
        *,
        client_version: str,
        on_change: Callable[[], None],
    ) -> None:
        self.server = server
        self.process = process
        self.http = HttpStatus()
        self.tap = MessageTap(on_end=self._end)
        self.ended = asyncio.Event()
        self._questions = questions
        self._client = types.Implementation(name="overt", version=client_version)
        self._on_change = on_change
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def session(self) -> ClientSession:
        assert self.tap.session is not None
        return self.tap.session

    async def open(self, transport: AbstractAsyncContextManager[TransportStreams], era: Era) -> None:
        """Connect and agree on a revision of the protocol. Raises what went wrong; the task has ended then."""
        ready = asyncio.get_running_loop().create_future()
        # Not in the context of the command that connects: later commands use the connection, too.
        self._task = asyncio.create_task(self._hold(transport, era, ready), context=Context())
        try:
            await asyncio.wait([ready, self._task], return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not ready.done():
                await self.close()
        if not ready.done():
            raise root_cause(await self.cause() or ProbeFailed("the connection was closed"))

    async def cause(self) -> BaseException | None:
        """Return the exception that ended the connection, or None if it was closed."""
        if self._task is None:
            return None
        await asyncio.wait([self._task], timeout=CLOSE_LIMIT_S)
        return self._task.exception() if self._task.done() and not self._task.cancelled() else None

    async def close(self) -> None:
        """Close the connection in bounded time."""
        self._stop.set()
        if self._task and not self._task.done():
            await asyncio.wait([self._task], timeout=CLOSE_LIMIT_S)
            self._task.cancel()
            await asyncio.wait([self._task], timeout=CLOSE_LIMIT_S)

    async def _hold(
        self, transport: AbstractAsyncContextManager[TransportStreams], era: Era, ready: asyncio.Future[None]
    ) -> None:
        try:
            async with transport as (read, write):
                session = ClientSession(
                    TappedReader(read, self.tap),
                    TappedWriter(write, self.tap),
                    elicitation_callback=self._elicit,
                    list_roots_callback=self._list_roots,
                    message_handler=self._receive_notification,
                    client_info=self._client,
                    read_timeout_seconds=REQUEST_LIMIT_S,
                )
                self.tap.session = session
                async with session, anyio.create_task_group() as group:
                    await self._negotiate(session, era)
                    ready.set_result(None)
                    if session.discover_result:
                        group.start_soon(self._subscribe, session)
                    await self._stop.wait()
                    group.cancel_scope.cancel()
        finally:
            self._end()

    async def _negotiate(self, session: ClientSession, era: Era) -> None:
        stdio = self.server.kind == "stdio"
        if era != "legacy" and self.server.kind != "sse":
            try:
                with anyio.fail_after(PROBE_LIMIT_S if stdio and not era else None):
                    await session.discover()
                return
            except (MCPError, ValidationError, RuntimeError, TimeoutError) as error:
                if stdio:
                    raise ProbeFailed(str(error)) from None
        await session.initialize()

    async def _subscribe(self, session: ClientSession) -> None:
        """Hold a subscription to changes open, with a few attempts. The changes themselves come as notifications."""
        offers = session.server_capabilities or types.ServerCapabilities()
        tools, prompts, resources = (
            bool(it and it.list_changed) for it in (offers.tools, offers.prompts, offers.resources)
        )
        if not (tools or prompts or resources):
            return
        for _ in range(SUBSCRIPTION_ATTEMPTS):
            try:
                async with listen(
                    session, tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
                ) as subscription:
                    async for _ in subscription:
                        pass
            except SubscriptionLost:
                self._on_change()
            except MCPError:
                return
            await asyncio.sleep(SUBSCRIPTION_PAUSE_S)

    def _end(self) -> None:
        self._stop.set()
        self.ended.set()

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        return await self._questions.elicit(self.server, self.tap.latest_command(), params)

    async def _list_roots(self, context: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        return self._questions.list_roots()

    async def _receive_notification(self, message: IncomingMessage) -> None:
        if isinstance(message, CHANGED):
            self._on_change()


async def complete_request(
    session: ClientSession,
    send: Callable[[types.InputResponses | None, str | None], Awaitable[Result | types.InputRequiredResult]],
) -> Result:
    """Send a request until it has its result: each time that the server asks for input, answer and send it again."""
    result = await send(None, None)
    for _ in range(MAX_INPUT_ROUNDS):
        if not isinstance(result, types.InputRequiredResult):
            return result
        answers: types.InputResponses | None = None
        if result.input_requests:
            answers = {}
            for key, request in result.input_requests.items():
                context = ClientRequestContext(session=session, request_id=key)
                answer = await session.dispatch_input_request(context, request)
                if isinstance(answer, types.ErrorData):
                    raise MCPError.from_error_data(answer)
                answers[key] = answer
        else:
            await asyncio.sleep(0.1)
        result = await send(answers, result.request_state)
    raise MCPError(code=types.INVALID_REQUEST, message=f"It asked for input more than {MAX_INPUT_ROUNDS} times.")
