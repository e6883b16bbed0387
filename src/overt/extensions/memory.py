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


class NoteFolders(Struct, frozen=True, kw_only=True):
    """The folders of notes: of those for every project, and of those for one."""

    everywhere: str
    project: str

    def folder(self, scope: Scope) -> str:
        return self.everywhere if scope == "global" else self.project


def note_folders(config_dir: str, data_dir: str, project: str) -> NoteFolders:
    return NoteFolders(
        everywhere=os.path.join(config_dir, "memory"), project=os.path.join(data_dir, "memory", slug(project))
    )


def list_notes(folders: NoteFolders, scope: Scope) -> tuple[Note, ...]:
    """Return the notes of a folder by name, without those that are empty or cannot be read."""
    folder = folders.folder(scope)
    try:
        listed = os.listdir(folder)
    except OSError:
        return ()
    names = sorted(name[:-3] for name in listed if name.endswith(".md") and name[0] != "." and name.isprintable())
    notes: list[Note] = []
    for name in names[:MOST]:
        try:
            content, _ = read_regular(os.path.join(folder, f"{name}.md"), LARGEST)
        except OSError:
            continue
        if text := content.decode("utf-8", "replace").strip():
            notes.append(Note(scope=scope, name=name, text=text, content=content))
    return tuple(notes)


def add_note(folders: NoteFolders, scope: Scope, text: str) -> Note:
    text = text.strip()
    if not text:
        raise OvertError("a note needs words: give them after `add`")
    if len(text) > LONGEST:
        raise OvertError(f"a note has {LONGEST} characters at most, this one {len(text)}; write it into a file instead")
    folder = folders.folder(scope)
    content = (text + "\n").encode("utf-8", "replace")
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = _free_name(folder, _name_for(text))
        replace(os.path.join(folder, f"{name}.md"), content)
    except OSError as error:
        raise OvertError(f"{folder}: the note cannot be written: {error.strerror}") from None
    return Note(scope=scope, name=name, text=text, content=content)


def remove_note(folders: NoteFolders, wanted: str) -> Note:
    """Delete a note by its name, or by scope and name where both folders have one of that name."""
    every = (*list_notes(folders, "global"), *list_notes(folders, "project"))
    matches = [note for note in every if wanted.removesuffix(".md") in (note.name, f"{note.scope}/{note.name}")]
    if not matches:
        known = ", ".join(f"{note.scope}/{note.name}" for note in every) or "there are none"
        raise OvertError(f"there is no note {wanted!r}; notes: {known}")
    if len(matches) > 1:
        raise OvertError(f"two notes are called {wanted!r}; say global/{wanted} or project/{wanted}")
    (note,) = matches
    path = os.path.join(folders.folder(note.scope), f"{note.name}.md")
    try:
        os.unlink(path)
    except OSError as error:
        raise OvertError(f"{path}: the note cannot be removed: {error.strerror}") from None
    return note


def _name_for(text: str) -> str:
    """Return the first words of a note, in any script, as the name of a file."""
    words = "".join(each if each.isalnum() else " " for each in text.split("\n", 1)[0].lower())
    name = "-".join(words.split()[:WORDS])
    while len(name.encode("utf-8", "replace")) > 3 * NAME or len(name) > NAME:
        name = name[:-1]
    return name.strip("-") or "note"


def _free_name(folder: str, name: str) -> str:
    number = 2
    free = name
    while os.path.lexists(os.path.join(folder, f"{free}.md")):
        free = f"{name}-{number}"
        number += 1
    return free
