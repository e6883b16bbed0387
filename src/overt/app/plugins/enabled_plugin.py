"""What a session knows of its plugins, and where the locks are that name them."""

import os
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from overt.app.setting import Setting

if TYPE_CHECKING:
    from overt.extensions.plugins.lock import PluginServer

Scope = Literal["user", "project"]
LOCK_FILE = "plugins.lock"
PROJECT_LOCK = f".overt/{LOCK_FILE}"


class EnabledPlugin(Struct, frozen=True, kw_only=True):
    """An installed plugin whose files are those of the lock. `data` is the folder it may write to."""

    name: str
    root: str
    data: str
    scope: Scope
    hooks: tuple[str, ...]
    servers: "dict[str, PluginServer]"
    network: bool


class EnabledPlugins(Struct, frozen=True, kw_only=True):
    """`problems` says by name why a plugin of a lock is off; `mistakes` why a lock is not used."""

    plugins: tuple[EnabledPlugin, ...] = ()
    problems: dict[str, str] = {}
    mistakes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        off = (
            f"the plugin {name} is off: {reason}; run `overt plugin update {name}` to install it again"
            for name, reason in self.problems.items()
        )
        return (*self.mistakes, *off)


NONE = EnabledPlugins()


def lock_path(setting: Setting, scope: Scope) -> str:
    if scope == "user":
        return os.path.join(setting.environment.config_dir, LOCK_FILE)
    return os.path.join(setting.roots.project, PROJECT_LOCK)
