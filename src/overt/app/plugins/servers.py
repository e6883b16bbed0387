"""The MCP servers that plugins bring, as entries of the configuration."""

import os
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from overt.app.plugins.enabled_plugin import EnabledPlugin
from overt.config.mcp_servers import fill_own_variables
from overt.config.paths import Environment
from overt.config.reading.server_keys import read_name, read_server
from overt.config.server_sources import ServerOfPlugin
from overt.core.errors import ConfigError, OvertError
from overt.core.settings import ServerEntry
from overt.extensions.plugins.lock import PluginServer


def add_servers(
    plugin: EnabledPlugin, servers: Mapping[str, PluginServer], environment: Environment, *, network: bool
) -> EnabledPlugin:
    """Return a plugin with its servers, and with what is wrong with those that are left out."""
    entries: list[ServerOfPlugin] = []
    mistakes: list[str] = []
    variables = plugin_variables(plugin.root, plugin.data)
    for name, server in servers.items():
        try:
            entry = read_plugin_server(plugin.name, name, server, warn=mistakes.append)
            entry = replace(entry, network=network, of_project=plugin.scope == "project")
            if server.portable:
                entries.append(ServerOfPlugin(entry=_fill_portable(entry, server, plugin)))
            else:
                entry = replace(entry, environment={**entry.environment, **variables})
                entries.append(fill_own_variables(ServerOfPlugin(entry=entry, variables=variables), environment))
        except OvertError as error:
            mistakes.append(f"{error.message}; this server is not used")
    return replace(plugin, servers=tuple(entries), mistakes=tuple(mistakes))


def plugin_variables(root: str, data: str) -> dict[str, str]:
    """Return the variables by which the programs of a plugin find its files and their own."""
    return {"CLAUDE_PLUGIN_ROOT": root, "CLAUDE_PLUGIN_DATA": data, "PLUGIN_ROOT": root, "PLUGIN_DATA": data}


def read_plugin_server(plugin: str, name: str, server: PluginServer, *, warn: Callable[[str], None]) -> ServerEntry:
    """Read one server. Nothing is filled in. ConfigError if it cannot be used."""
    origin = f"plugin {plugin}"
    table = {key: value for key, value in server.table.items() if key != "cwd"}
    if server.portable and "command" in table:
        table["command"] = [table["command"]]  # one word, whatever it holds

    def place(*keys: str) -> str:
        return ".".join((f"{origin}: {name}", *keys))

    full_name = read_name(f"plugin_{plugin}_{name}", place=origin, warn=warn)
    entry = read_server(full_name, table, place=place, warn=warn, claude=True)
    if not (entry.command or entry.url):
        raise ConfigError(f"{place()}: the MCP server needs a `command` or a `url`")
    folder = server.table.get("cwd")
    return replace(entry, origin=origin, folder=folder if isinstance(folder, str) else "")


def _fill_portable(entry: ServerEntry, server: PluginServer, plugin: EnabledPlugin) -> ServerEntry:
    """Fill in the two variables of Agent Plugins, once and nothing else."""
    if entry.kind != "stdio":
        return entry
    from overt.extensions.plugins.portable import DATA, ROOT, working_folder  # late: 3 ms

    def fill(text: str) -> str:
        return plugin.root.join(part.replace(DATA, plugin.data) for part in text.split(ROOT))

    program, *words = entry.command
    if program.startswith("./"):
        program = os.path.join(plugin.root, program[2:])
    folder = working_folder(entry.folder, plugin.root, plugin.data) if entry.folder else plugin.root
    own = {name: fill(text) for name, text in entry.environment.items()}
    variables = own | plugin_variables(plugin.root, plugin.data)
    return replace(entry, command=(program, *map(fill, words)), environment=variables, folder=folder)
