"""One MCP server outside of a session, for `overt mcp inspect` and `overt mcp login`."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from overt.app.mcp.servers import server_rows, server_secrets
from overt.app.setting import Setting
from overt.app.workspace_services import WorkspaceServices
from overt.core.errors import OvertError, ToolError
from overt.lib.redaction.redact import Redactor
from overt.lib.translations import say
from overt.mcp.manifest import Manifest
from overt.mcp.servers import McpServers

T = TypeVar("T")


async def inspect_server(setting: Setting, name: str) -> Manifest:
    """Start or connect to a server and return what it offers now."""
    return await _use_server(setting, name, lambda servers: servers.reconnect(name))


async def log_in(setting: Setting, name: str, show_page: Callable[[str], None]) -> str:
    """Log in to a remote server at a page that is shown. Return the address of the authorization server."""
    logged_in = await _use_server(setting, name, lambda servers: servers.log_in(name, lambda page: show_page(page.url)))
    return logged_in.issuer


async def _use_server(setting: Setting, name: str, use: Callable[[McpServers], Awaitable[T]]) -> T:
    shared = WorkspaceServices(setting)
    known = shared.known_servers
    entry = known.entries.get(name) if known else None
    if entry is None or not entry.enabled:
        reason = next((row.reason for row in server_rows(setting) if row.name == name), "")
        raise OvertError(say("mcp.not_used" if reason else "mcp.unknown", name=name, reason=reason))
    try:
        return await use(shared.servers())
    except ToolError as error:
        raise OvertError(Redactor(server_secrets(shared.configured_servers)).clean(error.message)) from error
    finally:
        await shared.release(shared)
