"""The keys of an MCP server, and how one is read from a file of ours, or of Claude Code or opencode."""

import re
from collections.abc import Callable
from typing import Any

from overt.config.reading.key_types import (
    OBJECT,
    STRING,
    KeyType,
    Unfit,
    choice,
    read_flag,
    read_text,
    read_value,
    text_type,
    whole_number,
)
from overt.config.rules import described, did_you_mean, nearest, printable
from overt.core.errors import ConfigError
from overt.core.settings import OAuthClient, ServerEntry

VARIABLE = re.compile(r"\$\{([A-Z_a-z][0-9A-Z_a-z]*)(?::-([^}]*))?\}|\{env:([A-Z_a-z][0-9A-Z_a-z]*)\}")
"""A variable of the environment in a value. The last form is opencode's."""
LONGEST_NAME = 64
LARGEST_TIMEOUT_MS = 24 * 3600 * 1000

KINDS = {
    **{"stdio": "stdio", "local": "stdio", "sse": "sse", "http": "http", "remote": "http"},
    **dict.fromkeys(("streamable-http", "streamable_http", "streamableHttp"), "http"),
}
NOT_SUPPORTED = ("ws", "websocket")


def read_words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(read_text(word) for word in value)


def read_command(value: object) -> str | tuple[str, ...]:
    words = read_text(value) if isinstance(value, str) else read_words(value)
    if not words or not (words if isinstance(words, str) else words[0]).strip():
        raise ValueError
    return words


def read_kind(value: object) -> str:
    if isinstance(value, str) and value in NOT_SUPPORTED:
        raise Unfit(f"is {value!r}, which Overt does not support; use 'http' if the server offers it")
    if not isinstance(value, str) or value not in KINDS:
        raise ValueError
    return KINDS[value]


