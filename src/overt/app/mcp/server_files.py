"""Add MCP servers to configuration files and remove them: `overt mcp add` and `overt mcp remove`."""

import os
import re
from collections.abc import Callable

from msgspec import json

from overt.app.mcp.servers import Scope, configured_servers
from overt.app.setting import Setting
from overt.app.setup.config_file import (
    ConfigChange,
    FileEdit,
    plan_edit,
    plan_server_removal,
    read_text_if_present,
    write,
)
from overt.config.describe_files import server_target
from overt.config.mcp_servers import KEY, change_local_servers, parse_server
from overt.config.server_sources import MCP_FILE
from overt.config.trust import check_trust, trust_own_change
from overt.core.codec import decode, encode
from overt.core.errors import ConfigError, UsageError
from overt.core.settings import ServerEntry
from overt.lib.paths import display_path
from overt.lib.translations import say

Table = dict[str, object]
USUAL_INDENT = 2
PROJECT_FILE_MODE = 0o644


def check_server(setting: Setting, scope: Scope, name: str, table: Table) -> tuple[ServerEntry, str]:
    """Read a server in Claude Code's schema. Return it, and its exact command or address in one harmless line.

    Raise an error if it has a mistake, or if the scope has a server of this name already.
    """
    entry = parse_server(name, table)
    if scope in _writable_scopes(setting, name):
        raise UsageError(say("mcp.exists", name=name, scope=scope))
    return entry, server_target(entry)


def add_server(setting: Setting, scope: Scope, name: str, table: Table) -> str:
    """Write a server, given in Claude Code's schema, to the file of a scope. Return the name of the file."""
    entry, _ = check_server(setting, scope, name, table)

    def add(servers: Table) -> None:
        servers[name] = table

    if scope == "user":
        edit = plan_edit(setting.environment, ConfigChange(server=_own_table(entry)))
        write(edit)
        return edit.name
    if scope == "project":
        _change_project_file(setting, add)
        return MCP_FILE
    path = change_local_servers(setting.environment, setting.roots.project, add)
    return display_path(path, home=setting.environment.home)


def remove_server(setting: Setting, name: str, scope: Scope | None) -> str:
    """Remove a server from the file of a scope, or from the only one that has it. Return the name of the file."""
    scopes = _writable_scopes(setting, name)
    if scope is None and len(scopes) > 1:
        raise UsageError(say("mcp.several", name=name, scopes=", ".join(scopes)))
    chosen = scope or next(iter(scopes), "local")
    if chosen not in scopes:
        origins = [entry.origin for _, entry in configured_servers(setting) if entry.name == name]
        raise UsageError(
            say("mcp.elsewhere", name=name, origin=origins[0]) if origins else say("mcp.unknown", name=name)
        )

    def remove(servers: Table) -> None:
        for written in [each for each in servers if each.replace(" ", "_") == name]:
            del servers[written]

    if chosen == "user":
        edit = plan_server_removal(setting.environment, name)
        if edit is None:
            raise UsageError(say("mcp.elsewhere", name=name, origin=scopes[chosen]))
        write(edit)
        return edit.name
    if chosen == "project":
        _change_project_file(setting, remove)
    else:
        change_local_servers(setting.environment, setting.roots.project, remove)
    return scopes[chosen]


def _writable_scopes(setting: Setting, name: str) -> dict[Scope, str]:
    """Return the scopes whose file can be changed here and has this server, each with the place of the server."""
    return {
        scope: entry.origin
        for scope, entry in configured_servers(setting)
        if entry.name == name and (scope != "project" or entry.origin == MCP_FILE)
    }


def _own_table(entry: ServerEntry) -> Table:
    """Return a server as `[mcp.NAME]` says it, with its name."""
    table: Table = decode(encode(entry))
    kind = table.pop("kind", "stdio")
    return {"name": entry.name, **({"type": kind} if kind == "sse" else {}), **table}


def _change_project_file(setting: Setting, change: Callable[[Table], None]) -> None:
    """Change the servers of `.mcp.json` and keep the rest of it. A folder that was trusted stays so."""
    environment, project = setting.environment, setting.roots.project
    before = check_trust(environment, project)
    path = os.path.realpath(os.path.join(project, MCP_FILE))
    old = read_text_if_present(path, MCP_FILE)
    try:
        tree = decode((old or "{}").encode())
    except ValueError:
        raise ConfigError(say("mcp.not_json", name=MCP_FILE)) from None
    if not isinstance(tree, dict) or not isinstance(tree.get(KEY, {}), dict):
        raise ConfigError(say("mcp.not_json", name=MCP_FILE))
    flat = KEY not in tree and any(isinstance(item, dict) for item in tree.values())
    change(tree if flat else tree.setdefault(KEY, {}))
    indent = re.match(r"\{\r?\n( +)", old or "")
    text = json.format(encode(tree), indent=len(indent[1]) if indent else USUAL_INDENT).decode() + "\n"
    write(FileEdit(path=path, name=MCP_FILE, old=old, new=text, new_mode=PROJECT_FILE_MODE))
    trust_own_change(environment, before, MCP_FILE)
