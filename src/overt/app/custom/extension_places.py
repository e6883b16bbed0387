"""Where a session looks for skills, commands and agents."""

from overt.app.plugins.enabled import plugin_folders
from overt.app.setting import Setting
from overt.config.trust import is_trusted
from overt.extensions.discovery import ExtensionPlaces


def extension_places(setting: Setting, *, trusted: bool | None = None) -> ExtensionPlaces:
    """Return the places to look in. If `trusted` is None, check again whether the project is trusted: files may have
    changed since the setting was read."""
    environment, project, recipe = setting.environment, setting.roots.project, setting.config.recipe
    return ExtensionPlaces(
        project=project,
        trusted=setting.trust.has(project) and is_trusted(environment, project) if trusted is None else trusted,
        config_dir=environment.config_dir,
        home=environment.home,
        foreign=recipe.foreign,
        strict=recipe.strict,
        plugins=plugin_folders(setting),
    )
