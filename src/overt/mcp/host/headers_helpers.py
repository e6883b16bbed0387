"""Headers that a command of the user prints. Overt runs it in the sandbox; the host only asks for its output."""

import asyncio
from itertools import count

from msgspec import DecodeError, json

from overt.core.settings import ServerEntry
from overt.mcp.host.failures import CommandFailed
from overt.mcp.host.link import OvertLink
from overt.mcp.messages import HelperFinished, RunHelper

ANSWER_LIMIT_S = 20.0
"""Overt has a shorter limit for the command itself and reports when that has passed."""


class HeadersHelpers:
    def __init__(self, link: OvertLink) -> None:
        self._link = link
        self._numbers = count(1)
        self._running: dict[int, asyncio.Future[HelperFinished]] = {}

    async def request_headers(self, server: ServerEntry) -> dict[str, str]:
        """Return the headers for requests to a server: the configured ones, and those that its helper prints."""
        return server.headers | (await self._run(server) if server.headers_helper else {})

    def receive_finished(self, finished: HelperFinished) -> None:
        if (waiting := self._running.get(finished.run)) and not waiting.done():
            waiting.set_result(finished)

    async def _run(self, server: ServerEntry) -> dict[str, str]:
        """Return the headers that the helper prints. Its output may hold secrets and is never quoted."""
        number = next(self._numbers)
        answer: asyncio.Future[HelperFinished] = asyncio.get_running_loop().create_future()
        self._running[number] = answer
        self._link.send(RunHelper(run=number, server=server.name))
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                finished = await answer
        except TimeoutError:
            raise CommandFailed("start", f"{server.name}: `headers_helper` was not run in time") from None
        finally:
            del self._running[number]
        if finished.problem:
            raise CommandFailed("start", f"{server.name}: `headers_helper` {finished.problem}")
        try:
            return json.decode(finished.output, type=dict[str, str])
        except DecodeError:
            text = f"{server.name}: `headers_helper` must print a JSON object of header names and values"
            raise CommandFailed("start", text) from None
