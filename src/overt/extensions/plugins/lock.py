"""`plugins.lock`: which plugins are enabled, with the hash of every file the user consented to.

The installed copy of a plugin is `PLUGINS/<name>/<digest>`. Its files are hashed when the stamp of all its files and
folders is not the one that was recorded after the last full check.
"""

import os
import re
import stat
from collections.abc import Mapping
from hashlib import sha256
from time import time_ns
from typing import Literal

from msgspec import Struct, ValidationError, json

from overt.core.errors import OvertError
from overt.lib.atomic import replace
from overt.lib.read_file import is_settled, read_regular, stamp_files

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
"""Of a plugin. Two dots in a row are refused apart from it."""
LOCK_FILE = "plugins.lock"
MOST_LOCK_BYTES = 16 * 1024 * 1024
MOST_FILES = 5000
MOST_BYTES = 256 * 1024 * 1024
HEX = frozenset("0123456789abcdef")
RUNS = "+x"
"""Follows the hash of a file that is executable."""


class PluginSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a plugin comes from: the folder, bundle, repository or address `location`, and the folder `path` in it.

    `commit` is the one that the source itself pins. With `plugin`, `location` is a marketplace that lists it.
    """

    location: str
    path: str = ""
    ref: str = ""
    commit: str = ""
    plugin: str = ""


class PluginServer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An MCP server as the package writes it. `portable`: by the rules of Agent Plugins, so no variable is filled in
    but those of the plugin, and the program starts in the plugin's folder."""

    table: dict[str, object]
    portable: bool = False


class LockedPlugin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A plugin as the user consented to it. `files` maps each path to its SHA-256; `digest` is the hash of that table.

    `commit` is the one that was installed. `network`: its MCP programs may use the network.
    """

    source: PluginSource
    digest: str
    files: dict[str, str]
    commit: str = ""
    version: str = ""
    description: str = ""
    hooks: tuple[str, ...] = ()
    servers: dict[str, PluginServer] = {}
    network: bool = False


class PluginLock(Struct, frozen=True, kw_only=True):
    plugins: dict[str, LockedPlugin] = {}
    v: Literal[1] = 1


def read_lock(path: str) -> PluginLock:
    """Read a lock file. A missing one enables nothing; OvertError if it cannot be used."""
    try:
        data, _ = read_regular(path, MOST_LOCK_BYTES)
    except FileNotFoundError:
        return PluginLock()
    except OSError as error:
        raise OvertError(f"{path}: cannot be read: {error.strerror}; no plugin of it is used") from None
    try:
        lock = json.decode(data, type=PluginLock)
    except (ValidationError, ValueError, RecursionError):
        raise OvertError(f"{path}: is damaged; no plugin of it is used") from None
    for name, plugin in lock.plugins.items():
        if not NAME.fullmatch(name) or ".." in name or len(plugin.digest) != 64 or not set(plugin.digest) <= HEX:
            raise OvertError(f"{path}: is damaged at {name!r}; no plugin of it is used")
    return lock


def write_lock(path: str, lock: PluginLock) -> None:
    """Replace a lock file: one line for each value, so that a diff of it can be read."""
    ordered = PluginLock(plugins=dict(sorted(lock.plugins.items())))
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace(path, json.format(json.encode(ordered, order="sorted"), indent=2) + b"\n", mode=0o644)
    except OSError as error:
        raise OvertError(f"{path}: cannot be written: {error.strerror}") from None


def digest_of(files: Mapping[str, str]) -> str:
    return sha256(
        "".join(f"{files[path]} {path}\n" for path in sorted(files)).encode("utf-8", "surrogateescape")
    ).hexdigest()


def hash_files(root: str) -> dict[str, str]:
    """Hash every file below a folder. OSError if one cannot be read, or is neither a file nor a folder."""
    files: dict[str, str] = {}
    for path in list_files(root):
        files[path] = hash_file(os.path.join(root, path))
    return files


def hash_file(path: str) -> str:
    data, status = read_regular(path, MOST_BYTES, os.O_NOFOLLOW)
    return sha256(data).hexdigest() + (RUNS if status.st_mode & stat.S_IXUSR else "")


def list_files(root: str) -> list[str]:
    """Return the paths of everything below a folder that is no folder itself, sorted."""
    return sorted(
        os.path.relpath(os.path.join(folder, name), root)
        for folder, folders, names in os.walk(root)
        for name in (*names, *(each for each in folders if os.path.islink(os.path.join(folder, each))))
    )


def stamped_paths(files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths that the stamp of an installed copy is made of: all files, and all folders that hold them."""
    folders = {path.rpartition("/")[0] for path in files}
    for folder in tuple(folders):
        while folder := folder.rpartition("/")[0]:
            folders.add(folder)
    return (".", *sorted(folders - {""}), *sorted(files))


def check_copy(root: str, plugin: LockedPlugin, known_stamp: str) -> tuple[str, str]:
    """Compare an installed copy with the lock. Return what is wrong, if anything, and the stamp to record, if any."""
    paths, started = stamped_paths(plugin.files), time_ns()
    try:
        stamp, newest = stamp_files(root, paths)
    except OSError:
        return "it is not installed here", ""
    if stamp == known_stamp:
        return "", stamp
    if digest_of(plugin.files) != plugin.digest:
        return "its entry in the lock does not fit its digest", ""
    try:
        problem = _difference(root, plugin.files)
        if problem or stamp_files(root, paths)[0] != stamp:
            return problem, ""
    except OSError as error:
        return f"{error.filename or root} cannot be read: {error.strerror}", ""
    return "", stamp if is_settled(newest, started) else ""


def _difference(root: str, files: Mapping[str, str]) -> str:
    present = list_files(root)
    if added := sorted(set(present) - set(files)):
        return f"{added[0]} was added"
    if missing := sorted(set(files) - set(present)):
        return f"{missing[0]} is missing"
    changed = (path for path in present if hash_file(os.path.join(root, path)) != files[path])
    return next((f"{path} was changed" for path in changed), "")
