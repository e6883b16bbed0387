"""Copy a plugin to where it is installed, in the layout that every reader of parts knows.

The files are copied first and read then, so what the user is shown is what is installed. Parts that a manifest keeps
elsewhere are copied to `skills/`, `commands/` and `agents/` as well. Hooks and servers that stand in a manifest or in a
marketplace become files, so that the digest of the copy covers them. The copy holds no links: a link to a file of the
plugin becomes that file.
"""

import os
import shutil
import stat
from collections.abc import Iterator

from msgspec import json

from overt.core.errors import OvertError
from overt.extensions.plugins.lock import MOST_BYTES, MOST_FILES
from overt.extensions.plugins.package import PluginPackage
from overt.lib.read_file import read_regular

LEFT_OUT = frozenset({".git", "__pycache__", ".DS_Store", ".overt-plugin"})
INLINE_HOOKS = ".overt-plugin/hooks.json"
ALL_SERVERS = ".overt-plugin/servers.json"


def copy_files(source: str, target: str) -> tuple[str, ...]:
    """Copy the files of a plugin into a new folder. Return what was left out, with the reason."""
    root = os.path.realpath(source)
    problems: list[str] = []
    left = MOST_BYTES
    os.makedirs(target, mode=0o700)
    for count, (path, reason) in enumerate(_files(root), 1):
        if reason:
            problems.append(f"{path}: {reason}")
            continue
        if count > MOST_FILES:
            raise OvertError(f"the plugin has more than {MOST_FILES} files")
        left -= _copy(os.path.join(root, path), os.path.join(target, path), left)
    return tuple(problems)


def complete_copy(package: PluginPackage) -> None:
    """Bring the parts of a copied package to their usual places."""
    _move_parts(package, package.root)
    if package.inline_hooks is not None:
        _write(os.path.join(package.root, INLINE_HOOKS), _pretty(package.inline_hooks), runs=False)
    if package.servers:
        tables = {name: server.table for name, server in package.servers.items()}
        _write(os.path.join(package.root, ALL_SERVERS), _pretty(tables), runs=False)


def _pretty(value: object) -> bytes:
    """Return JSON with a line for each value, so that the diff of an update can be read."""
    return json.format(json.encode(value, order="sorted"), indent=2) + b"\n"


def hook_files(package: PluginPackage) -> tuple[str, ...]:
    """Return the hook files of an installed copy."""
    return (*package.hooks, *([INLINE_HOOKS] if package.inline_hooks is not None else []))


def _files(root: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a plugin, each with the reason if it is left out."""
    for folder, folders, names in os.walk(root):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and name not in linked)
        for name in sorted((*names, *linked)):
            path = os.path.relpath(os.path.join(folder, name), root)
            real = os.path.realpath(os.path.join(folder, name))
            if name in LEFT_OUT:
                continue
            if not real.startswith(f"{root}/"):
                yield path, "a link that leads out of the plugin is left out"
            elif not os.path.isfile(real):
                yield path, "a link to a folder, a pipe or a device is left out"
            else:
                yield path, ""


def _copy(source: str, target: str, most: int) -> int:
    data, status = read_regular(source, most)
    if len(data) > most:
        raise OvertError(f"the plugin is larger than {MOST_BYTES // 1024 // 1024} MB")
    _write(target, data, runs=bool(status.st_mode & stat.S_IXUSR))
    return len(data)


def _write(target: str, data: bytes, *, runs: bool) -> None:
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    with open(target, "wb") as file:
        file.write(data)
    os.chmod(target, 0o500 if runs else 0o400)


def _move_parts(package: PluginPackage, target: str) -> None:
    moves = [(path, f"skills/{os.path.basename(path)}") for path in package.skills]
    for kind, paths in (("commands", package.commands), ("agents", package.agents)):
        moves += [(path, f"{kind}/{os.path.basename(path)}") for path in paths if not path.startswith(f"{kind}/")]
    for path, usual in moves:
        source, place = os.path.join(target, path), os.path.join(target, usual)
        if path == usual or os.path.lexists(place) or not os.path.lexists(source):
            continue
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, place)
        else:
            shutil.copy2(source, place)
