"""What in a project can make Overt run, send or allow something, each with a hash of its content.

Only bytes are read here: nothing is parsed, run or asked. A link to a file counts by where it leads and by what
it leads to; a folder that is a link leads out of what can be listed, so nobody can vouch for it.
"""

import os
import stat
from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct

from overt.config._private_json import plain
from overt.config.paths import is_present
from overt.lib.read_file import read_regular

CONFIGURATION = (
    *(f".overt/config.{ending}" for ending in ("json", "jsonc", "toml")),
    *(f"overt.{ending}" for ending in ("json", "jsonc", "toml")),
)
FILES = ("overt.toml", "overt.json", "overt.jsonc", ".mcp.json", ".env")
FOLDER = ".overt"
FOREIGN_FOLDERS = (".agents/commands", ".claude/commands")
"""What other programs keep in a project and Overt reads. A link to such a folder counts by what it leads to."""
MOST_FILES = 1000
MOST_BYTES = 32 * 1024 * 1024
DEEPEST = 16


class ProjectFiles(Struct, frozen=True, kw_only=True):
    """Names relative to the project → hash. With a `problem` nobody can vouch for it."""

    files: dict[str, str] = {}
    problem: str = ""


class _Excess(Exception):
    pass


def hash_project_files(project: str) -> ProjectFiles:
    files: dict[str, str] = {}
    left = MOST_BYTES
    try:
        for name in names(project):
            digest, size = _digest(os.path.join(project, name), left)
            left -= size
            files[plain(name)] = digest
    except _Excess as excess:
        return ProjectFiles(files=files, problem=str(excess))
    return ProjectFiles(files=files)


def names(project: str) -> Iterator[str]:
    """Everything that counts, as far as it exists; what cannot be listed whole is an error of this module."""
    for name in FILES:
        if is_present(os.path.join(project, name)):
            yield name
    for folder in (FOLDER, *FOREIGN_FOLDERS):
        for count, name in enumerate(_below(project, folder, DEEPEST), 1):
            if count > MOST_FILES:
                raise _Excess(f"{folder} holds more than {MOST_FILES} files")
            yield name


def list_project_files(project: str) -> tuple[str, ...]:
    """The names alone; a folder that cannot be listed whole is named itself."""
    found: list[str] = []
    try:
        for name in names(project):
            found.append(name)
    except _Excess:
        found.append(FOLDER)
    return tuple(found)


def _below(project: str, folder: str, depth: int) -> Iterator[str]:
    path = os.path.join(project, folder)
    if os.path.islink(path) and folder not in FOREIGN_FOLDERS:
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
        if os.path.isdir(entry.path):
            yield from _below(project, name, depth - 1)
        else:
            yield name


def _digest(path: str, most: int) -> tuple[str, int]:
    """What cannot be read cannot be obeyed either; when that changes, the word here does."""
    found = sha256()
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            found.update(b"link\0" + os.fsencode(os.readlink(path)) + b"\0")
        data, _ = read_regular(path, most)
    except OSError:
        return "unreadable", 0
    if len(data) > most:
        raise _Excess(f"its files hold more than {MOST_BYTES // 1024 // 1024} MB")
    found.update(data)
    return found.hexdigest(), len(data)
