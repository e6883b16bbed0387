"""The hooks of a run: collected from the configuration, from Claude Code's settings files and from plugins."""

import os
from collections.abc import Iterable

from msgspec import Struct

from overt.config.paths import Environment
from overt.config.project_files import CLAUDE_SETTINGS
from overt.config.schema import Config
from overt.core.settings import HookTable
from overt.lib.paths import display_path
from overt.lib.read_file import read_regular

LARGEST_FILE = 1024 * 1024


class PluginHooks(Struct, frozen=True):
    """The `hooks.json` of a plugin, the folder of the plugin, the folder for its data, and how the file is shown."""

    path: str
    root: str
    data: str
    shown: str = ""


class HookTables(Struct, frozen=True, kw_only=True):
    """`mistakes` are sentences about files that could not be read."""

    tables: tuple[HookTable, ...] = ()
    mistakes: tuple[str, ...] = ()


def load_hook_tables(
    environment: Environment,
    config: Config,
    *,
    project: str,
    trusted: bool,
    plugins: Iterable[HookTables] = (),
) -> HookTables:
    """Collect the hooks: those of our own files first. Nothing of a project counts unless it is trusted."""
    collected = _Collection(environment.home)
    if config.recipe.foreign and not config.recipe.strict:
        collected.add_file(os.path.join(environment.home, CLAUDE_SETTINGS[0]))
    if trusted and config.recipe.foreign:
        for name in CLAUDE_SETTINGS:
            collected.add_file(os.path.join(project, name), shown=name, of_project=True)
    for tables in plugins:
        collected.tables += tables.tables
        collected.mistakes += tables.mistakes
    return HookTables(tables=(*config.hooks, *collected.tables), mistakes=tuple(collected.mistakes))


def read_plugin_hooks(home: str, files: Iterable[PluginHooks]) -> HookTables:
    collected = _Collection(home)
    for file in files:
        collected.add_file(file.path, shown=file.shown, root=file.root, data=file.data)
    return HookTables(tables=tuple(collected.tables), mistakes=tuple(collected.mistakes))


class _Collection:
    def __init__(self, home: str) -> None:
        self._home = home
        self.tables: list[HookTable] = []
        self.mistakes: list[str] = []

    def add_file(self, path: str, *, shown: str = "", of_project: bool = False, root: str = "", data: str = "") -> None:
        try:
            content, _ = read_regular(path, LARGEST_FILE)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.mistakes.append(f"{shown or path}: cannot be read: {error.strerror}; none of its hooks run")
            return
        if b'"hooks"' not in content:
            return
        from msgspec.structs import replace  # late: 0.1 ms

        from overt.config.reading.hook_tables import read_hook_tables  # late: 1 ms
        from overt.lib import jsonc  # late: 1 ms

        name = shown or display_path(path, home=self._home)
        try:
            tree = jsonc.parse(content[: LARGEST_FILE + 1].decode())
        except jsonc.Malformed as error:
            self.mistakes.append(f"{name}:{error.line}: {error.what}; none of its hooks run")
            return
        except UnicodeDecodeError:
            self.mistakes.append(f"{name}: is not valid UTF-8; none of its hooks run")
            return
        whole = tree.value if isinstance(tree.value, dict) else {}
        events = whole.get("hooks")
        if whole.get("disableAllHooks") is True or events is None:
            return
        if not isinstance(events, dict):
            self.mistakes.append(f"{name}: `hooks` must be an object; none of its hooks run")
            return
        tables = read_hook_tables(events, lambda inner: f"{name}:{tree.lines.get(('hooks', *inner), 1)}")
        self.tables += [replace(each, of_project=of_project, root=root, data=data) for each in tables]
