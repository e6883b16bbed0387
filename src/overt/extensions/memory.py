"""Private notes: small files beside the configuration and beside the sessions of a project, never in the project.

    ---
    by: "model"                            who wrote it, in which session and turn
    session: "1a2b3c4d"
    turn: 3
    created: "2026-11-18"
    files: {"Makefile": "9f86d0…"}         what it speaks of, as it was then (`note_sources`)
    ---
    `make test` needs a running database.

The head is written by Overt: a field a line, its value JSON. Files without it are notes too.
"""

import os
from typing import Literal

from msgspec import DecodeError, Struct, ValidationError, convert, json, to_builtins

from overt.core.errors import OvertError
from overt.lib.atomic import replace
from overt.lib.paths import slug
from overt.lib.read_file import read_regular

PROJECT_FILE = "OVERT.md"
LARGEST = 64 * 1024
MOST = 200
LONGEST = 8000
WORDS, NAME = 6, 40
MOST_UNDONE = 50
"""Changes that can be taken back."""
UNDO_FILE = ".changes.json"
FENCE = "---\n"

Scope = Literal["global", "project"]
SCOPES: tuple[Scope, Scope] = ("global", "project")
Author = Literal["person", "model", ""]


class NoteOrigin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who wrote a note, when, and the hashes of the files of the project that it speaks of."""

    by: Author = ""
    session: str = ""
    turn: int = 0
    created: str = ""
    files: dict[str, str] = {}


UNKNOWN = NoteOrigin()


class Note(Struct, frozen=True, kw_only=True):
    """`content` is the whole file, of which the text begins at the character `start`."""

    scope: Scope
    name: str
    text: str
    content: bytes
    start: int = 0
    origin: NoteOrigin = UNKNOWN

    @property
    def id(self) -> str:
        return f"{self.scope}/{self.name}"

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

    def path(self, scope: Scope, name: str) -> str:
        return os.path.join(self.folder(scope), f"{name}.md")


class NoteChange(Struct, frozen=True, kw_only=True):
    """A change that can be taken back. `before` and `after` are the texts of the file; None: there is none."""

    scope: Scope
    name: str
    before: str | None = None
    after: str | None = None


def note_folders(config_dir: str, data_dir: str, project: str) -> NoteFolders:
    return NoteFolders(
        everywhere=os.path.join(config_dir, "memory"), project=os.path.join(data_dir, "memory", slug(project))
    )


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────


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
            content, _ = read_regular(folders.path(scope, name), LARGEST)
        except OSError:
            continue
        note = _read_note(scope, name, content)
        if note.text:
            notes.append(note)
    return tuple(notes)


def find_note(folders: NoteFolders, wanted: str) -> Note:
    """Find a note by its name, or by scope and name where both folders have one of that name."""
    every = [note for scope in SCOPES for note in list_notes(folders, scope)]
    matches = [note for note in every if wanted.removesuffix(".md") in (note.name, note.id)]
    if not matches:
        known = ", ".join(note.id for note in every) or "there are none"
        raise OvertError(f"there is no note {wanted!r}; notes: {known}")
    if len(matches) > 1:
        raise OvertError(f"two notes are called {wanted!r}; say global/{wanted} or project/{wanted}")
    return matches[0]


def _read_note(scope: Scope, name: str, content: bytes) -> Note:
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    head, end, _ = text.removeprefix(FENCE).partition(f"\n{FENCE}") if text.startswith(FENCE) else ("", "", "")
    origin = _read_head(head) if end else None
    start = len(FENCE) + len(head) + len(end) if origin else 0
    return Note(
        scope=scope, name=name, text=text[start:].strip(), content=content, start=start, origin=origin or UNKNOWN
    )


def _read_head(head: str) -> NoteOrigin | None:
    """Read the fields that Overt writes. Return None for front matter of somebody else, which belongs to the text."""
    fields: dict[str, object] = {}
    for line in head.splitlines():
        name, colon, value = line.partition(": ")
        try:
            fields[name] = json.decode(value)
        except DecodeError:
            return None
        if not colon:
            return None
    try:
        return convert(fields, NoteOrigin) if "by" in fields else None
    except ValidationError:
        return None


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────


def add_note(folders: NoteFolders, scope: Scope, text: str, origin: NoteOrigin = UNKNOWN) -> Note:
    text = text.strip()
    if not text:
        raise OvertError("a note needs words: give them after `add`")
    if len(text) > LONGEST:
        raise OvertError(f"a note has {LONGEST} characters at most, this one {len(text)}; write it into a file instead")
    folder = folders.folder(scope)
    content = format_note(text, origin)
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = _free_name(folder, _name_for(text))
        replace(folders.path(scope, name), content)
    except OSError as error:
        raise OvertError(f"{folder}: the note cannot be written: {error.strerror}") from None
    _record(folders, NoteChange(scope=scope, name=name, after=content.decode()))
    return _read_note(scope, name, content)


def format_note(text: str, origin: NoteOrigin) -> bytes:
    fields = to_builtins(origin) if origin != UNKNOWN else {}
    head = "".join(f"{name}: {json.encode(value).decode()}\n" for name, value in fields.items())
    return ((f"{FENCE}{head}{FENCE}" if head else "") + text + "\n").encode("utf-8", "replace")


def update_note(folders: NoteFolders, note: Note, origin: NoteOrigin) -> None:
    """Write a note again with another origin, as when its files were looked at anew."""
    content = format_note(note.text, origin)
    _put(folders, NoteChange(scope=note.scope, name=note.name, after=content.decode()))
    change = NoteChange(scope=note.scope, name=note.name, before=_decode(note.content), after=content.decode())
    _record(folders, change)


def remove_note(folders: NoteFolders, wanted: str) -> Note:
    note = find_note(folders, wanted)
    _put(folders, NoteChange(scope=note.scope, name=note.name))
    _record(folders, NoteChange(scope=note.scope, name=note.name, before=_decode(note.content)))
    return note


def undo_change(folders: NoteFolders) -> NoteChange | None:
    """Take back the last change of the notes. Return None if there is none.

    A note that was changed since by somebody else is left as it is, with an error.
    """
    changes = _changes(folders)
    if not changes:
        return None
    last = changes[-1]
    path = folders.path(last.scope, last.name)
    try:
        now: str | None = _decode(read_regular(path, LARGEST)[0])
    except OSError:
        now = None
    if now != last.after:
        raise OvertError(f"{path}: the note was changed since; it is left as it is")
    _put(folders, NoteChange(scope=last.scope, name=last.name, after=last.before))
    _save_changes(folders, changes[:-1])
    return last


def _put(folders: NoteFolders, change: NoteChange) -> None:
    path = folders.path(change.scope, change.name)
    try:
        if change.after is None:
            os.unlink(path)
        else:
            replace(path, change.after.encode("utf-8", "replace"))
    except OSError as error:
        verb = "removed" if change.after is None else "written"
        raise OvertError(f"{path}: the note cannot be {verb}: {error.strerror}") from None


def _changes(folders: NoteFolders) -> list[NoteChange]:
    try:
        content, _ = read_regular(os.path.join(folders.project, UNDO_FILE), 2 * MOST_UNDONE * LARGEST)
        return json.decode(content, type=list[NoteChange])
    except (OSError, DecodeError):  # a ValidationError is one
        return []


def _record(folders: NoteFolders, change: NoteChange) -> None:
    _save_changes(folders, [*_changes(folders), change][-MOST_UNDONE:])


def _save_changes(folders: NoteFolders, changes: list[NoteChange]) -> None:
    try:
        os.makedirs(folders.project, mode=0o700, exist_ok=True)
        replace(os.path.join(folders.project, UNDO_FILE), json.encode(changes), sync=False)
    except OSError as error:
        raise OvertError(f"{folders.project}: the change cannot be recorded: {error.strerror}") from None


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "replace")


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