def read_environment_table(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or any(not name or "=" in name or "\0" in name for name in value):
        raise ValueError
    return {name: read_text(text) for name, text in value.items()}


def read_header_table(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(is_header(name, read_text(text)) for name, text in value.items()):
        raise ValueError
    return dict(value)


def is_header(name: str, text: str) -> bool:
    return name.isascii() and name.isprintable() and not set(name) & set(" :") and name != "" and text.isprintable()


def is_address(text: str) -> bool:
    """True for an http address without a user name or password."""
    scheme, _, rest = text.partition("://")
    host = rest.partition("/")[0]
    usable = scheme.lower() in ("http", "https") and host and "@" not in host
    return bool(usable) and text.isprintable() and " " not in text


TABLE_OF_TEXTS = {**OBJECT, "additionalProperties": STRING}
FLAG = KeyType("true or false", read_flag, {"type": "boolean"})
SERVER: dict[str, KeyType] = {
    "command": KeyType(
        "a list of words, or a text that is split as a shell splits it",
        read_command,
        {"anyOf": [{**STRING, "minLength": 1}, {"type": "array", "items": STRING, "minItems": 1}]},
        secret=True,
    ),
    "args": KeyType("a list of texts", read_words, {"type": "array", "items": STRING}, secret=True),
    "environment": KeyType("a table of texts", read_environment_table, TABLE_OF_TEXTS, secret=True),
    "type": KeyType("one of 'stdio', 'http', 'sse'", read_kind, {"enum": [*KINDS]}),
    "url": text_type(
        "an address that begins with http:// or https:// and holds no password",
        lambda text: is_address(text) or VARIABLE.search(text) is not None,
        pattern=r"^\s*([Hh][Tt][Tt][Pp][Ss]?://[^@/]+(/|$))|\$\{|\{env:",
        secret=True,
    ),
    "headers": KeyType("a table of texts", read_header_table, TABLE_OF_TEXTS, secret=True),
    "headers_helper": KeyType("a command that prints headers as a JSON object", read_text, STRING, secret=True),
    "timeout_ms": whole_number("a whole number of milliseconds above 0", 1, LARGEST_TIMEOUT_MS),
    "enabled": FLAG,
    "network": FLAG,
    "read_only": FLAG,
    "elicitation": choice("ask", "defaults"),
    "oauth.client_id": KeyType("a text", read_text, STRING),
    "oauth.client_secret": text_type(
        "a variable such as '${CLIENT_SECRET}', never the secret itself",
        lambda text: VARIABLE.fullmatch(text) is not None and ":-" not in text,
        pattern=r"^\s*(\$\{[A-Za-z_][A-Za-z0-9_]*\}|\{env:[A-Za-z_][A-Za-z0-9_]*\})\s*$",
        secret=True,
    ),
    "oauth.metadata_url": text_type(
        "an address that begins with https://", lambda text: text.startswith("https://"), pattern="^\\s*https://"
    ),
    "oauth.callback_port": whole_number("a port, or 0 for any that is free", 0, 65535),
}
"""Keys of `[mcp.NAME]` in the order in which `overt config` shows them."""
SERVER_ALIASES = {
    "env": "environment",
    "timeout": "timeout_ms",
    "headersHelper": "headers_helper",
    "readOnly": "read_only",
}
OAUTH_ALIASES = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "clientMetadataUrl": "metadata_url",
    "callbackPort": "callback_port",
}
NOTES = frozenset({"description", "$schema"})
"""Keys that say nothing to the program."""

Place = Callable[..., str]
"""Returns the file and line of a key of the server, named by its path below the server's table."""


def read_name(written: object, *, place: str, warn: Callable[[str], None]) -> str:
    """Return the name of a server. A space, which no tool name can hold, becomes `_`."""
    name = written.replace(" ", "_") if isinstance(written, str) else ""
    plain = name.replace("_", "").replace("-", "").replace(".", "")
    if not (plain.isascii() and plain.isalnum() and len(name) <= LONGEST_NAME):
        raise ConfigError(
            f"{place}: an MCP server needs a name of at most {LONGEST_NAME} letters, digits, `_`, `-` and `.`, "
            f"got {described(written)}"
        )
    if name != written:
        warn(f"{place}: the MCP server {printable(str(written))!r} is called `{name}` here")
    return name


def read_server(
    name: str, table: dict[str, object], *, place: Place, warn: Callable[[str], None], claude: bool = False
) -> ServerEntry:
    """Read one server; its variables are not filled in yet. What is wrong with it is a ConfigError.

    In `claude`'s schema a `command` with `args` is the path of a program; elsewhere it is split as a shell would.
    """
    fields: dict[str, Any] = {}
    for written, value in table.items():
        key = SERVER_ALIASES.get(written, written)
        if key == "oauth":
            fields |= _read_oauth(value, place=place, warn=warn)
        elif key == "disabled":
            fields["enabled"] = not _read(FLAG, value, (written,), place)
        elif key in SERVER and "." not in key:
            if key in fields:
                raise ConfigError(f"{place(written)}: `{printable(written)}` is set twice; remove one of the two")
            fields[key] = _read(SERVER[key], value, (written,), place)
        elif key not in NOTES and key != "name":
            warn(_unknown(written, f"mcp.{name}", (*SERVER, *SERVER_ALIASES, "oauth", "disabled"), place(written)))
    return _make_entry(name, fields, place=place, claude=claude)


def _read(key_type: KeyType, value: object, path: tuple[str, ...], place: Place) -> Any:
    """Read a value. Its line is looked for only if it does not fit: that takes longer than reading all servers."""
    try:
        return key_type.read(value)
    except ValueError:
        return read_value(key_type, value, name=path[-1], place=place(*path))


def _make_entry(name: str, fields: dict[str, Any], *, place: Place, claude: bool) -> ServerEntry:
    kind = fields.pop("type", "http" if "url" in fields and "command" not in fields else "stdio")
    wanted, other = ("command", "url") if kind == "stdio" else ("url", "command")
    args = fields.pop("args", None)
    if not fields.keys() - {"enabled"} and fields and args is None:
        return ServerEntry(name=name, enabled=fields["enabled"])  # speaks of a server that another file describes
    if wanted not in fields:
        raise ConfigError(f"{place()}: the MCP server `{name}` needs a `{wanted}`" + _or_url(kind, fields))
    if other in fields:
        raise ConfigError(
            f"{place(other)}: the MCP server `{name}` has both a `command` and a `url`; remove one of them"
        )
    if kind == "stdio":
        fields["command"] = (*_split(fields["command"], whole=claude and bool(args), place=place), *(args or ()))
    oauth = {key.partition(".")[2]: fields.pop(key) for key in tuple(fields) if "." in key}
    if oauth:
        fields["oauth"] = OAuthClient(**oauth)
    return ServerEntry(name=name, kind=kind, **fields)


def _or_url(kind: str, fields: dict[str, Any]) -> str:
    return "" if kind != "stdio" or "url" in fields else " or a `url`"


def _split(command: str | tuple[str, ...], *, whole: bool, place: Place) -> tuple[str, ...]:
    if not isinstance(command, str):
        return command
    if whole or not set(command) & set(" \t\n\"'\\"):
        return (command,)
    import shlex  # late: 1 ms

    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise ConfigError(f"{place('command')}: `command` cannot be split into words: {error}; write a list") from None


def _read_oauth(value: object, *, place: Place, warn: Callable[[str], None]) -> dict[str, Any]:
    if value is False:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{place('oauth')}: `oauth` must be a table, got {described(value)}")
    fields: dict[str, Any] = {}
    for written, item in value.items():
        key = f"oauth.{OAUTH_ALIASES.get(written, written)}"
        if key in SERVER:
            fields[key] = _read(SERVER[key], item, ("oauth", written), place)
        else:
            known = (*(each.partition(".")[2] for each in SERVER if "." in each), *OAUTH_ALIASES)
            warn(_unknown(written, "oauth", known, place("oauth", written)))
    return fields


def _unknown(key: str, table: str, known: tuple[str, ...], place: str) -> str:
    return f"{place}: unknown key `{printable(key)}` in [{table}]{did_you_mean(nearest(key, known))}"
