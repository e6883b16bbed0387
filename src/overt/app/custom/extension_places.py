"""Where a session looks for skills, commands and agents."""

from overt.app.plugins.enabled import plugin_folders
from overt.app.setting import Setting
from overt.config.trust import is_trusted
from overt.extensions.discovery import ExtensionPlaces


def extension_places(setting: Setting) -> ExtensionPlaces:
    """Return the places to look in. Trust is looked up once more: files may have changed since the setting was read."""
    environment, project, recipe = setting.environment, setting.roots.project, setting.config.recipe
    return ExtensionPlaces(
        project=project,
        trusted=setting.trust.has(project) and is_trusted(environment, project),
        config_dir=environment.config_dir,
        home=environment.home,
        foreign=recipe.foreign,
        strict=recipe.strict,
        plugins=plugin_folders(setting),
    )
