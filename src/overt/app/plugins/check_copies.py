"""Compare the installed plugins with the locks, and remember the stamps of those that were hashed."""

import os
from collections.abc import Sequence

from msgspec import ValidationError, json

from overt.app.plugins.enabled_plugin import EnabledPlugin, EnabledPlugins, Scope, lock_path
from overt.app.setting import Setting
from overt.core.codec import encode
from overt.core.errors import OvertError
from overt.extensions.plugins.lock import LockedPlugin, check_copy, read_lock
from overt.lib.atomic import replace
from overt.lib.read_file import read_regular

MOST_STAMP_BYTES = 1024 * 1024


def copies_folder(setting: Setting) -> str:
    """Return where plugins are installed: commands in the sandbox can read it and never write to it."""
    return os.path.join(os.path.realpath(setting.environment.data_dir), "plugins")


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


def check_plugins(setting: Setting, scopes: Sequence[Scope]) -> EnabledPlugins:
    locked, mistakes = locked_plugins(setting, scopes)
    copies, data = copies_folder(setting), data_folder(setting, "")
    stamps = _read_stamps(setting)
    seen: dict[str, str] = {}
    plugins: list[EnabledPlugin] = []
    problems: dict[str, str] = {}
    for name, (scope, plugin) in sorted(locked.items()):
        root = os.path.join(copies, name, plugin.digest)
        problem, stamp = check_copy(root, plugin, stamps.get(plugin.digest, ""))
        if problem:
            problems[name] = problem
            continue
        if stamp:
            seen[plugin.digest] = stamp
        plugins.append(
            EnabledPlugin(
                name=name,
                root=root,
                data=os.path.join(data, name),
                scope=scope,
                hooks=plugin.hooks,
                servers=plugin.servers,
                network=plugin.network,
            )
        )
    if any(stamps.get(digest) != stamp for digest, stamp in seen.items()):
        _write_stamps(setting, {**stamps, **seen})
    return EnabledPlugins(plugins=tuple(plugins), problems=problems, mistakes=tuple(mistakes))


def _stamp_file(setting: Setting) -> str:
    return os.path.join(copies_folder(setting), "stamps.json")


def _read_stamps(setting: Setting) -> dict[str, str]:
    try:
        data, status = read_regular(_stamp_file(setting), MOST_STAMP_BYTES, os.O_NOFOLLOW)
        return json.decode(data, type=dict[str, str]) if status.st_uid == os.getuid() else {}
    except (OSError, ValidationError, ValueError):
        return {}


def _write_stamps(setting: Setting, stamps: dict[str, str]) -> None:
    """Record stamps. If that fails, the files are hashed again next time."""
    try:
        replace(_stamp_file(setting), encode(stamps), sync=False)
    except OSError:
        pass
