"""Entry point of the host process. Its standard input is the socket to Overt; it ends when that closes."""

import asyncio
import logging
import os
import socket

from overt.mcp.host.commands import HostCommands
from overt.mcp.host.link import OvertLink
from overt.mcp.messages import Configure

CLEAN_UP_S = 0.3


class _LogToOvert(logging.Handler):
    """Sends warnings of the SDK to Overt: without tracebacks, and none of the login, which could hold secrets."""

    def __init__(self, link: OvertLink) -> None:
        super().__init__(logging.WARNING)
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        if ".auth" not in record.name:
            self._link.log("", f"{record.name}: {record.getMessage()}")


async def serve(connection: socket.socket) -> None:
    """Run commands until Overt closes the socket. Clean up in bounded time then, whatever servers do."""
    link = OvertLink(connection)
    logging.getLogger().addHandler(_LogToOvert(link))
    writer = asyncio.create_task(link.write_reports())
    runner: HostCommands | None = None
    async for command in link.read_commands():
        if runner:
            runner.receive(command)
        elif isinstance(command, Configure):
            runner = HostCommands(link, command)
        if writer.done():
            break
    if runner:
        await asyncio.wait([asyncio.create_task(runner.close())], timeout=CLEAN_UP_S)
    os._exit(0)


def main() -> None:
    asyncio.run(serve(socket.socket(fileno=0)))
