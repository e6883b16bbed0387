"""The MCP servers of a session, and the rows of `overt mcp list`."""

import os
from typing import Literal

from overt.app.setting import Setting
from overt.config.server_sources import MCP_FILE, Servers, local_servers_file
from overt.lib.redaction.secret_values import secret_values

Scope = Literal["user", "local", "project", "flag"]
NONE = Servers()


def load_servers(setting: Setting) -> Servers:
    """Collect the MCP servers that this session may use. Servers of a folder that is not trusted are left out."""
    environment, project = setting.environment, setting.roots.project
    files = (os.path.join(project, MCP_FILE), local_servers_file(environment, project))
    if not (setting.config.mcp_servers or setting.server_flags.configs or any(map(os.path.lexists, files))):
        return NONE
    from overt.config.mcp_servers import load_servers  # late: 2 ms

    return load_servers(
        environment,
        setting.config,
        project=project,
        trusted=setting.trust.has(project),
        flags=setting.server_flags,
    )


def server_secrets(servers: Servers) -> tuple[str, ...]:
    """Return the values of variables and headers of servers that must never be shown."""
    secrets: list[str] = []
    for entry in servers.entries:
        headers = {name: value.rpartition(" ")[2] for name, value in entry.headers.items()}  # without `Bearer`
        secrets += [*secret_values(entry.environment), *secret_values(headers), entry.oauth.client_secret]
        secrets += [value for name, value in headers.items() if name.lower() == "authorization"]
    return tuple(filter(None, secrets))
