"""The command of a `headers_helper`, and what it may take and print."""

import re
import shlex

from overt.core.errors import ToolError
from overt.core.settings import ServerEntry

HELPER_LIMIT_S = 10.0
MAX_HELPER_BYTES = 64 * 1024
SHELL_SYNTAX = re.compile(r"[|&;<>()$`*?~#\n]")


def helper_command(server: ServerEntry) -> tuple[str, ...]:
    """Return the words of the command that prints headers; a shell reads it only where it needs one."""
    helper = server.headers_helper
    if SHELL_SYNTAX.search(helper):
        return ("/bin/sh", "-c", helper)
    try:
        return tuple(shlex.split(helper))
    except ValueError as error:
        raise ToolError(f"is not a command: {error}") from None


async def refuse_helper(server: ServerEntry) -> str:
    raise ToolError("cannot be run here: there is no way to run it")
