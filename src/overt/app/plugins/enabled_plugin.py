"""What a session knows of its plugins, and where the locks are that name them."""

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from overt import __version__
from overt.app.setting import Setting
from overt.config.hook_sources import HookTables
from overt.config.server_sources import ServerOfPlugin
from overt.lib.read_file import read_regular

Scope = Literal["user", "project"]
LOCK_FILE = "plugins.lock"
PROJECT_LOCK = f".overt/{LOCK_FILE}"
MOST_BYTES = 16 * 1024 * 1024
"""The largest lock, and the largest stored result of a check."""


class EnabledPlugin(Struct, frozen=True, kw_only=True):
    """An installed plugin whose files are those of the lock. `data` is the folder it may write to.

    `mistakes` say which of its servers are left out and why.
    """

    name: str
    root: str
    data: str
    scope: Scope
    hooks: HookTables = HookTables()
    servers: tuple[ServerOfPlugin, ...] = ()
    mistakes: tuple[str, ...] = ()


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
        of_servers = (mistake for plugin in self.plugins for mistake in plugin.mistakes)
        return (*self.mistakes, *off, *of_servers)


NONE = EnabledPlugins()


class CheckedPlugin(Struct, frozen=True, kw_only=True):
    """A plugin whose `paths` had this `stamp` when it was checked."""

    plugin: EnabledPlugin
    paths: tuple[str, ...]
    stamp: str


class CheckedPlugins(Struct, frozen=True, kw_only=True):
    """The result of a check in which no plugin is off. `locks` is the hash of the locks."""

    locks: str
    plugins: tuple[CheckedPlugin, ...]


def lock_path(setting: Setting, scope: Scope) -> str:
    if scope == "user":
        return os.path.join(setting.environment.config_dir, LOCK_FILE)
    return os.path.join(setting.roots.project, PROJECT_LOCK)


def hash_locks(setting: Setting, scopes: Sequence[Scope]) -> str:
    """Return a hash of the locks and of all else that a check depends on; empty if a lock cannot be read."""
    environment = setting.environment
    places = (environment.home, copies_folder(setting), setting.roots.project, *scopes)
    whole = sha256("\0".join((__version__, *places)).encode("utf-8", "surrogateescape"))
    for scope in scopes:
        try:
            whole.update(sha256(read_regular(lock_path(setting, scope), MOST_BYTES)[0]).digest())
        except OSError:
            return ""
    return whole.hexdigest()


def copies_folder(setting: Setting) -> str:
    """Return where plugins are installed."""
    return os.path.join(os.path.realpath(setting.environment.data_dir), "plugins")


def checked_file(setting: Setting, scopes: Sequence[Scope]) -> str:
    name = "user"
    if "project" in scopes:
        place = "\0".join((setting.roots.project, *scopes)).encode("utf-8", "surrogateescape")
        name = sha256(place).hexdigest()[:32]
    return os.path.join(copies_folder(setting), f"checked-{name}.json")


def read_private(path: str) -> bytes:
    """Read a file that Overt wrote. Raise OSError if other users could have written it."""
    data, status = read_regular(path, MOST_BYTES, os.O_NOFOLLOW)
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise OSError(0, "could have been written by others")
    return data
