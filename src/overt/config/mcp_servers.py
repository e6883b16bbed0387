"""The MCP servers of a session: collected from every file and flag that names some, the later one winning."""

import os
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from overt.config._private_json import read as read_private
from overt.config._private_json import update as update_private
from overt.config.paths import Environment
from overt.config.project_files import hash_content
from overt.config.reading.server_keys import VARIABLE, is_address, is_header, read_name, read_server
from overt.config.schema import Config
from overt.config.server_sources import (
    MCP_FILE,
    ServerFlags,
    ServerOfPlugin,
    Servers,
    local_servers_file,
    user_only_keys,
)
from overt.core.codec import decode, encode
from overt.core.errors import ConfigError
from overt.core.settings import OAuthClient, ServerEntry
from overt.lib.paths import display_path
from overt.lib.read_file import read_regular

KEY = "mcpServers"
LARGEST_FILE = 1024 * 1024
FLAG = "--mcp-config"


def load_servers(  # noqa: PLR0913 - each comes from another place
    environment: Environment,
    config: Config,
    *,
    project: str,
    trusted: bool,
    flags: ServerFlags,
    plugins: Iterable[ServerOfPlugin] = (),
    trusted_hash: str | None = None,
) -> Servers:
    """Collect the servers. Only a file of `--mcp-config` that cannot be read is a ConfigError.

    With a `trusted_hash`, `.mcp.json` is used only if the bytes that are parsed have it.
    """
    collected = _Collection()
    if not flags.strict:
        for server in plugins:
            collected.add(server.entry)
            collected.of_plugins[server.entry.name] = server
        collected.add_all(entry for entry in config.mcp_servers if not entry.of_project)
        collected.add_local(local_servers_file(environment, project), environment.home)
        if trusted and config.recipe.foreign and not config.recipe.strict:
            collected.add_project_file(project, trusted_hash)
        collected.add_all(entry for entry in config.mcp_servers if entry.of_project)
    for text in flags.configs:
        collected.add_flag(text, environment.cwd)
    return collected.expanded(environment)


def project_servers(project: str) -> Servers:
    """Read what `.mcp.json` says, trusted or not; variables are not filled in, and nothing is started."""
    collected = _Collection()
    collected.add_project_file(project)
    return Servers(entries=tuple(collected.entries.values()), mistakes=tuple(collected.mistakes))


def local_servers(environment: Environment, project: str) -> Servers:
    """Read the private file of a project; variables are not filled in."""
    collected = _Collection()
    collected.add_local(local_servers_file(environment, project), environment.home)
    return Servers(entries=tuple(collected.entries.values()), mistakes=tuple(collected.mistakes))


def change_local_servers(environment: Environment, project: str, change: Callable[[dict[str, object]], None]) -> str:
    """Let `change` edit the table of servers in the private file of a project. Return the path of the file."""

    def edit(tree: dict[str, object] | None) -> dict[str, object]:
        servers = (tree or {}).get(KEY)
        table: dict[str, object] = dict(servers) if isinstance(servers, dict) else {}
        change(table)
        return {**(tree or {}), KEY: table}

    path = local_servers_file(environment, project)
    update_private(path, lambda content: content if isinstance(content, dict) else None, edit)
    return path


def parse_server(name: str, table: dict[str, object]) -> ServerEntry:
    """Check a server that the user enters, in Claude Code's schema. Raise a ConfigError also for an unknown key."""

    def refuse(text: str) -> None:
        raise ConfigError(text)

    def place(*keys: str) -> str:
        return ".".join((name, *keys))

    entry = read_server(read_name(name, place="NAME", warn=refuse), table, place=place, warn=refuse, claude=True)
    if not entry.command and not entry.url:
        raise ConfigError(f"the MCP server `{name}` needs a `command` or a `url`")
    return entry


def fill_own_variables(server: ServerOfPlugin, environment: Environment) -> ServerOfPlugin:
    """Fill in the variables of a plugin's server, unless it uses others too: then the session fills in all of them."""
    variables = server.variables or {}
    if not {match[1] or match[3] for match in VARIABLE.finditer(encode(server.entry).decode())} <= variables.keys():
        return server
    try:
        entry = _expand(server.entry, replace(environment, variables=variables), {})
    except ConfigError:
        return server  # the session reports the error
    return ServerOfPlugin(entry=entry)


