"""What the files of a project would bring about, in short lines for the person who is asked to trust it.

The files may be anybody's: they are parsed, never obeyed; values of variables and headers are not shown.
"""

import os
import shlex
from collections.abc import Iterable, Iterator
from textwrap import wrap

from overt.config.mcp_servers import project_servers
from overt.config.origin import setting_rows
from overt.config.project_files import CLAUDE_SETTINGS, CONFIGURATION
from overt.config.reading.files import read_settings
from overt.config.reading.hook_tables import read_hook_tables
from overt.config.reading.server_keys import VARIABLE
from overt.config.schema import SettingValue
from overt.config.server_sources import MCP_FILE, user_only_keys
from overt.config.trust import assignments
from overt.core.errors import ConfigError
from overt.core.settings import HookTable, ServerEntry
from overt.lib import jsonc
from overt.lib.read_file import read_regular
from overt.lib.redaction.redact import Redactor
from overt.lib.redaction.secret_values import says_secret
from overt.lib.text import cut_line, exact

LARGEST = 256 * 1024
MOST_LINES = 12
WIDEST = 100
MOST_SERVERS = MOST_HOOKS = 20
LONGEST_COMMAND = 2000


def describe_file(project: str, name: str) -> tuple[str, ...]:
    path = os.path.join(project, name)
    if name in CONFIGURATION:
        return _settings(path, name)
    if name == MCP_FILE:
        servers = project_servers(project)
        return (*_server_lines(servers.entries), *_bounded(iter(servers.warnings)))
    if name == ".env":
        return _bounded(iter([", ".join(dict.fromkeys(variable for variable, _ in assignments(path)))]))
    if name in CLAUDE_SETTINGS:
        return _claude_settings(path)
    if name.endswith((".json", ".jsonc")):
        return _bounded(_programs(path))
    if "/commands/" in name and name.endswith(".md"):
        return _bounded(_command_lines(path))
    return ()


def _command_lines(path: str) -> Iterator[str]:
    """Return the lines of a Markdown command that allow tools or run programs."""
    try:
        data, _ = read_regular(path, LARGEST)
    except OSError as error:
        yield f"cannot be read: {error.strerror}"
        return
    for line in data.decode("utf-8", "replace").splitlines():
        if "!`" in line or line.startswith("allowed-tools:"):
            yield line.strip()


def server_target(entry: ServerEntry) -> str:
    """Return the exact command of a server, quoted as for a shell, or its address. Variables are not filled in.

    It is one line that cannot drive a terminal; a known form of a secret in it is hidden.
    """
    return _harmless(entry.shown or (shlex.join(entry.command) if entry.kind == "stdio" else entry.url))


def _harmless(text: str) -> str:
    return Redactor().clean(exact(text).replace("\n", "\\n").replace("\t", "\\t"))


def _describe_server(entry: ServerEntry) -> str:
    parts = [server_target(entry)]
    if entry.headers:
        parts.append(f"headers: {', '.join(map(_harmless, entry.headers))}")
    if entry.headers_helper:
        parts.append(f"headers from: {_harmless(entry.headers_helper)}")
    if entry.environment:
        parts.append(f"sets {', '.join(map(_harmless, entry.environment))}")
    if keys := user_only_keys(entry):
        parts.append(f"sets {', '.join(f'{key} = {keys[key]}' for key in keys)}, which a project cannot: ignored")
    return " · ".join(parts)


def _server_lines(entries: Iterable[ServerEntry]) -> Iterator[str]:
    """What would run is never shortened as other lines are: the end of a command may be the part that matters."""
    listed = [entry for entry in entries if entry.command or entry.url]
    for entry in listed[:MOST_SERVERS]:
        network = " (with the network)" if entry.network and entry.kind == "stdio" else ""
        yield from _whole(f"MCP server {entry.name}{network}: {_describe_server(entry)}")
        if variables := _variables(entry):
            named = ", ".join(variables)
            # A line of its own: a long command cannot push it out of sight.
            remote = f"  sends the variables {named} to {server_target(entry)}"
            yield from _whole(f"  gives it the variables {named}" if entry.kind == "stdio" else remote)
    if more := listed[MOST_SERVERS:]:
        yield f"… {len(more)} more MCP servers; read the file before you trust it"
        if named := ", ".join(dict.fromkeys(name for entry in more for name in _variables(entry))):
            yield from _whole(f"  they get the variables {named}")


