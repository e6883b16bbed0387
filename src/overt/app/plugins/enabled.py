"""The plugins that a session uses. Cheap to import and to call: every session begins with it.

    DATA/plugins/NAME/DIGEST/       an installed copy
    DATA/plugins/checked-….json     what the last check of them found

If the locks are those of the last check and no installed file has changed since, its result is used. Else the files of
plugins that changed are hashed. Commands in the sandbox can read the folder and never write to it.
"""

import os
from collections.abc import Sequence

from msgspec import ValidationError, json

from overt.app.plugins.enabled_plugin import (
    NONE,
    CheckedPlugins,
    EnabledPlugins,
    Scope,
    checked_file,
    hash_locks,
    lock_path,
    read_private,
)
from overt.app.setting import Setting
from overt.core.errors import OvertError
from overt.extensions.discovery import ExtensionFolder
from overt.lib.read_file import stamp_files


def enabled_plugins(setting: Setting) -> EnabledPlugins:
    """Return the plugins of this session; of two with the same name, that of the project counts.

    A project's lock counts only if the folder is trusted, which covers its content. The answer holds as long as the
    setting does, since a session keeps its plugins; `ensure_unchanged` looks again.
    """
    global _latest
    if _latest is None or _latest[0] is not setting:
        _latest = (setting, _look(setting))
    return _latest[1]


_latest: tuple[Setting, EnabledPlugins] | None = None
"""Several parts of a session ask for its plugins one after another."""


def ensure_unchanged(setting: Setting, root: str) -> None:
    """Raise an OvertError if the files of the plugin at `root` are no longer those of its lock.

    For use before a program of it starts. A root that belongs to no plugin is not looked at.
    """
    plugin = next((each for each in enabled_plugins(setting).plugins if each.root == root), None)
    if plugin is not None:
        now = _look(setting)
        if plugin.root not in (each.root for each in now.plugins):
            reason = now.problems.get(plugin.name, "it was updated or removed; start a new session")
            raise OvertError(f"the plugin {plugin.name} is off: {reason}")


def _look(setting: Setting) -> EnabledPlugins:
    scopes: list[Scope] = [
        scope
        for scope in ("user", "project")
        if os.path.lexists(lock_path(setting, scope)) and (scope == "user" or setting.trust.has(setting.roots.project))
    ]
    if not scopes:
        return NONE
    locks = hash_locks(setting, scopes)
    if locks and (known := _read_unchanged(setting, scopes, locks)):
        return known
    from overt.app.plugins.check_copies import check_plugins  # late: 2 ms

    return check_plugins(setting, scopes, locks)


def _read_unchanged(setting: Setting, scopes: Sequence[Scope], locks: str) -> EnabledPlugins | None:
    """Return the result of the last check, or None if a lock or a file has changed since."""
    try:
        checked = json.decode(read_private(checked_file(setting, scopes)), type=CheckedPlugins)
        if checked.locks != locks:
            return None
        for each in checked.plugins:
            if stamp_files(each.plugin.root, each.paths)[0] != each.stamp:
                return None
    except (OSError, ValidationError, ValueError):
        return None
    return EnabledPlugins(plugins=tuple(each.plugin for each in checked.plugins))


def plugin_folders(setting: Setting) -> tuple[ExtensionFolder, ...]:
    """Return the root of each plugin, for `ExtensionPlaces.plugins`."""
    return tuple(
        ExtensionFolder(path=plugin.root, scope="plugin", where=f"plugin {plugin.name}", namespace=plugin.name)
        for plugin in enabled_plugins(setting).plugins
    )
