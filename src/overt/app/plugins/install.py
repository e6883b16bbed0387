"""Add, update and remove plugins: stage the files, and put them in place once the user has consented to them."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import mkdtemp

from msgspec import Struct
from msgspec.structs import replace

from overt.app.plugins.check_copies import check_plugins, copy_root, data_folder, locked_plugins
from overt.app.plugins.enabled_plugin import PROJECT_LOCK, Scope, copies_folder, lock_path
from overt.app.plugins.servers import read_plugin_server
from overt.app.plugins.sources import fetch_plugin
from overt.app.setting import Setting
from overt.config.trust import check_trust, trust_own_change
from overt.core.errors import ConfigError, OvertError, UsageError
from overt.core.settings import ServerEntry
from overt.extensions.plugins.copy_package import complete_copy, copy_files, hook_files
from overt.extensions.plugins.launchers import unpinned_text, unpinned_words
from overt.extensions.plugins.lock import (
    RUNS,
    LockedPlugin,
    PluginLock,
    PluginServer,
    PluginSource,
    check_copy,
    digest_of,
    hash_files,
    read_lock,
    write_lock,
)
from overt.extensions.plugins.package import PluginPackage, read_package
from overt.lib.paths import display_path
from overt.lib.translations import say

SCOPES: tuple[Scope, ...] = ("user", "project")
SCRIPTS = (".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1", ".cmd", ".bat")
MOST_SCRIPT_BYTES = 1024 * 1024


class StagedPlugin(Struct, frozen=True, kw_only=True):
    """A plugin that is copied but not enabled. `folder` holds the copy, `locked` what the lock will say of it.

    `servers` are those that can be used; `unpinned` names what its commands fetch anew each time.
    """

    name: str
    package: PluginPackage
    locked: LockedPlugin
    folder: str
    servers: tuple[ServerEntry, ...]
    unpinned: tuple[str, ...]
    problems: tuple[str, ...]


@contextmanager
def stage_plugin(setting: Setting, source: PluginSource) -> Iterator[StagedPlugin]:
    """Fetch a plugin and copy it beside the installed ones. The copy is deleted after the block unless installed."""
    copies = copies_folder(setting)
    os.makedirs(copies, mode=0o700, exist_ok=True)
    scratch = mkdtemp(prefix=".staged-", dir=copies)
    try:
        fetched = fetch_plugin(setting, source, scratch)
        folder = os.path.join(scratch, "copy")
        problems = [*fetched.problems, *copy_files(fetched.folder, folder)]
        package = read_package(folder, name=fetched.name, entry=fetched.entry)
        complete_copy(package)
        problems += package.problems
        servers, entries = _usable_servers(package, problems)
        files = hash_files(folder)
        locked = LockedPlugin(
            source=fetched.source,
            commit=fetched.commit,
            version=package.version,
            description=package.description,
            digest=digest_of(files),
            files=files,
            hooks=hook_files(package),
            servers=servers,
        )
        yield StagedPlugin(
            name=package.name,
            package=package,
            locked=locked,
            folder=folder,
            servers=entries,
            unpinned=tuple(dict.fromkeys(_unpinned(package, entries, folder, files))),
            problems=tuple(problems),
        )
    except OSError as error:
        raise OvertError(f"{error.filename or copies}: {error.strerror}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _usable_servers(
    package: PluginPackage, problems: list[str]
) -> tuple[dict[str, PluginServer], tuple[ServerEntry, ...]]:
    servers: dict[str, PluginServer] = {}
    entries: list[ServerEntry] = []
    for name, server in package.servers.items():
        try:
            entries.append(read_plugin_server(package.name, name, server, warn=problems.append))
            servers[name] = server
        except ConfigError as error:
            problems.append(f"{error.message}; this server is not used")
    return servers, tuple(entries)


def _unpinned(
    package: PluginPackage, servers: tuple[ServerEntry, ...], folder: str, files: dict[str, str]
) -> Iterator[str]:
    for entry in servers:
        if entry.command and (found := unpinned_words(entry.command)):
            yield f"{found} ({say('plugin.server', name=entry.name)})"
    for hook in package.hook_commands:
        for found in unpinned_text(hook.command):
            yield f"{found} ({say('plugin.hook', event=hook.event)})"
    for path, digest in files.items():
        if path.endswith(SCRIPTS) or digest.endswith(RUNS):
            with open(os.path.join(folder, path), "rb") as file:
                text = file.read(MOST_SCRIPT_BYTES).decode("utf-8", "replace")
            for found in unpinned_text(text):
                yield f"{found} ({path})"


# ── locks ────────────────────────────────────────────────────────────────────────────────────────────────


def install(setting: Setting, scope: Scope, staged: StagedPlugin, *, network: bool) -> str:
    """Put a staged copy in place and enable it. Return the lock file that now names it."""
    locked = replace(staged.locked, network=network)
    root = copy_root(setting, staged.name, locked)
    with _changing(setting):
        if check_copy(root, locked, "")[0]:
            shutil.rmtree(root, ignore_errors=True)
            os.makedirs(os.path.dirname(root), mode=0o700, exist_ok=True)
            os.rename(staged.folder, root)
        os.makedirs(data_folder(setting, staged.name), mode=0o700, exist_ok=True)
        return _change_lock(setting, scope, staged.name, locked)


def remove_plugin(setting: Setting, name: str, scope: Scope | None) -> str:
    """Disable a plugin and delete its copies and its data. Return the lock file that named it."""
    chosen, _ = find_locked(setting, name, scope)
    with _changing(setting):
        file = _change_lock(setting, chosen, name, None)
        if name not in locked_plugins(setting, SCOPES)[0]:
            shutil.rmtree(os.path.join(copies_folder(setting), name), ignore_errors=True)
            shutil.rmtree(data_folder(setting, name), ignore_errors=True)
    return file


def find_locked(setting: Setting, name: str, scope: Scope | None = None) -> tuple[Scope, LockedPlugin]:
    """Return the plugin that a lock names, and the scope of that lock. UsageError if none does."""
    locked, mistakes = locked_plugins(setting, (scope,) if scope else SCOPES)
    if mistakes:
        raise OvertError(mistakes[0])
    if name not in locked:
        raise UsageError(say("plugin.unknown", name=name))
    return locked[name]


def is_installed(setting: Setting, name: str) -> bool:
    """True if the installed copy of a plugin is the one that its lock describes."""
    return any(plugin.name == name for plugin in check_plugins(setting, SCOPES).plugins)


@contextmanager
def _changing(setting: Setting) -> Iterator[None]:
    """Let one process at a time change the installed plugins."""
    folder = os.open(copies_folder(setting), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _change_lock(setting: Setting, scope: Scope, name: str, plugin: LockedPlugin | None) -> str:
    """Set or remove one plugin of a lock. A project that was trusted stays so."""
    path = lock_path(setting, scope)
    plugins = {key: each for key, each in read_lock(path).plugins.items() if key != name}
    before = check_trust(setting.environment, setting.roots.project) if scope == "project" else None
    write_lock(path, PluginLock(plugins={**plugins, name: plugin} if plugin else plugins))
    if before:
        trust_own_change(setting.environment, before, PROJECT_LOCK)
    return display_path(path, setting.roots.project, setting.environment.home)
