"""Where the extensions of a run are looked for, and which of their folders lie outside of the workspace."""

import os

from overt.app.custom.extension_places import extension_places
from overt.app.setting import Setting
from overt.extensions.discovery import ExtensionFolder, existing_folders, extension_folders
from overt.lib.paths import display_path


def skill_folders(setting: Setting) -> tuple[ExtensionFolder, ...]:
    """Return the folders with skills that exist, those of `skills.paths` first, without the built-in ones."""
    home = setting.environment.home
    named = (
        ExtensionFolder(path=path, scope="user", where=display_path(path, setting.roots.project, home))
        for path in setting.config.skills.paths
    )
    folders = extension_folders(extension_places(setting), "skills")
    return existing_folders((*named, *folders)) if setting.config.skills.paths else folders


def readable_skill_folders(setting: Setting) -> tuple[str, ...]:
    """Return the real paths of skills outside of the project: commands and file tools may read them.

    A skill of the user may be a link to a folder elsewhere.
    """
    paths: list[str] = []
    for folder in skill_folders(setting):
        if folder.scope == "project":
            continue
        paths.append(os.path.realpath(folder.path))
        with os.scandir(folder.path) as entries:
            paths += [os.path.realpath(entry.path) for entry in entries if entry.is_symlink() and _is_skill(entry.path)]
    return tuple(sorted(set(paths)))


def _is_skill(folder: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for name in ("SKILL.md", "skill.md"))