class _Collection:
    """Servers by name. The entry that is added last stands."""

    def __init__(self) -> None:
        self.entries: dict[str, ServerEntry] = {}
        self.of_plugins: dict[str, ServerOfPlugin] = {}
        self.mistakes: list[str] = []

    def add_all(self, entries: Iterable[ServerEntry]) -> None:
        for entry in entries:
            self.add(entry)

    def add(self, entry: ServerEntry) -> None:
        if entry.command or entry.url:
            self.entries[entry.name] = entry
        elif before := self.entries.get(entry.name):
            # It only switches a server on or off; a project cannot switch on what its user switched off.
            enabled = entry.enabled and (before.enabled or not entry.of_project)
            self.entries[entry.name] = replace(before, enabled=enabled)

    def add_local(self, path: str, home: str) -> None:
        content, reason = read_private(path)
        shown = display_path(path, home=home)
        if reason:
            self.mistakes.append(f"{shown}: {reason}, so none of its MCP servers is used")
        elif content is not None:
            self.add_tree(content, _Lines(shown))

    def add_project_file(self, project: str, trusted_hash: str | None = None) -> None:
        path = os.path.join(project, MCP_FILE)
        try:
            text = _read(path, MCP_FILE)
            if trusted_hash is not None and hash_content(path, text.encode()) != trusted_hash:
                self.mistakes.append(
                    f"{MCP_FILE}: changed after it was checked, so none of its MCP servers is used; start again"
                )
                return
            lines = _Lines(MCP_FILE, text)
            self.add_tree(lines.tree(), lines, of_project=True)
        except FileNotFoundError:
            return
        except ConfigError as error:
            self.mistakes.append(f"{error.message}; none of its MCP servers is used")

    def add_flag(self, text: str, cwd: str) -> None:
        if text.lstrip().startswith("{"):
            lines = _Lines(FLAG, text)
        else:
            try:
                lines = _Lines(text, _read(os.path.join(cwd, os.path.expanduser(text)), f"{FLAG}: {text}"))
            except FileNotFoundError:
                raise ConfigError(f"{FLAG}: {text} does not exist; name a file or write JSON") from None
        self.add_tree(lines.tree(), lines)

    def add_tree(self, tree: object, lines: "_Lines", *, of_project: bool = False) -> None:
        """Add what a file in Claude Code's schema says. A server with a mistake is left out, with a warning."""
        table = tree.get(KEY, tree) if isinstance(tree, dict) else None
        if not isinstance(table, dict):
            self.mistakes.append(f"{lines.place()}: must be an object with `{KEY}`; none of its MCP servers is used")
            return
        path = (KEY,) if isinstance(tree, dict) and KEY in tree else ()
        if repeated := lines.repeated_key((KEY, *table)):
            self.mistakes.append(f"{repeated}; the last one is used")
        for written, item in table.items():
            if not path and not isinstance(item, dict):
                continue  # a flat file may have other keys too

            def place(*keys: str, start: tuple[str, ...] = (*path, written)) -> str:
                return lines.place(*start, *keys)

            try:
                if not isinstance(item, dict):
                    raise ConfigError(f"{place()}: an MCP server must be an object")
                name = read_name(written, place=lines.shown, warn=self.mistakes.append)
                entry = read_server(name, item, place=place, warn=self.mistakes.append, claude=True)
                self.add(replace(entry, origin=lines.shown, of_project=of_project))
            except ConfigError as error:
                self.mistakes.append(f"{error.message}; this server is not used")

    def restricted(self, entry: ServerEntry) -> ServerEntry:
        """Take from a server of the project what only the user can say of it, with a warning."""
        keys = user_only_keys(entry) if entry.of_project else {}
        if keys:
            named = " and ".join(f"`{key}`" for key in keys)
            self.mistakes.append(
                f"{entry.origin}: {named} of the MCP server `{entry.name}` ignored; only your own files can set "
                + ("them" if len(keys) > 1 else "it")
            )
        return replace(entry, read_only=False, elicitation="ask") if keys else entry

    def expanded(self, environment: Environment) -> Servers:
        entries: list[ServerEntry] = []
        problems: dict[str, str] = {}
        values: dict[str, None] = {}
        for entry in map(self.restricted, self.entries.values()):
            try:
                entries.append(self._expand(entry, environment, values) if entry.enabled else entry)
            except ConfigError as error:
                problems[entry.name] = error.message
                entries.append(replace(entry, enabled=False))
        return Servers(
            entries=tuple(entries), mistakes=tuple(self.mistakes), problems=problems, expanded_values=tuple(values)
        )

    def _expand(self, entry: ServerEntry, environment: Environment, values: dict[str, None]) -> ServerEntry:
        server = self.of_plugins.get(entry.name)
        if server is None or server.entry.origin != entry.origin:
            return _expand(entry, environment, values)
        if server.variables is None:
            return entry
        variables = {**environment.variables, **server.variables}
        return _expand(entry, replace(environment, variables=variables), values)


