"""The plugins that a session uses. Cheap to import and to call: every session begins with it.

Only the lock files are read and the installed files are looked at; they are hashed if one of them changed.
"""

import os

from overt.app.plugins.enabled_plugin import NONE, EnabledPlugins, Scope, lock_path
from overt.app.setting import Setting
from overt.extensions.discovery import ExtensionFolder


def enabled_plugins(setting: Setting) -> EnabledPlugins:
    """Return the plugins of this session; of two with the same name, that of the project counts.

    A project's lock counts only if the folder is trusted, which covers its content.
    """
    scopes: list[Scope] = [
        scope
        for scope in ("user", "project")
        if os.path.lexists(lock_path(setting, scope)) and (scope == "user" or setting.trust.has(setting.roots.project))
    ]
    if not scopes:
        return NONE
    from overt.app.plugins.check_copies import check_plugins  # late: 2 ms

    return check_plugins(setting, scopes)


def plugin_folders(setting: Setting) -> tuple[ExtensionFolder, ...]:
    """Return the root of each plugin, for `ExtensionPlaces.plugins`."""
    return tuple(
        ExtensionFolder(path=plugin.root, scope="plugin", where=f"plugin {plugin.name}", namespace=plugin.name)
        for plugin in enabled_plugins(setting).plugins
    )


def plugin_hook_files(setting: Setting) -> tuple[tuple[str, str, str], ...]:
    """Return each hook file of a plugin: its path, the root of the plugin, and the folder it may write to."""
    return tuple(
        (os.path.join(plugin.root, path), plugin.root, plugin.data)
        for plugin in enabled_plugins(setting).plugins
        for path in plugin.hooks
    )
