"""What in a project can make Overt run, send or allow something, each with a hash of its content.

Nothing is run or asked here; files are parsed only to find the scripts that hooks name. A link to a file counts by
where it leads and by what it leads to; a folder that is a link leads out of what can be listed, so nobody can vouch
for it.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from time import time_ns

from msgspec import Struct

from overt.config._private_json import plain
from overt.config.paths import is_present
from overt.lib.paths import lies_in
from overt.lib.read_file import is_settled, read_regular

CONFIGURATION = (
    *(f".overt/config.{ending}" for ending in ("json", "jsonc", "toml")),
    *(f"overt.{ending}" for ending in ("json", "jsonc", "toml")),
)
CLAUDE_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
FILES = ("overt.toml", "overt.json", "overt.jsonc", ".mcp.json", ".env", *CLAUDE_SETTINGS)
FOREIGN_FOLDERS = tuple(
    f"{folder}/{kind}" for folder in (".agents", ".claude") for kind in ("agents", "commands", "skills")
)
"""What other programs keep in a project and Overt reads. A link to such a folder counts by what it leads to."""
FOLDER = ".overt"
FOLDERS = (FOLDER, ".claude/hooks", *FOREIGN_FOLDERS)
LARGEST_CONFIGURATION = 1024 * 1024
PATHS = r"""[^\s"'`;|&<>(){}$=,]+"""
"""Words of a command that may be the path of a script."""
SCRIPTS = tuple(".sh .bash .zsh .fish .py .js .mjs .cjs .ts .mts .rb .pl .php .lua .ps1".split())
MOST_FILES = 1000
MOST_BYTES = 32 * 1024 * 1024
DEEPEST = 16
UNREADABLE = "unreadable"
"""Stands in for the hash of a file that cannot be read."""


class ProjectFiles(Struct, frozen=True, kw_only=True):
    """Names relative to the project → hash. With a `problem`, the project cannot be trusted.

    `looked_at` are all paths that were checked, folders and missing files included.
    """

    files: dict[str, str] = {}
    problem: str = ""
    looked_at: tuple[str, ...] = ()


class _Excess(Exception):
    pass


def hash_project_files(project: str) -> ProjectFiles:
    files: dict[str, str] = {}
    looked_at: list[str] = []
    left = MOST_BYTES
    try:
        for name in names(project, looked_at):
            digest, size = _digest(os.path.join(project, name), left)
            left -= size
            files[plain(name)] = digest
    except _Excess as excess:
        return ProjectFiles(files=files, problem=str(excess))
    return ProjectFiles(files=files, looked_at=tuple(dict.fromkeys(looked_at)))


def names(project: str, looked_at: list[str] | None = None) -> Iterator[str]:
    """Yield all files that trust depends on. Raise _Excess if they cannot all be listed.

    Every path that is checked is added to `looked_at`.
    """
    looked_at = [] if looked_at is None else looked_at
    looked_at += FILES
    listed = [name for name in FILES if is_present(os.path.join(project, name))]
    yield from listed
    for folder in FOLDERS:
        for count, name in enumerate(_below(project, folder, DEEPEST, looked_at), 1):
            if count > MOST_FILES:
                raise _Excess(f"{folder} holds more than {MOST_FILES} files")
            listed.append(name)
            yield name
    for name in (*CONFIGURATION, *CLAUDE_SETTINGS):
        if name in listed:
            commands = tuple(_hook_commands(project, name))
            looked_at += (each for command in commands for each in _named_paths(project, command))
            scripts = [each for command in commands for each in named_scripts(project, command)]
            yield from (each for each in dict.fromkeys(scripts) if each not in listed)
            listed += scripts


def named_scripts(project: str, command: str) -> tuple[str, ...]:
    """Return the scripts below the project that the command of a hook names, relative to the project."""
    return tuple(path for path in _named_paths(project, command) if _is_script(os.path.join(project, path)))


def _named_paths(project: str, command: str) -> tuple[str, ...]:
    """Return all words of a command that may be paths below the project, relative to it."""
    paths: dict[str, None] = {}
    for word in re.findall(PATHS, command.replace("CLAUDE_PROJECT_DIR/", "")):
        path = os.path.normpath(word if lies_in(word, project) else os.path.join(project, word.lstrip("/")))
        if path != project and lies_in(path, project):
            paths[os.path.relpath(path, project)] = None
    return tuple(paths)


def _is_script(path: str) -> bool:
    """True for a file that can be run by itself or has the ending of a script. Data that a hook writes is neither."""
    return os.path.isfile(path) and (path.endswith(SCRIPTS) or os.access(path, os.X_OK))


def _hook_commands(project: str, name: str) -> Iterator[str]:
    """Yield the commands of the hooks in a file of the project. A file that cannot be parsed has none."""
    try:
        data, _ = read_regular(os.path.join(project, name), LARGEST_CONFIGURATION)
        if b"hooks" not in data:
            return
        if name.endswith(".toml"):
            import tomllib  # late: 5 ms

            tree: object = tomllib.loads(data.decode())
        else:
            from overt.lib import jsonc  # late: 1 ms

            tree = jsonc.parse(data.decode()).value
    except (OSError, ValueError):
        return
    waiting: list[object] = [tree.get("hooks")] if isinstance(tree, dict) else []
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, dict):
            words = (value.get("command"), *(args if isinstance(args := value.get("args"), list) else ()))
            yield " ".join(word for word in words if isinstance(word, str))
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def find_changed_script(project: str, names: Iterable[str], known: Mapping[str, str]) -> str:
    """Return the first file whose content is not the one that was hashed before, or an empty string."""
    for name in names:
        if known.get(plain(name)) != _digest(os.path.join(project, name), MOST_BYTES)[0]:
            return name
    return ""


