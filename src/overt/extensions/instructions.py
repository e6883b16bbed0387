"""Rules and instruction files: which of them hold here, found and read without following anybody's links."""

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from overt.lib.paths import literal, shown
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


class Piece(Struct, frozen=True, kw_only=True):
    """A file that joins the context; not `whole` when it is larger than anybody would read."""

    path: str
    where: str
    content: bytes
    whole: bool = True


class Place(Struct, frozen=True, kw_only=True):
    """Where rules are looked for. All of them are real paths."""

    project: str
    workspace: str
    home: str

    def where(self, path: str) -> str:
        return shown(path, self.project, self.home)


def read(path: str, where: str, *, follow: bool = False) -> Piece | None:
    """A link is not followed and a pipe not waited for, unless the file is the person's own."""
    try:
        content, _ = read_regular(path, LARGEST, 0 if follow else os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    return Piece(path=path, where=where, content=content[:LARGEST], whole=len(content) <= LARGEST)


def walked(place: Place, name: str) -> tuple[Piece, ...]:
    """The file of this name in every folder from the project down to the workspace, the nearest last."""
    found = (os.path.join(folder, name) for folder in down_to(place.project, place.workspace))
    return tuple(piece for path in found if (piece := read(path, place.where(path))))


def project_rules(place: Place, *, foreign: bool) -> tuple[Piece, ...]:
    """The rules of every folder from the project down to the workspace, the nearest last.

    With `foreign` a folder without `AGENTS.md` has those of `CLAUDE.md`, behind the files that it imports.
    """
    pieces: dict[str, Piece] = {}
    for folder in down_to(place.project, place.workspace):
        path = os.path.join(folder, RULES)
        if piece := read(path, place.where(path)):
            pieces[path] = piece
        elif foreign:
            _import(place, os.path.join(folder, FOREIGN_RULES), MOST_HOPS, pieces, set())
    return tuple(pieces.values())


def _import(place: Place, path: str, hops: int, pieces: dict[str, Piece], seen: set[str]) -> None:
    """Add a file and, ahead of it, those that its `@path` names. Nothing outside of the project is imported."""
    inside = lies_in(os.path.realpath(os.path.dirname(path)), place.project)
    if path in seen or len(pieces) >= MOST_FILES or not inside or not (piece := read(path, place.where(path))):
        return
    seen.add(path)
    text = re.sub(CODE, "", piece.content.decode("utf-8", "replace"))
    for name in re.findall(IMPORT, text)[:MOST_FILES] if hops else ():
        target = os.path.normpath(os.path.join(os.path.dirname(path), name.rstrip(".,;:!?)")))
        if not os.path.basename(target).startswith("."):  # such as .env
            _import(place, target, hops - 1, pieces, seen)
    pieces[path] = piece


def down_to(project: str, workspace: str) -> tuple[str, ...]:
    folders = [workspace]
    while folders[-1] != project and len(folders[-1]) > len(project):
        folders.append(os.path.dirname(folders[-1]))
    return tuple(reversed(folders)) if folders[-1] == project else (workspace,)


def matched(place: Place, pattern: str, *, strict: bool) -> tuple[Piece, ...]:
    """The files that a pattern means, sorted. One that is written below the project does not lead out of it."""
    whole = os.path.normpath(os.path.join(literal(place.project), _at_home(pattern, place.home)))
    contained = strict or whole.startswith(literal(place.project).rstrip("/") + "/")
    found: list[Piece] = []
    for path in sorted(_below("/", [part for part in whole.split("/") if part], [MOST_VISITED])):
        if contained and not lies_in(os.path.realpath(os.path.dirname(path)), place.project):
            continue
        if len(found) < MOST_FILES and (piece := read(path, place.where(path))):
            found.append(piece)
    return tuple(found)


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
    import fnmatch  # late: 0.2 ms

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
