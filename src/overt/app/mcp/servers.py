"""The MCP servers of a session, and the rows of `overt mcp list`."""

import os
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.app.plugins.enabled import enabled_plugins
from overt.app.setting import Setting
from overt.config.server_sources import MCP_FILE, Servers, local_servers_file
from overt.config.trust import check_trust
from overt.core.errors import ConfigError
from overt.core.settings import ServerEntry
from overt.lib.redaction.secret_values import secret_values
from overt.lib.translations import say
from overt.lib.web_url import host_of
from overt.providers.transport.address import is_loopback

Scope = Literal["local", "project", "user", "plugin"]


class ServerRow(Struct, frozen=True, kw_only=True):
    """A server as `overt mcp` shows it: without the values of variables and headers.

    `target` is the exact command or address. `used` says whether sessions use it, and `reason` why not.
    """

    name: str
    kind: str
    target: str
    scope: Scope
    origin: str
    enabled: bool
    used: bool
    reason: str
    network: bool
    timeout_ms: int
    environment: tuple[str, ...]
    headers: tuple[str, ...]


def load_servers(setting: Setting) -> Servers:
    """Collect the MCP servers that this session may use. Servers of a folder that is not trusted are left out.

    `.mcp.json` is read here, later than the setting: it may have changed since, so trust is looked up once more, and
    the bytes that are parsed must be the trusted ones.
    """
    environment, project = setting.environment, setting.roots.project
    has_file = os.path.lexists(os.path.join(project, MCP_FILE))
    has_local = os.path.lexists(local_servers_file(environment, project))
    plugins = enabled_plugins(setting)
    of_plugins = tuple(server for plugin in plugins.plugins for server in plugin.servers)
    flags = setting.server_flags
    has_others = bool(setting.config.mcp_servers or flags.configs or flags.strict or has_file or has_local)
    if not has_others and all(server.is_complete for server in of_plugins):
        by_name = {server.entry.name: server.entry for server in of_plugins}
        return Servers(entries=tuple(by_name.values()), mistakes=plugins.warnings)
    from overt.config.mcp_servers import load_servers as load  # late: 2 ms

    trusted, trusted_hash = setting.trust.has(project), ""
    if trusted and has_file:
        state = check_trust(environment, project)
        trusted = state.stands and state.answer is not None and state.answer.trusted
        trusted_hash = state.now.files.get(MCP_FILE, "")
    servers = load(
        environment,
        setting.config,
        project=project,
        trusted=trusted,
        flags=flags,
        plugins=of_plugins,
        trusted_hash=trusted_hash,
    )
    return replace(servers, mistakes=(*servers.mistakes, *plugins.warnings))


def configured_servers(setting: Setting) -> list[tuple[Scope, ServerEntry]]:
    """Return the servers of all files, weakest first, as they are written; those that are not trusted included."""
    from overt.config.mcp_servers import local_servers, project_servers  # late: 2 ms

    environment, project = setting.environment, setting.roots.project
    found: list[tuple[Scope, ServerEntry]] = [
        ("user", entry) for entry in setting.config.mcp_servers if not entry.of_project
    ]
    plugins = enabled_plugins(setting).plugins
    found = [*(("plugin", each.entry) for plugin in plugins for each in plugin.servers), *found]
    found += [("local", entry) for entry in local_servers(environment, project).entries]
    found += [("project", entry) for entry in project_servers(project).entries]
    found += [("project", entry) for entry in _own_project_servers(setting)]
    return [(scope, entry) for scope, entry in found if entry.command or entry.url]


def _own_project_servers(setting: Setting) -> list[ServerEntry]:
    """Return the servers of `overt.toml` and its like; if the folder is not trusted, they are not in the setting."""
    project = setting.roots.project
    if setting.trust.has(project):
        return [entry for entry in setting.config.mcp_servers if entry.of_project]
    from overt.config.project_files import CONFIGURATION  # late: 0.1 ms
    from overt.config.reading.files import read_settings  # late: 2 ms

    found: list[ServerEntry] = []
    for name in CONFIGURATION:
        path = os.path.join(project, name)
        if os.path.isfile(path):
            try:
                settings, _ = read_settings(path, name)
            except ConfigError:
                continue
            found += [each.value for each in settings if isinstance(each.value, ServerEntry)]
    return found


def server_rows(setting: Setting) -> tuple[ServerRow, ...]:
    """Describe every configured server, and whether sessions use it."""
    servers = load_servers(setting)
    used = {entry.name: entry for entry in servers.entries}
    return tuple(_row(scope, entry, used, servers, setting) for scope, entry in configured_servers(setting))


def _row(
    scope: Scope, entry: ServerEntry, used: dict[str, ServerEntry], servers: Servers, setting: Setting
) -> ServerRow:
    from overt.config.describe_files import server_target  # late: 3 ms

    current = used.get(entry.name)
    is_current = current is not None and current.origin == entry.origin
    enabled = entry.enabled if current is None or not is_current else current.enabled
    if scope == "project" and not setting.trust.has(setting.roots.project):
        reason = say("mcp.not_trusted")
    elif current is None:
        reason = say("mcp.left_out")
    elif not is_current:
        reason = say("mcp.replaced", origin=current.origin)
    elif not enabled:
        reason = servers.problems.get(entry.name) or say("mcp.disabled")
    else:
        reason = ""
    return ServerRow(
        name=entry.name,
        kind=entry.kind,
        target=server_target(entry),
        scope=scope,
        origin=entry.origin,
        enabled=enabled,
        used=not reason,
        reason=reason,
        network=entry.network or entry.kind != "stdio",
        timeout_ms=entry.timeout_ms,
        environment=tuple(entry.environment),
        headers=tuple(entry.headers),
    )


def server_secrets(servers: Servers) -> tuple[str, ...]:
    """Return the values of variables and headers of servers that must never be shown.

    A variable that an entry names counts as a secret whatever it is called, unless it is a word or a path: hiding the
    folder of the project would make every result useless.
    """
    secrets = [
        secret
        for value in servers.expanded_values
        for secret in secret_values({"SECRET": value})
        if not os.path.lexists(secret)
    ]
    for entry in servers.entries:
        headers = {name: value.rpartition(" ")[2] for name, value in entry.headers.items()}  # without `Bearer`
        secrets += [*secret_values(entry.environment), *secret_values(headers), entry.oauth.client_secret]
        secrets += [value for name, value in headers.items() if name.lower() == "authorization"]
    return tuple(dict.fromkeys(filter(None, secrets)))


def on_this_machine(entries: Sequence[ServerEntry]) -> tuple[ServerEntry, ...]:
    """Return the servers that no request has to leave this machine for."""
    return tuple(entry for entry in entries if not entry.url or is_loopback(host_of(entry.url)))
