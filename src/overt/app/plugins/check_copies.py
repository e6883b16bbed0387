"""Compare the installed plugins with the locks, and store the result: stamps, hooks and servers."""

import os
from collections.abc import Sequence

from msgspec import ValidationError, json
from msgspec.structs import replace as replace_fields

from overt.app.plugins.enabled_plugin import (
    CheckedPlugin,
    CheckedPlugins,
    EnabledPlugin,
    EnabledPlugins,
    Scope,
    checked_file,
    copies_folder,
    hash_locks,
    lock_path,
    read_private,
)
from overt.app.setting import Setting
from overt.config.hook_sources import PluginHooks, read_plugin_hooks
from overt.core.codec import encode
from overt.core.errors import OvertError
from overt.extensions.plugins.lock import LockedPlugin, check_copy, read_lock, stamped_paths
from overt.lib.atomic import replace


def copy_root(setting: Setting, name: str, plugin: LockedPlugin) -> str:
    return os.path.join(copies_folder(setting), name, plugin.digest)


def data_folder(setting: Setting, name: str) -> str:
    return os.path.join(os.path.realpath(setting.environment.data_dir), "plugin-data", name)


def locked_plugins(
    setting: Setting, scopes: Sequence[Scope]
) -> tuple[dict[str, tuple[Scope, LockedPlugin]], list[str]]:
    """Return the plugins of all locks by name, and why a lock cannot be used."""
    plugins: dict[str, tuple[Scope, LockedPlugin]] = {}
    mistakes: list[str] = []
    for scope in scopes:
        try:
            plugins |= {name: (scope, each) for name, each in read_lock(lock_path(setting, scope)).plugins.items()}
        except OvertError as error:
            mistakes.append(error.message)
    return plugins, mistakes


def check_plugins(setting: Setting, scopes: Sequence[Scope], locks: str = "") -> EnabledPlugins:
    """Compare all copies with the locks. With the hash of the `locks`, store the result if no plugin is off."""
    locked, mistakes = locked_plugins(setting, scopes)
    copies, data = copies_folder(setting), data_folder(setting, "")
    stamps = _read_stamps(setting)
    checked: list[CheckedPlugin] = []
    problems: dict[str, str] = {}
    for name, (scope, locked_plugin) in sorted(locked.items()):
        root = os.path.join(copies, name, locked_plugin.digest)
        problem, stamp = check_copy(root, locked_plugin, stamps.get(locked_plugin.digest, ""))
        if problem:
            problems[name] = problem
            continue
        plugin = EnabledPlugin(name=name, root=root, data=os.path.join(data, name), scope=scope)
        plugin = _read_parts(plugin, locked_plugin, setting)
        checked.append(CheckedPlugin(plugin=plugin, paths=stamped_paths(locked_plugin.files), stamp=stamp))
    seen = {locked[each.plugin.name][1].digest: each.stamp for each in checked if each.stamp}
    if any(stamps.get(digest) != stamp for digest, stamp in seen.items()):
        _write(_stamp_file(setting), {**stamps, **seen})
    is_whole = not (problems or mistakes) and all(each.stamp for each in checked)
    if is_whole and locks and hash_locks(setting, scopes) == locks:  # the locks are still what was read
        _write(checked_file(setting, scopes), CheckedPlugins(locks=locks, plugins=tuple(checked)))
    return EnabledPlugins(plugins=tuple(each.plugin for each in checked), problems=problems, mistakes=tuple(mistakes))


def _read_parts(plugin: EnabledPlugin, locked: LockedPlugin, setting: Setting) -> EnabledPlugin:
    """Return a plugin with its hooks and servers. If a file changes meanwhile, its stamp no longer fits."""
    environment = setting.environment
    files = (PluginHooks(os.path.join(plugin.root, path), plugin.root, plugin.data) for path in locked.hooks)
    plugin = replace_fields(plugin, hooks=read_plugin_hooks(environment.home, files))
    if not locked.servers:
        return plugin
    from overt.app.plugins.servers import add_servers  # late: 3 ms

    return add_servers(plugin, locked.servers, environment, network=locked.network)


def _stamp_file(setting: Setting) -> str:
    return os.path.join(copies_folder(setting), "stamps.json")


def _read_stamps(setting: Setting) -> dict[str, str]:
    try:
        return json.decode(read_private(_stamp_file(setting)), type=dict[str, str])
    except (OSError, ValidationError, ValueError):
        return {}


def _write(path: str, value: object) -> None:
    """Store a result. If that fails, the files are hashed again next time."""
    try:
        replace(path, encode(value), sync=False)
    except (OSError, UnicodeEncodeError):
        pass
