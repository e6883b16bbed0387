"""Which files of a project a note speaks of, and whether they are still as they were when it was written.

A note names a file by its path, or a command whose definition is in a file: `make test` is about the Makefile.
"""

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Literal

from overt.lib.paths import lies_in
from overt.lib.read_file import read_regular

LARGEST = 4 * 1024 * 1024
MOST_FILES = 12
MOST_WORDS = 400
WORD = re.compile(r"[\w@.+~-]+(?:/[\w@.+~-]+)*")
DEFINED_IN: dict[str, tuple[str, ...]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npx"), ("package.json",)),
    "deno": ("deno.json", "deno.jsonc"),
    **dict.fromkeys(("pytest", "poetry", "uv", "hatch", "pdm", "ruff", "mypy"), ("pyproject.toml",)),
    "tox": ("tox.ini", "pyproject.toml"),
    "nox": ("noxfile.py",),
    "cargo": ("Cargo.toml",),
    "rake": ("Rakefile",),
    "bundle": ("Gemfile",),
    "composer": ("composer.json",),
    "mvn": ("pom.xml",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "cmake": ("CMakeLists.txt",),
    "docker": ("compose.yaml", "compose.yml", "docker-compose.yml", "Dockerfile"),
    "pre-commit": (".pre-commit-config.yaml",),
}
"""Programs whose commands a file of the project defines: the first of these names that exists."""
COMMAND = re.compile(rf"(?<![\w./-])({'|'.join(DEFINED_IN)})(?![\w./-])")
SENTENCE_WORDS = frozenset({"make", "just"})
"""Programs whose names are ordinary words too."""

Change = Literal["changed", "gone"]


def hash_sources(text: str, project: str) -> dict[str, str]:
    """Return the files of the project that a text speaks of, each with the hash of its content."""
    hashes: dict[str, str] = {}
    for path in dict.fromkeys((*_named_files(text, project), *_defining_files(text, project))):
        if len(hashes) < MOST_FILES and (digest := _hash(project, path)):
            hashes[path] = digest
    return hashes


def find_changes(files: Mapping[str, str], project: str) -> dict[str, Change]:
    """Return the files that are no longer as they were when their hashes were taken."""
    changes: dict[str, Change] = {}
    for path, digest in files.items():
        now = _hash(project, path)
        if now != digest:
            changes[path] = "changed" if now else "gone"
    return changes


def _named_files(text: str, project: str) -> Iterator[str]:
    for match in list(WORD.finditer(text))[:MOST_WORDS]:
        word = match[0].rstrip(".~-")
        path = os.path.normpath(word)
        if not os.path.isabs(path) and not path.startswith("..") and os.path.isfile(os.path.join(project, path)):
            yield path


def _defining_files(text: str, project: str) -> Iterator[str]:
    for match in COMMAND.finditer(text):
        names = DEFINED_IN[match[1]]
        name = next((name for name in names if os.path.isfile(os.path.join(project, name))), "")
        if name and (match[1] not in SENTENCE_WORDS or _is_command(text, match, os.path.join(project, name))):
            yield name


def _is_command(text: str, match: re.Match[str], file: str) -> bool:
    """True for `make test` in backquotes, or if the file has a target of the next word; "make sure" is no command."""
    if text[: match.start()].rpartition("\n")[2].count("`") % 2:
        return True
    word = WORD.match(text, match.end() + 1)
    try:
        content, _ = read_regular(file, LARGEST)
    except OSError:
        return False
    target = rf"^@?{re.escape(word[0])}\b[^\n=]*:" if word else ""
    return bool(target) and re.search(target.encode(), content, re.M) is not None


def _hash(project: str, path: str) -> str:
    """Return the hash of a file, or an empty string if it is not in the project, cannot be read or is too large."""
    full = os.path.join(project, path)
    if not lies_in(os.path.realpath(full), os.path.realpath(project)):
        return ""
    try:
        content, _ = read_regular(full, LARGEST)
    except OSError:
        return ""
    return sha256(content).hexdigest() if len(content) <= LARGEST else ""