def list_project_files(project: str) -> tuple[str, ...]:
    """The names alone; a folder that cannot be listed whole is named itself."""
    found: list[str] = []
    try:
        for name in names(project):
            found.append(name)
    except _Excess:
        found.append(FOLDERS[0])
    return tuple(found)


def _below(project: str, folder: str, depth: int, looked_at: list[str]) -> Iterator[str]:
    path = os.path.join(project, folder)
    looked_at.append(folder)
    if os.path.islink(path) and not folder.startswith(FOREIGN_FOLDERS):
        raise _Excess(f"{plain(folder)} is a link; make it a folder")
    try:
        with os.scandir(path) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _Excess(f"{plain(folder)} cannot be read: {error.strerror}") from None
    if depth == 0:
        raise _Excess(f"{plain(folder)} is nested deeper than {DEEPEST} folders")
    for entry in listed:
        name = f"{folder}/{entry.name}"
        if entry.is_dir() if not entry.is_symlink() else os.path.isdir(entry.path):
            yield from _below(project, name, depth - 1, looked_at)
        else:
            looked_at.append(name)
            yield name


def _digest(path: str, most: int) -> tuple[str, int]:
    """Return the hash and the size of a file. One that cannot be read cannot be obeyed either, and has a word as hash.

    A start looks more than once, shortly before a file is obeyed. A file whose inode says that it was not touched since
    it was read is not read again.
    """
    try:
        itself = os.lstat(path)
        link = os.readlink(path) if stat.S_ISLNK(itself.st_mode) else ""
        facts = os.stat(path) if link else itself
        identity = (link, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        known = _DIGESTS.get(path)
        if known and known[0] == identity and known[2] <= most:
            return known[1], known[2]
        started = time_ns()
        data, _ = read_regular(path, most)
    except OSError:
        return UNREADABLE, 0
    if len(data) > most:
        raise _Excess(f"its files hold more than {MOST_BYTES // 1024 // 1024} MB")
    digest = _hash(link, data)
    if is_settled(facts.st_ctime_ns, started):
        _DIGESTS[path] = identity, digest, len(data)
    return digest, len(data)


def hash_content(path: str, data: bytes) -> str:
    """Return the hash that `hash_project_files` has for a file if this is its content."""
    return _hash(os.readlink(path) if os.path.islink(path) else "", data)


def _hash(link: str, data: bytes) -> str:
    return sha256((b"link\0" + os.fsencode(link) + b"\0" if link else b"") + data).hexdigest()


_DIGESTS: dict[str, tuple[tuple[object, ...], str, int]] = {}
"""Files that were read in this process: what their inode said, their hash and their size."""