def _variables(entry: ServerEntry) -> list[str]:
    """Return the variables of the environment that an entry uses, those that sound like secrets first."""
    tables = (*entry.environment.values(), *entry.headers.values())
    texts = (*entry.command, *tables, entry.url, entry.headers_helper, entry.oauth.client_id, entry.oauth.client_secret)
    names = {match[1] or match[3] for text in texts for match in VARIABLE.finditer(text)}
    return sorted(names, key=lambda name: (not says_secret(name), name))


def _whole(line: str) -> list[str]:
    """Wrap a line. Only an excessive one is cut, and says so."""
    text = cut_line(line, LONGEST_COMMAND)
    return wrap(text, WIDEST, subsequent_indent="  ", break_on_hyphens=False, drop_whitespace=False)


def _settings(path: str, name: str) -> tuple[str, ...]:
    try:
        settings, warnings = read_settings(path, name)
    except ConfigError as error:
        return _bounded(iter([error.message]))
    servers = [setting.value for setting in settings if isinstance(setting.value, ServerEntry)]
    hooks = [table for setting in settings if setting.key == "hooks" for table in setting.value]
    others = [each for each in settings if each.key != "hooks" and not isinstance(each.value, ServerEntry)]
    return (*_server_lines(servers), *_hook_lines(hooks), *_bounded(_setting_lines(others, warnings)))


def _claude_settings(path: str) -> tuple[str, ...]:
    """Describe the hooks of Claude Code's settings, all that Overt takes from them."""
    try:
        data, _ = read_regular(path, LARGEST)
        tree = jsonc.parse(data.decode()).value
    except OSError as error:
        return (f"cannot be read: {error.strerror}",)
    except ValueError:
        return ("is not valid JSON",)
    events = tree.get("hooks") if isinstance(tree, dict) else None
    return tuple(_hook_lines(read_hook_tables(events, lambda _: ""))) if isinstance(events, dict) else ()


def _hook_lines(tables: Iterable[HookTable]) -> Iterator[str]:
    """Every command in full, because it would run."""
    lines = [
        f"hook {_harmless(table.event)}: {_harmless(command.partition(': ')[2])}"
        for table in tables
        for command in _commands(jsonc.parse(table.text).value, ("",))
    ]
    for line in lines[:MOST_HOOKS]:
        yield from _whole(line)
    if len(lines) > MOST_HOOKS:
        yield f"… {len(lines) - MOST_HOOKS} more hooks; read the file before you trust it"


def _setting_lines(settings: Iterable[SettingValue], warnings: Iterable[str]) -> Iterator[str]:
    grouped: dict[str, list[str]] = {}
    for setting in settings:
        if not (setting.key.startswith("providers.") and setting.key.endswith(".name")):
            for row in setting_rows(setting):
                grouped.setdefault(row.key, []).append(_text(row.value))
    for key, values in grouped.items():
        yield f"{key} = {', '.join(values)}"
    yield from warnings


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _programs(path: str) -> Iterator[str]:
    """Servers and hooks by the names around them: whatever would be run or called."""
    try:
        data, _ = read_regular(path, LARGEST)
        if len(data) > LARGEST:
            yield "is too large to be shown"
            return
        tree = jsonc.parse(data.decode()).value
    except OSError as error:
        yield f"cannot be read: {error.strerror}"
        return
    except ValueError:
        yield "is not valid JSON"
        return
    yield from _commands(tree, ())


def _commands(value: object, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _commands(item, path)
    if not isinstance(value, dict):
        return
    if called := value.get("command") or value.get("url"):
        words = called if isinstance(called, list) else [called, *_list(value.get("args"))]
        yield f"{'.'.join(path)}: {' '.join(map(str, words))}"
        return
    for key, item in value.items():
        yield from _commands(item, path if key == "hooks" and path else (*path, key))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _bounded(lines: Iterator[str]) -> tuple[str, ...]:
    """One line stays one line, and a flood of them does not hide the question."""
    redactor = Redactor()
    found = [redactor.clean(" ".join(line.split())) for line in lines if line]
    short = [line if len(line) <= WIDEST else line[: WIDEST - 1] + "…" for line in found[:MOST_LINES]]
    more = len(found) - MOST_LINES
    return (*short, f"… {more} more") if more > 0 else tuple(short)
