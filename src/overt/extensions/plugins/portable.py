"""The rules of Agent Plugins 1.0.0 (agent-plugins.org) for `plugin.json` and `mcp.json`."""

import os
import re
from collections.abc import Mapping
from typing import TypeGuard

from overt.core.errors import OvertError

SCHEMAS = "https://agent-plugins.org/schemas/1.0.0/"
MCP_FILE = "mcp.json"
TEXT_FIELDS = ("version", "description", "homepage", "repository", "license")
FIELDS = {"$schema", "name", *TEXT_FIELDS, "author", "keywords", "extensions"}
AUTHOR = {"name", "email", "url"}
NAME = re.compile(r"(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?")
ROOT, DATA = "${PLUGIN_ROOT}", "${PLUGIN_DATA}"
STDIO = {"type", "command", "args", "env", "cwd"}
REMOTE = {"type", "url", "headers"}
ADDRESS = re.compile(r"(?i:(https?))://(\[[0-9a-fA-F:.]+\]|[^/?#@:\[\]\s]+)(?::\d{1,5})?(?:[/?][^#\s]*)?")
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def check_manifest(manifest: Mapping[str, object]) -> list[str]:
    """Return the fields that are ignored, each as a problem. OvertError if the package must be rejected."""
    schema, name = manifest.get("$schema"), manifest.get("name")
    if schema != f"{SCHEMAS}plugin.schema.json":
        given = f"is {schema!r}" if schema else "is missing"
        raise OvertError(f"plugin.json: `$schema` {given}; this version knows {SCHEMAS}plugin.schema.json")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise OvertError(f"plugin.json: `name` must be 1 to 64 of a-z, 0-9, `-` and `.`, got {name!r}")
    for field in TEXT_FIELDS:
        if not isinstance(manifest.get(field, ""), str):
            raise OvertError(f"plugin.json: `{field}` must be a text")
    author, keywords = manifest.get("author", {}), manifest.get("keywords", [])
    if not _is_table_of_texts(author) or not set(author) <= AUTHOR:
        raise OvertError("plugin.json: `author` must be an object with the texts `name`, `email` and `url`")
    if not isinstance(keywords, list) or not all(isinstance(word, str) for word in keywords):
        raise OvertError("plugin.json: `keywords` must be a list of texts")
    problems = [f"plugin.json: unknown field `{field}` is ignored" for field in manifest if field not in FIELDS]
    if not isinstance(manifest.get("extensions", {}), dict):
        problems.append("plugin.json: `extensions` must be an object, so it is ignored")
    return problems


def portable_servers(tree: Mapping[str, object], root: str) -> tuple[dict[str, dict[str, object]], list[str]]:
    """Return the valid servers of `mcp.json`, and why others are left out. OvertError if none may be used."""
    if tree.get("$schema") != f"{SCHEMAS}mcp.schema.json":
        raise OvertError(f"mcp.json: `$schema` must be {SCHEMAS}mcp.schema.json; none of its servers is used")
    servers = tree.get("mcpServers")
    if not isinstance(servers, dict) or set(tree) != {"$schema", "mcpServers"}:
        raise OvertError("mcp.json: must hold `$schema`, an object `mcpServers` and nothing else; no server is used")
    valid: dict[str, dict[str, object]] = {}
    problems: list[str] = []
    for name, item in servers.items():
        try:
            if not isinstance(item, dict):
                raise OvertError("must be an object")
            _check_server(item, root)
            valid[name] = item
        except OvertError as error:
            problems.append(f"mcp.json: the server `{name}` is left out: {error.message}")
    return valid, problems


def _check_server(item: Mapping[str, object], root: str) -> None:
    kind = item.get("type")
    if kind not in ("stdio", "streamable-http", "sse"):
        raise OvertError("`type` must be stdio, streamable-http or sse")
    known = STDIO if kind == "stdio" else REMOTE
    if unknown := sorted(set(item) - known):
        raise OvertError(f"unknown field `{unknown[0]}`")
    if kind == "stdio":
        _check_program(item, root)
    else:
        _check_address(item)


def _check_program(item: Mapping[str, object], root: str) -> None:
    command, words, variables, folder = item.get("command"), item.get("args", []), item.get("env", {}), item.get("cwd")
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise OvertError("`command` must be the name of a program or a path that begins with ./")
    if command.startswith("./"):
        resolve_inside(command, root, "command")
    elif "/" in command or command.split() != [command]:
        raise OvertError("`command` must be one word: the name of a program, or a path that begins with ./")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise OvertError("`args` must be a list of texts")
    if not _is_table_of_texts(variables):
        raise OvertError("`env` must be an object of texts")
    if reserved := {"PLUGIN_ROOT", "PLUGIN_DATA"} & set(variables):
        raise OvertError(f"`env` must not set {min(reserved)}")
    if folder is not None:
        if not isinstance(folder, str):
            raise OvertError("`cwd` must be a text")
        working_folder(folder, root, "/plugin-data")


def working_folder(folder: str, root: str, data: str) -> str:
    """Return the folder that `cwd` means. OvertError if it leads out of the plugin and of its data."""
    start, _, rest = folder.partition("/")
    if start in (".", ROOT):
        return resolve_inside(rest, root, "cwd") if folder not in (".", "") else _bad_folder()
    return resolve_inside(rest, data, "cwd") if start == DATA else _bad_folder()


def _bad_folder() -> str:
    raise OvertError(f"`cwd` must begin with ./, {ROOT} or {DATA}")


def resolve_inside(path: str, root: str, field: str) -> str:
    base = os.path.realpath(root)
    real = os.path.realpath(os.path.join(base, path))
    if real != base and not real.startswith(f"{base}/"):
        raise OvertError(f"`{field}` leads out of the plugin")
    return real


def _check_address(item: Mapping[str, object]) -> None:
    url, headers = item.get("url"), item.get("headers", {})
    if not isinstance(url, str):
        raise OvertError("`url` must be a text")
    match = ADDRESS.fullmatch(url)
    if match is None or not url.isprintable():
        raise OvertError("`url` must be an http or https address without user name, password or fragment")
    if match[1].lower() == "http" and not is_loopback(match[2]):
        raise OvertError("`url` must begin with https://, except on this machine")
    if not _is_table_of_texts(headers):
        raise OvertError("`headers` must be an object of texts")
    if len({name.lower() for name in headers}) < len(headers):
        raise OvertError("`headers` holds a name twice")
    if not all(HEADER_NAME.fullmatch(name) and HEADER_VALUE.fullmatch(headers[name]) for name in headers):
        raise OvertError("`headers` holds what no header can hold")


def is_loopback(host: str) -> bool:
    from ipaddress import ip_address  # late: 3 ms

    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_table_of_texts(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
