"""Where the hooks of a session come from. A session without hooks imports nothing else of this package."""

from overt.app.plugins.enabled import plugin_hook_files
from overt.app.setting import Setting
from overt.config.hook_sources import HookTables, PluginHooks, load_hook_tables


def find_hook_tables(setting: Setting, plugins: tuple[PluginHooks, ...] = ()) -> HookTables:
    """Collect the hooks of the configuration, of Claude Code's settings files and of plugins."""
    project = setting.roots.project
    return load_hook_tables(
        setting.environment,
        setting.config,
        project=project,
        trusted=setting.trust.has(project),
        plugins=(*(PluginHooks(*each) for each in plugin_hook_files(setting)), *plugins),
    )
