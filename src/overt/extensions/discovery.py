"""Where skills, commands and agents are looked for, ours before those that people bring from other programs.

Of two things with the same name the first one counts; the other is shown with its origin as shadowed.
"""

import os
import stat
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

Scope = Literal["project", "user", "plugin", "built-in"]
Kind = Literal["skills", "commands", "agents"]


class ExtensionFolder(Struct, frozen=True, kw_only=True):
    """A folder to look in. `namespace` is the plugin it belongs to; `where` is how it is shown."""

    path: str
    scope: Scope
    where: str
    namespace: str = ""


class ExtensionPlaces(Struct, frozen=True, kw_only=True):
    """Where extensions may come from. Nothing of the project counts unless it is trusted.

    `foreign`: layouts of other programs are read too. `strict`: nothing from outside of the project.
    """

    project: str
    trusted: bool
    config_dir: str
    home: str
    foreign: bool = True
    strict: bool = False
    plugins: tuple[ExtensionFolder, ...] = ()
    """The root folder of each plugin, with its name as namespace."""


def extension_folders(places: ExtensionPlaces, kind: Kind) -> tuple[ExtensionFolder, ...]:
    """Return the folders that exist, the one that counts first at the top. A linked folder is listed once."""
    folders: list[ExtensionFolder] = []
    names = (".overt", ".agents", ".claude") if places.foreign else (".overt",)
    if places.trusted:
        for name in names:
            path = os.path.join(places.project, name, kind)
            folders.append(ExtensionFolder(path=path, scope="project", where=f"{name}/{kind}"))
    if not places.strict:
        folders.append(
            ExtensionFolder(path=os.path.join(places.config_dir, kind), scope="user", where=f"~/.config/overt/{kind}")
        )
        for name in names[1:]:
            path = os.path.join(places.home, name, kind)
            folders.append(ExtensionFolder(path=path, scope="user", where=f"~/{name}/{kind}"))
        for plugin in places.plugins:
            path = os.path.join(plugin.path, kind)
            where = f"{plugin.where}/{kind}"
            folders.append(ExtensionFolder(path=path, scope="plugin", where=where, namespace=plugin.namespace))
    return existing_folders(folders)


def existing_folders(folders: Iterable[ExtensionFolder]) -> tuple[ExtensionFolder, ...]:
    """Return the folders that exist, each once: a link leads to the inode of another one."""
    existing: dict[tuple[int, int], ExtensionFolder] = {}
    for folder in folders:
        try:
            status = os.stat(folder.path)
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            existing.setdefault((status.st_dev, status.st_ino), folder)
    return tuple(existing.values())
