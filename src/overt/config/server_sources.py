"""Where MCP servers are configured, and what was read from there. Cheap to import: every session begins with it."""

import os

from msgspec import Struct

from overt.config.paths import Environment
from overt.core.settings import ServerEntry
from overt.lib.paths import slug

MCP_FILE = ".mcp.json"


class ServerFlags(Struct, frozen=True, kw_only=True):
    """`configs` are the values of `--mcp-config`, files or JSON. With `strict`, only these are used."""

    configs: tuple[str, ...] = ()
    strict: bool = False


class ServerOfPlugin(Struct, frozen=True, kw_only=True):
    """A server that a plugin brings. `variables` are filled in besides those of the environment; None: none are."""

    entry: ServerEntry
    variables: dict[str, str] | None = None

    @property
    def is_complete(self) -> bool:
        """True if the entry does not depend on the session or on other files."""
        return self.variables is None and not (self.entry.of_project and user_only_keys(self.entry))


class Servers(Struct, frozen=True, kw_only=True):
    """The servers with their variables filled in, those that are disabled included.

    `mistakes` are those of the files, each with its place. `problems` says by name why a server was disabled although
    its entry does not say so. `expanded_values` came from variables of the environment.
    """

    entries: tuple[ServerEntry, ...] = ()
    mistakes: tuple[str, ...] = ()
    problems: dict[str, str] = {}
    expanded_values: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Everything that the user should know of, for the notices of a session."""
        disabled = (
            f"{entry.origin}: the MCP server `{entry.name}` is disabled: {self.problems[entry.name]}"
            for entry in self.entries
            if entry.name in self.problems
        )
        return (*self.mistakes, *disabled)


def user_only_keys(entry: ServerEntry) -> dict[str, str]:
    """Return what an entry sets that counts only in files of the user, with its values."""
    keys = {"read_only": "true"} if entry.read_only else {}
    return {**keys, "elicitation": entry.elicitation} if entry.elicitation != "ask" else keys


def local_servers_file(environment: Environment, project: str) -> str:
    """The private file with the servers that the user added for one project."""
    return os.path.join(environment.data_dir, "projects", slug(os.path.realpath(project)), "mcp.json")
