"""Where the hooks of a session come from. A session without hooks imports nothing else of this package."""

from overt.app.plugins.enabled import enabled_plugins
from overt.app.setting import Setting
from overt.config.hook_sources import HookTables, PluginHooks, load_hook_tables, read_plugin_hooks


def find_hook_tables(setting: Setting, files: tuple[PluginHooks, ...] = ()) -> HookTables:
    """Collect the hooks of the configuration, of Claude Code's settings files, of plugins and of further `files`."""
    project = setting.roots.project
    of_plugins = [plugin.hooks for plugin in enabled_plugins(setting).plugins]
    return load_hook_tables(
        setting.environment,
        setting.config,
        project=project,
        trusted=setting.trust.has(project),
        plugins=[*of_plugins, read_plugin_hooks(setting.environment.home, files)],
    )
