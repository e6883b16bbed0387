"""The notes of a person and of the model as `/memory`, `overt memory` and the memory tool show and change them."""

import os
from collections.abc import Mapping
from time import strftime

from msgspec import Struct
from msgspec.structs import replace

from overt.app.context.prefix import note_folders, project_rules
from overt.app.redaction.secrets import make_redactor
from overt.app.setting import Setting
from overt.core.capabilities import RecalledNote
from overt.core.errors import OvertError, UsageError
from overt.extensions import memory
from overt.extensions.instructions import read_source
from overt.extensions.note_sources import Change, find_changes, hash_sources
from overt.lib.paths import display_path
from overt.lib.translations import say

MOST_RECALLED = 10


class NoteRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A note or a file of rules. `stale` says which files it speaks of have changed since it was written."""

    name: str
    first: str
    size: int
    path: str
    by: str = ""
    session: str = ""
    turn: int = 0
    files: tuple[str, ...] = ()
    stale: str = ""


class Notebook:
    """The notes of one project and those for all. What is written into one holds no secret.

    `session` and `turn` are where a note comes from that is added now.
    """

    def __init__(self, setting: Setting, *, session: str = "", turn: int = 0) -> None:
        self._setting = setting
        self._folders = note_folders(setting)
        self._project = setting.roots.project
        self._session = session
        self._turn = turn

    def rows(self) -> tuple[NoteRow, ...]:
        """Rules of the project, then notes, in the order in which they join."""
        rules = (
            NoteRow(name=piece.where, first=_first(text), size=len(text), path=self._shown(piece.path))
            for piece in project_rules(self._setting)
            if (text := piece.content.decode("utf-8", "replace").strip())
        )
        return (*rules, *self._notes())

    def _notes(self) -> tuple[NoteRow, ...]:
        """Those for every project, the file of the project, those for this project."""
        path = os.path.join(self._project, memory.PROJECT_FILE)
        file = read_source(path, memory.PROJECT_FILE)
        text = file.content.decode("utf-8", "replace").strip() if file else ""
        own = NoteRow(name=memory.PROJECT_FILE, first=_first(text), size=len(text), path=self._shown(path))
        return (*self._rows("global"), *((own,) if text else ()), *self._rows("project"))

    def _rows(self, scope: memory.Scope) -> tuple[NoteRow, ...]:
        return tuple(
            NoteRow(
                name=note.id,
                first=note.first,
                size=len(note.text),
                path=self._shown(self._folders.path(scope, note.name)),
                by=note.origin.by,
                session=note.origin.session,
                turn=note.origin.turn,
                files=tuple(note.origin.files),
                stale=self._stale(note),
            )
            for note in memory.list_notes(self._folders, scope)
        )

    def _stale(self, note: memory.Note) -> str:
        return describe_changes(find_changes(note.origin.files, self._project))

    def warnings(self) -> tuple[str, ...]:
        """What is longer than what joins."""
        recipe, rows = self._setting.config.recipe, self._notes()
        warnings = [
            say("memory.cut", where=row.name, size=row.size, cap=recipe.cap("memory"))
            for row in rows
            if row.name == memory.PROJECT_FILE and row.size > recipe.cap("memory")
        ]
        for scope in memory.SCOPES:
            size = sum(row.size for row in rows if row.name.startswith(f"{scope}/"))
            if size > recipe.cap("notes"):
                warnings.append(say("memory.cut", where=f"{scope}/", size=size, cap=recipe.cap("notes")))
        return tuple(warnings)

    def add(self, text: str, *, everywhere: bool, by: memory.Author = "person") -> str:
        text = make_redactor(self._setting).clean(text)
        origin = memory.NoteOrigin(
            by=by,
            session=self._session,
            turn=self._turn,
            created=strftime("%Y-%m-%d"),
            files={} if everywhere else hash_sources(text, self._project),
        )
        return memory.add_note(self._folders, "global" if everywhere else "project", text, origin).id

    def remove(self, name: str) -> str:
        return memory.remove_note(self._folders, name).id

    def keep(self, name: str) -> str:
        """Say that a note is right although its files have changed: their hashes are taken anew."""
        note = memory.find_note(self._folders, name)
        files = hash_sources(note.text, self._project) if note.scope == "project" else {}
        memory.update_note(self._folders, note, replace(note.origin, by=note.origin.by or "person", files=files))
        return note.id

    def undo(self) -> str:
        """Take the last change back. Return what was done about it."""
        change = memory.undo_change(self._folders)
        if change is None:
            raise OvertError(say("memory.no_undo"))
        key = "memory.undone_add" if change.before is None else "memory.undone"
        return say(key, name=f"{change.scope}/{change.name}")

    def recall(self, query: str) -> tuple[RecalledNote, ...]:
        """Return the notes that fit a query best, or all without one."""
        from overt.lib.text_search import rank  # late: 0.5 ms

        notes = {note.id: note for scope in memory.SCOPES for note in memory.list_notes(self._folders, scope)}
        texts = {name: f"{name} {note.text}" for name, note in notes.items()}
        names = rank(query, texts, MOST_RECALLED) if query.strip() else [*notes]
        return tuple(RecalledNote(name=name, text=notes[name].text, stale=self._stale(notes[name])) for name in names)

    def _shown(self, path: str) -> str:
        return display_path(path, self._project, self._setting.environment.home)


def describe_changes(changes: Mapping[str, Change]) -> str:
    """Return which files have changed or are gone, or an empty string."""
    return ", ".join(say(f"memory.file_{change}", file=path) for path, change in changes.items())


def run_memory_command(book: Notebook, argument: str, *, how: str) -> tuple[str, ...]:
    """Do what one line of words asks for, as a person types it, and return the answer."""
    verb, _, rest = argument.strip().partition(" ")
    rest = rest.strip()
    match verb:
        case "" | "list" if not rest:
            return note_lines(book, how=how)
        case "add":
            everywhere = rest.split(maxsplit=1)[:1] == ["--global"]
            text = rest.removeprefix("--global") if everywhere else rest
            name = book.add(text, everywhere=everywhere)
            return (say("memory.added", name=name, how=how),)
        case "remove" | "rm" if rest:
            return (say("memory.removed", name=book.remove(rest)),)
        case "keep" if rest:
            return (say("memory.kept", name=book.keep(rest)),)
        case "undo" if not rest:
            return (book.undo(),)
        case _:
            raise UsageError(say("memory.usage", how=how))


def note_lines(book: Notebook, *, how: str) -> tuple[str, ...]:
    rows = book.rows()
    if not rows:
        return (say("memory.none", how=how),)
    return (say("memory.head"), *map(_line, rows), *book.warnings())


def _line(row: NoteRow) -> str:
    notes = [say("memory.stale", changes=row.stale)] if row.stale else []
    notes += [say("memory.by_model", session=row.session[:8], turn=row.turn)] if row.by == "model" else []
    suffix = f"  [{'; '.join(notes)}]" if notes else ""
    return f"  {row.size:6}  {row.name}  {row.first}{suffix}"


def _first(text: str) -> str:
    return text.split("\n", 1)[0].lstrip("# ").strip()
