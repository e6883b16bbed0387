"""The folders around a run, as its sandboxes need to know them."""

import os

from overt.app.plugins.enabled import enabled_plugins
from overt.app.setting import Setting
from overt.app.skills.folders import readable_skill_folders
from overt.sandbox.profile import SandboxPlace, cache_folders


def sandbox_place(setting: Setting) -> SandboxPlace:
    """Where a conversation is, as its boxes need to know it."""
    environment, config = setting.environment, setting.config
    plugins = enabled_plugins(setting).plugins
    return SandboxPlace(
        workspace=setting.roots.workspace,
        project=setting.roots.project,
        home=os.path.realpath(environment.home),
        config_dir=os.path.realpath(environment.config_dir),
        data_dir=os.path.realpath(environment.data_dir),
        cache_dir=os.path.realpath(environment.cache_dir),
        state_dir=os.path.realpath(environment.state_dir) if environment.state_dir else "",
        write=tuple(os.path.realpath(path) for path in config.allow_write),
        read=(
            *(os.path.realpath(path) for path in config.allow_read),
            *readable_skill_folders(setting),
            *(plugin.root for plugin in plugins),
        ),
        plugin_data=tuple(plugin.data for plugin in plugins if os.path.isdir(plugin.data)),
        caches=cache_folders(os.path.realpath(environment.home), environment.variables),
    )
