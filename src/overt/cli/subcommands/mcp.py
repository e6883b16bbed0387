"""`overt mcp`: the MCP servers that are configured, and changing them."""

import sys
from collections.abc import Iterator, Sequence

from overt.app.chat.browser import open_page
from overt.app.diagnostics.event_loop import run_async
from overt.app.mcp.describe_servers import manifest_lines
from overt.app.mcp.server_files import Table, add_server, check_server, remove_server
from overt.app.mcp.servers import Scope, ServerRow, load_servers, server_rows
from overt.app.mcp.single_server import inspect_server, log_in
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.output import print_lines, print_result, setting_of, table, warn
from overt.cli.parse import FOLDER, CommandLine, Flag, ParsedCommandLine, parse
from overt.core.codec import decode
from overt.core.errors import OvertError, UsageError
from overt.core.settings import ServerEntry
from overt.lib.translations import say

ABOUT = """MCP servers: programs and services that bring tools, prompts and resources.

  overt mcp                                          list them
  overt mcp add NAME -- COMMAND ARGS…                a program, which runs in the sandbox
  overt mcp add NAME https://…                       a server on the web; -H 'Authorization: Bearer ${TOKEN}'
  overt mcp add-json NAME '{"command": "npx", "args": ["-y", "some-server"]}'
  overt mcp get NAME | remove NAME
  overt mcp inspect NAME                             start it and list what it offers
  overt mcp login NAME                               log in to a server on the web

Scopes: local (for you, in this project; the default), project (.mcp.json, for everyone), user (all projects)."""

SCOPES: tuple[Scope, ...] = ("local", "project", "user")
KINDS = ("stdio", "http", "sse", "streamable-http")

COMMAND = CommandLine(
    name="overt mcp",
    about=ABOUT,
    words="[list | add NAME … | add-json NAME JSON | get NAME | remove NAME | inspect NAME | login NAME]",
    flags=(
        FOLDER,
        Flag("--json", "list, get, inspect: machine-readable"),
        Flag("-s, --scope SCOPE", "add, remove: " + ", ".join(SCOPES), SCOPES),
        Flag("-t, --transport KIND", "add: " + ", ".join(KINDS), KINDS),
        Flag("-e, --env NAME=VALUE", "add: a variable of the program", is_list=True, more=lambda word: "=" in word),
        Flag("-H, --header 'NAME: VALUE'", "add: a header of every request", is_list=True),
        Flag("--network", "add: the program may use the network"),
        Flag("--timeout MS", "add: how long one call may take"),
        Flag("--client-id ID", "add: an OAuth client that you registered"),
        Flag("--callback-port PORT", "add: the port of its redirect address"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting = setting_of(args)
    match args.words:
        case () | ("list",):
            rows = server_rows(setting)
            print_result(args, rows, _list(rows))
            for warning in load_servers(setting).mistakes:
                warn(warning)
        case ("get", name):
            rows = tuple(row for row in server_rows(setting) if row.name == name)
            if not rows:
                raise UsageError(say("mcp.unknown", name=name))
            print_result(args, rows, (line for row in rows for line in _details(row)))
        case ("add", name, first, *words):
            _add(setting, args, name, _table(args, first, words))
        case ("add-json", name, text):
            _add(setting, args, name, _parse_json(text))
        case ("remove" | "rm", name):
            print_lines([say("mcp.removed", name=name, file=remove_server(setting, name, _scope(args)))])
        case ("inspect", name):
            manifest = run_async(inspect_server(setting, name))
            print_result(args, manifest, manifest_lines(name, manifest))
        case ("login", name):
            issuer = run_async(log_in(setting, name, lambda url: _show_page(setting, name, url)))
            print_lines([say("mcp.logged_in", name=name, issuer=issuer)])
        case _:
            raise UsageError(say("mcp.usage"))
    return 0


def _show_page(setting: Setting, name: str, url: str) -> None:
    """Open a page in the user's browser, and print its address for those who have none here."""
    print_lines([say("mcp.open_page", name=name, url=url)])
    try:
        open_page(url, setting.roots.workspace)
    except OvertError as error:
        warn(error.message)


def _scope(args: ParsedCommandLine) -> Scope | None:
    return next((each for each in SCOPES if each == args.text("scope")), None)


# ── add ──────────────────────────────────────────────────────────────────────────────────────────────────


def _table(args: ParsedCommandLine, first: str, words: Sequence[str]) -> Table:
    """Return the server that the words of `add` describe, in Claude Code's schema."""
    kind = args.text("transport")
    is_address = not words and first.lower().startswith(("http://", "https://"))
    fields: Table
    if kind in ("", "stdio") and not (is_address and not kind):
        fields = {"command": first, "args": list(words)}
    elif words:
        raise UsageError(say("mcp.one_address"))
    else:
        fields = {"type": "sse" if kind == "sse" else "http", "url": first}
    if args.texts("env"):
        fields["env"] = dict(_pair(text, "=", "--env NAME=VALUE") for text in args.texts("env"))
    if args.texts("header"):
        fields["headers"] = dict(_pair(text, ":", "--header 'NAME: VALUE'") for text in args.texts("header"))
    oauth = {"clientId": args.text("client-id") or None, "callbackPort": args.number("callback-port", 65535)}
    more = {"timeout": args.number("timeout"), "oauth": {key: each for key, each in oauth.items() if each} or None}
    return {**fields, **{key: each for key, each in more.items() if each}}


def _pair(text: str, sign: str, usage: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise UsageError(f"Usage: {usage}")
    return name.strip(), value.strip() if sign == ":" else value


def _parse_json(text: str) -> Table:
    try:
        fields = decode(text.encode())
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise UsageError(say("mcp.json_expected"))
    return fields


def _add(setting: Setting, args: ParsedCommandLine, name: str, fields: Table) -> None:
    scope: Scope = _scope(args) or "local"
    entry, target = check_server(setting, scope, name, fields)
    print_lines([say("mcp.adds_program" if entry.kind == "stdio" else "mcp.adds_address", target=target)])
    if entry.kind == "stdio" and _may_use_network(args, entry):
        fields = {**fields, "network": True}
    file = add_server(setting, scope, name, fields)
    print_lines([say("mcp.added", name=name, file=file)])
    if scope == "project" and not setting.trust.has(setting.roots.project):
        print_lines([say("mcp.trust_first")])


def _may_use_network(args: ParsedCommandLine, entry: ServerEntry) -> bool:
    if args.switch("network") or entry.network:
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_lines([say("mcp.no_network")])
        return False
    try:
        return input(say("mcp.network_question")).strip().lower() in ("y", "yes")
    except EOFError:
        return False


# ── list, get ────────────────────────────────────────────────────────────────────────────────────────────


def _list(rows: Sequence[ServerRow]) -> Iterator[str]:
    if not rows:
        yield say("mcp.none")
        return
    cells = [(row.name, row.kind, f"{row.scope}, {row.origin}", row.reason or say("mcp.in_use")) for row in rows]
    for row, line in zip(rows, table(cells, left=4), strict=True):
        yield line
        yield f"  {row.target}"


def _details(row: ServerRow) -> Iterator[str]:
    yield row.name
    values = {
        "state": row.reason or say("mcp.in_use"),
        "kind": row.kind,
        "target": row.target,
        "scope": f"{row.scope}, {row.origin}",
        "network": say("mcp.yes" if row.network else "mcp.no"),
        "timeout": f"{row.timeout_ms} ms",
        "environment": ", ".join(row.environment),
        "headers": ", ".join(row.headers),
    }
    for key, value in values.items():
        if value:
            yield f"  {say(f'mcp.field.{key}')}: {value}"
