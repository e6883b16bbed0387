"""`overt plugin`: add, list, update and remove plugins."""

import sys
from collections.abc import Iterable, Iterator
from tempfile import TemporaryDirectory

from overt.app.plugins.check_copies import copy_root
from overt.app.plugins.describe import consent_lines, list_lines, marketplace_lines, plugin_rows, update_lines
from overt.app.plugins.enabled_plugin import Scope
from overt.app.plugins.install import (
    SCOPES,
    StagedPlugin,
    find_locked,
    install,
    is_installed,
    remove_plugin,
    stage_plugin,
)
from overt.app.plugins.python_packages import PythonPlugin, python_plugin_lines, python_plugins
from overt.app.plugins.sources import open_marketplace, parse_source
from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.cli.output import cut_to_width, print_lines, print_result, screen_width, setting_of, warn
from overt.cli.parse import FOLDER, CommandLine, Flag, ParsedCommandLine, parse
from overt.core.errors import UsageError
from overt.lib.translations import say

ABOUT = """Plugins: packages of skills, commands, agents, hooks and MCP servers.

  overt plugin                              list them
  overt plugin add FOLDER                   a folder, git repository, bundle or https address; #REF for a commit
  overt plugin add NAME@MARKETPLACE         a plugin of a marketplace, which is a folder or a repository too
  overt plugin list --marketplace FOLDER    what a marketplace offers
  overt plugin update NAME                  show what changed, and use it if you agree
  overt plugin remove NAME

Before a plugin is added or updated, every command that it can run is shown. The hash of each of its files is kept in
plugins.lock; a plugin whose files differ from it is off. Packages of Claude Code, Codex and Agent Plugins
1.0.0 work."""
DENIED = 3

COMMAND = CommandLine(
    name="overt plugin",
    about=ABOUT,
    words="[list | add SOURCE | update NAME | remove NAME]",
    flags=(
        FOLDER,
        Flag("--json", "list: machine-readable"),
        Flag("--marketplace FOLDER", "list: the plugins of a marketplace"),
        Flag("-s, --scope SCOPE", "add, update, remove: " + ", ".join(SCOPES), SCOPES),
        Flag("-y, --yes", "add, update: agree to what is shown"),
        Flag("--network", "add: its MCP programs may use the network"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting = setting_of(args)
    match args.words:
        case () | ("list",) if place := args.text("marketplace"):
            with TemporaryDirectory() as scratch:
                marketplace = open_marketplace(setting, place, f"{scratch}/tree")
            print_result(args, tuple(marketplace.entries.values()), _cut(marketplace_lines(marketplace)))
        case () | ("list",):
            packages = python_plugins(setting)
            print_result(args, (*plugin_rows(setting), *packages), _list(setting, packages))
        case ("add", source):
            return _add(setting, args, source)
        case ("update", name):
            return _update(setting, args, name)
        case ("remove" | "rm", name):
            print_lines([say("plugin.removed", name=name, file=remove_plugin(setting, name, _scope(args)))])
        case _:
            raise UsageError(say("plugin.usage"))
    return 0


def _scope(args: ParsedCommandLine) -> Scope | None:
    return next((each for each in SCOPES if each == args.text("scope")), None)


def _list(setting: Setting, packages: tuple[PythonPlugin, ...]) -> Iterator[str]:
    yield from list_lines(setting)
    yield from python_plugin_lines(packages)


def _cut(lines: Iterable[str]) -> Iterator[str]:
    width = screen_width()
    yield from (cut_to_width(line, width) for line in lines)


def _add(setting: Setting, args: ParsedCommandLine, text: str) -> int:
    scope: Scope = _scope(args) or "user"
    with stage_plugin(setting, parse_source(text, setting.environment.cwd)) as staged:
        print_lines(consent_lines(staged))
        if not _agrees(args, "plugin.add_question", staged.name):
            return DENIED
        file = install(setting, scope, staged, network=_may_use_network(args, staged))
    print_lines([say("plugin.added", name=staged.name, file=file)])
    if scope == "project" and not setting.trust.has(setting.roots.project):
        print_lines([say("plugin.trust_first")])
    return 0


def _update(setting: Setting, args: ParsedCommandLine, name: str) -> int:
    scope, old = find_locked(setting, name, _scope(args))
    with stage_plugin(setting, old.source) as staged:
        if staged.name != name:
            raise UsageError(say("plugin.other_name", name=name, new=staged.name))
        if staged.locked.digest == old.digest:
            state = "plugin.up_to_date" if is_installed(setting, name) else "plugin.installed_again"
        else:
            print_lines(update_lines(old, copy_root(setting, name, old), staged))
            if not _agrees(args, "plugin.update_question", name):
                print_lines([say("plugin.kept", name=name)])
                return DENIED
            state = "plugin.updated"
        install(setting, scope, staged, network=old.network or args.switch("network"))
    print_lines([say(state, name=name)])
    return 0


def _agrees(args: ParsedCommandLine, question: str, name: str) -> bool:
    """Ask the user. A run without a terminal needs `--yes`."""
    if args.switch("yes"):
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        warn(say("plugin.needs_yes", name=name))
        return False
    return _is_yes(say(question, name=name))


def _may_use_network(args: ParsedCommandLine, staged: StagedPlugin) -> bool:
    if args.switch("network") or not any(entry.command for entry in staged.servers):
        return args.switch("network")
    if args.switch("yes") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_lines([say("plugin.no_network")])
        return False
    return _is_yes(say("plugin.network_question"))


def _is_yes(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False