class _Lines:
    """A JSON text, and the line of each of its keys: found only when a message needs one."""

    def __init__(self, shown: str, text: str = "") -> None:
        self.shown = shown
        self.text = text

    def tree(self) -> object:
        try:
            return decode(self.text.removeprefix("\ufeff").encode())
        except (ValueError, RecursionError):
            from overt.lib.jsonc import Malformed, parse  # late: 2 ms

            try:
                return parse(self.text).value
            except Malformed as error:
                what = "".join(character if character.isprintable() else "?" for character in error.what)
                raise ConfigError(f"{self.shown}:{error.line}: {what}") from None

    def repeated_key(self, keys: Iterable[str]) -> str:
        """Say which key the text has twice if it may be one of these, or return an empty string.

        Looking closely takes milliseconds, so it is done only for a text in which one of them occurs twice, or in
        which one may be written with escapes.
        """
        if "\\u" not in self.text and all(self.text.count(f'"{key}"') < 2 for key in keys):
            return ""
        from overt.lib.jsonc import Malformed, RepeatedKey, parse  # late: 2 ms

        try:
            parse(self.text)
        except RepeatedKey as error:
            return f"{self.shown}:{error.line}: {error.what}"
        except Malformed:
            pass  # the fast parser accepts it: too deep a nesting, for example
        return ""

    def place(self, *path: str) -> str:
        from overt.lib.jsonc import Malformed, parse  # late: 2 ms

        try:
            lines = parse(self.text).lines
        except Malformed:
            return self.shown  # it is valid JSON with a key that occurs twice, or no text at all
        keys: tuple[str | int, ...] = path
        while keys and keys not in lines:
            keys = keys[:-1]
        return f"{self.shown}:{lines.get(keys, 1)}"


def _read(path: str, shown: str) -> str:
    try:
        data, _ = read_regular(path, LARGEST_FILE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"{shown}: cannot be read: {error.strerror}") from None
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"{shown}: is larger than 1 MB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{shown}: is not valid UTF-8") from None


# ── variables ────────────────────────────────────────────────────────────────────────────────────────────


def _expand(entry: ServerEntry, environment: Environment, values: dict[str, None]) -> ServerEntry:
    """Fill in the variables; a ConfigError says what cannot be used. No value of a variable is in its message.

    Values that were taken from the environment are added to `values`.
    """

    def fill(text: str) -> str:
        return _fill(text, environment.variables, values) if "{" in text else text

    command = tuple(map(fill, entry.command))
    if command and command[0].startswith("~/"):
        command = (environment.home + command[0][1:], *command[1:])
    url = fill(entry.url)
    headers = {name: fill(text) for name, text in entry.headers.items()}
    if entry.kind == "stdio" and not command[0]:
        raise ConfigError("its command is empty")
    if entry.kind != "stdio" and not is_address(url):
        raise ConfigError("its `url` is not an http address once its variables are filled in")
    if not all(is_header(name, text) for name, text in headers.items()):
        raise ConfigError("a header holds a character that no header can hold once its variables are filled in")
    oauth = entry.oauth
    if oauth != OAuthClient():
        oauth = replace(oauth, client_id=fill(oauth.client_id), client_secret=fill(oauth.client_secret))
    return replace(
        entry,
        command=command,
        environment={name: fill(text) for name, text in entry.environment.items()},
        url=url,
        headers=headers,
        oauth=oauth,
        folder=fill(entry.folder),
        shown=_target(entry) if VARIABLE.search(" ".join((*entry.command, entry.url))) else "",
    )


def _target(entry: ServerEntry) -> str:
    import shlex  # late: 1 ms

    return shlex.join(entry.command) if entry.kind == "stdio" else entry.url


def _fill(text: str, variables: Mapping[str, str], values: dict[str, None]) -> str:
    filled, at = "", 0
    for match in VARIABLE.finditer(text):
        name, default = match[1] or match[3], match[2]
        value = variables.get(name)
        if value:
            values[value] = None
        if default is not None:
            value = value or default
        if value is None:
            raise ConfigError(f"the variable `{name}` is not set; set it, or write `${{{name}:-default}}`")
        filled += text[at : match.start()] + value
        at = match.end()
    return filled + text[at:]
