"""Rules and instruction files: find those that hold in a folder, and read them without following links."""

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from overt.core.text_fragments import SourceFile
from overt.lib.paths import display_path, literal
from overt.lib.read_file import read_regular

RULES = "AGENTS.md"
FOREIGN_RULES = "CLAUDE.md"
"""Rules for another agent, read in a folder that has none for all agents."""
LARGEST = 1024 * 1024
MOST_FILES = 50
MOST_VISITED = 20_000
MOST_HOPS = 4
"""How far imports are followed: a file that a file imports is one hop further."""
CODE = r"(?ms)^ *(```|~~~).*?(?:^ *\1|\Z)|`[^`\n]*`"
IMPORT = r"(?<!\S)@([^\s@\0]+)"


class RuleFolders(Struct, frozen=True, kw_only=True):
    """The folders that rules are looked for in, as real paths."""

    project: str
    workspace: str
    home: str

    def where(self, path: str) -> str:
        return display_path(path, self.project, self.home)


def read_source(path: str, where: str, *, follow: bool = False) -> SourceFile | None:
    """Read a file of rules. With `follow`, for files of the user, it may be a link; a pipe is never waited for."""
    try:
        content, _ = read_regular(path, LARGEST, 0 if follow else os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    return SourceFile(path=path, where=where, content=content[:LARGEST], whole=len(content) <= LARGEST)


def files_named(folders: RuleFolders, name: str) -> tuple[SourceFile, ...]:
    """The file of this name in every folder from the project down to the workspace, the nearest last."""
    paths = (os.path.join(folder, name) for folder in folders_down_to(folders.project, folders.workspace))
    return tuple(file for path in paths if (file := read_source(path, folders.where(path))))


def project_rules(folders: RuleFolders, *, foreign: bool) -> tuple[SourceFile, ...]:
    """The rules of every folder from the project down to the workspace, the nearest last.

    With `foreign` a folder without `AGENTS.md` has those of `CLAUDE.md`, behind the files that it imports.
    """
    files: dict[str, SourceFile] = {}
    for folder in folders_down_to(folders.project, folders.workspace):
        path = os.path.join(folder, RULES)
        if file := read_source(path, folders.where(path)):
            files[path] = file
        elif foreign:
            _import(folders, os.path.join(folder, FOREIGN_RULES), MOST_HOPS, files, set())
    return tuple(files.values())


def _import(folders: RuleFolders, path: str, hops: int, files: dict[str, SourceFile], seen: set[str]) -> None:
    """Add a file and, ahead of it, those that its `@path` names. Nothing outside of the project is imported."""
    inside = lies_in(os.path.realpath(os.path.dirname(path)), folders.project)
    if path in seen or len(files) >= MOST_FILES or not inside or not (file := read_source(path, folders.where(path))):
        return
    seen.add(path)
    text = re.sub(CODE, "", file.content.decode("utf-8", "replace"))
    for name in re.findall(IMPORT, text)[:MOST_FILES] if hops else ():
        target = os.path.normpath(os.path.join(os.path.dirname(path), name.rstrip(".,;:!?)")))
        if not os.path.basename(target).startswith("."):  # such as .env
            _import(folders, target, hops - 1, files, seen)
    files[path] = file


def folders_down_to(project: str, workspace: str) -> tuple[str, ...]:
    folders = [workspace]
    while folders[-1] != project and len(folders[-1]) > len(project):
        folders.append(os.path.dirname(folders[-1]))
    return tuple(reversed(folders)) if folders[-1] == project else (workspace,)


def files_matching(folders: RuleFolders, pattern: str, *, strict: bool) -> tuple[SourceFile, ...]:
    """The files that a pattern means, sorted. One that is written below the project does not lead out of it."""
    whole = os.path.normpath(os.path.join(literal(folders.project), _at_home(pattern, folders.home)))
    contained = strict or whole.startswith(literal(folders.project).rstrip("/") + "/")
    files: list[SourceFile] = []
    for path in sorted(_below("/", [part for part in whole.split("/") if part], [MOST_VISITED])):
        if contained and not lies_in(os.path.realpath(os.path.dirname(path)), folders.project):
            continue
        if len(files) < MOST_FILES and (file := read_source(path, folders.where(path))):
            files.append(file)
    return tuple(files)


def lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _at_home(pattern: str, home: str) -> str:
    return literal(home) + pattern[1:] if pattern.startswith("~/") else pattern


def _below(folder: str, parts: Sequence[str], left: list[int]) -> Iterator[str]:
    """Files below the folders that a pattern goes through. Links to folders are entered only where they are named."""
    if not parts:
        return
    part, rest = parts[0], parts[1:]
    if name := _one_name(part):
        path = os.path.join(folder, name)
        if rest:
            yield from _below(path, rest, left)
        elif os.path.lexists(path):
            yield path
        return
    if part == "**" and rest:
        yield from _below(folder, rest, left)
    import fnmatch  # late: 0.1 ms

    alike = fnmatch.fnmatchcase
    for entry in _entries(folder, left, hidden=part.startswith(".")):
        if entry.is_dir(follow_symlinks=False):
            if part == "**" or (rest and alike(entry.name, part)):
                yield from _below(entry.path, parts if part == "**" else rest, left)
        elif not rest and (part == "**" or alike(entry.name, part)):
            yield entry.path


def _one_name(part: str) -> str:
    """The name that a part of a pattern means when it means only one."""
    name = part.replace("[*]", "*").replace("[?]", "?").replace("[[]", "[")
    return name if literal(name) == part else ""


def _entries(folder: str, left: list[int], *, hidden: bool) -> list[os.DirEntry[str]]:
    """What is too much to look at is left; what hides is found only by a pattern that says so."""
    try:
        with os.scandir(folder) as entries:
            listed = [entry for entry in entries if hidden or not entry.name.startswith(".")]
    except OSError:
        return []
    left[0] -= len(listed)
    return [entry for entry in listed if entry.name != "node_modules"] if left[0] >= 0 else []
