"""Private notes: small files beside the configuration and beside the sessions of a project, never in the project."""

import os
from typing import Literal

from msgspec import Struct

from overt.core.errors import OvertError
from overt.lib.atomic import replace
from overt.lib.paths import slug
from overt.lib.read_file import read_regular

PROJECT_FILE = "OVERT.md"
LARGEST = 64 * 1024
MOST = 200
LONGEST = 8000
WORDS, NAME = 6, 40

Scope = Literal["global", "project"]


class Note(Struct, frozen=True, kw_only=True):
    scope: Scope
    name: str
    text: str
    content: bytes

    @property
    def first(self) -> str:
        """Its first line, without the marks of a heading."""
        return self.text.split("\n", 1)[0].lstrip("# ").strip()


class Shelves(Struct, frozen=True, kw_only=True):
    """Where notes lie: those for every project, and those for one."""

    everywhere: str
    project: str

    def folder(self, scope: Scope) -> str:
        return self.everywhere if scope == "global" else self.project


def shelves(config_dir: str, data_dir: str, project: str) -> Shelves:
    return Shelves(
        everywhere=os.path.join(config_dir, "memory"), project=os.path.join(data_dir, "memory", slug(project))
    )


def notes(where: Shelves, scope: Scope) -> tuple[Note, ...]:
    """Every note of a place, by name; what is empty or cannot be read is none."""
    folder = where.folder(scope)
    try:
        listed = os.listdir(folder)
    except OSError:
        return ()
    names = sorted(name[:-3] for name in listed if name.endswith(".md") and name[0] != "." and name.isprintable())
    found: list[Note] = []
    for name in names[:MOST]:
        try:
            content, _ = read_regular(os.path.join(folder, f"{name}.md"), LARGEST)
        except OSError:
            continue
        if text := content.decode("utf-8", "replace").strip():
            found.append(Note(scope=scope, name=name, text=text, content=content))
    return tuple(found)


def add(where: Shelves, scope: Scope, text: str) -> Note:
    text = text.strip()
    if not text:
        raise OvertError("a note needs words: give them after `add`")
    if len(text) > LONGEST:
        raise OvertError(f"a note has {LONGEST} characters at most, this one {len(text)}; write it into a file instead")
    folder = where.folder(scope)
    content = (text + "\n").encode("utf-8", "replace")
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = _free(folder, _name_for(text))
        replace(os.path.join(folder, f"{name}.md"), content)
    except OSError as error:
        raise OvertError(f"{folder}: the note cannot be written: {error.strerror}") from None
    return Note(scope=scope, name=name, text=text, content=content)


def remove(where: Shelves, wanted: str) -> Note:
    """By its name, or by scope and name where both places have one of that name."""
    every = (*notes(where, "global"), *notes(where, "project"))
    found = [note for note in every if wanted.removesuffix(".md") in (note.name, f"{note.scope}/{note.name}")]
    if not found:
        known = ", ".join(f"{note.scope}/{note.name}" for note in every) or "there are none"
        raise OvertError(f"there is no note {wanted!r}; notes: {known}")
    if len(found) > 1:
        raise OvertError(f"two notes are called {wanted!r}; say global/{wanted} or project/{wanted}")
    (note,) = found
    path = os.path.join(where.folder(note.scope), f"{note.name}.md")
    try:
        os.unlink(path)
    except OSError as error:
        raise OvertError(f"{path}: the note cannot be removed: {error.strerror}") from None
    return note


def _name_for(text: str) -> str:
    """Its first words, in any script, fit for the name of a file."""
    kept = "".join(each if each.isalnum() else " " for each in text.split("\n", 1)[0].lower())
    name = "-".join(kept.split()[:WORDS])
    while len(name.encode("utf-8", "replace")) > 3 * NAME or len(name) > NAME:
        name = name[:-1]
    return name.strip("-") or "note"


def _free(folder: str, name: str) -> str:
    number = 2
    free = name
    while os.path.lexists(os.path.join(folder, f"{free}.md")):
        free = f"{name}-{number}"
        number += 1
    return free
