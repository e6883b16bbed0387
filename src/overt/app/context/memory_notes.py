"""The notes of a person as `/memory` and `overt memory` show and change them."""

import os

from msgspec import Struct

from overt.app.context.prefix import note_folders, project_rules
from overt.app.redaction.secrets import make_redactor
from overt.app.setting import Setting
from overt.core.errors import UsageError
from overt.extensions import memory
from overt.extensions.instructions import read_source
from overt.lib.paths import display_path
from overt.lib.translations import say


class NoteRow(Struct, frozen=True, kw_only=True):
    name: str
    first: str
    size: int
    path: str


class Notebook:
    """The notes of one project and those for all. What is written into one holds no secret."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._folders = note_folders(setting)

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
        path = os.path.join(self._setting.roots.project, memory.PROJECT_FILE)
        file = read_source(path, memory.PROJECT_FILE)
        text = file.content.decode("utf-8", "replace").strip() if file else ""
        own = NoteRow(name=memory.PROJECT_FILE, first=_first(text), size=len(text), path=self._shown(path))
        return (*self._rows("global"), *((own,) if text else ()), *self._rows("project"))

    def _rows(self, scope: memory.Scope) -> tuple[NoteRow, ...]:
        folder = self._folders.folder(scope)
        return tuple(
            NoteRow(
                name=f"{scope}/{note.name}",
                first=note.first,
                size=len(note.text),
                path=self._shown(os.path.join(folder, f"{note.name}.md")),
            )
            for note in memory.list_notes(self._folders, scope)
        )

    def warnings(self) -> tuple[str, ...]:
        """What is longer than what joins."""
        recipe, rows = self._setting.config.recipe, self._notes()
        warnings = [
            say("memory.cut", where=row.name, size=row.size, cap=recipe.cap("memory"))
            for row in rows
            if row.name == memory.PROJECT_FILE and row.size > recipe.cap("memory")
        ]
        for scope in ("global", "project"):
            size = sum(row.size for row in rows if row.name.startswith(f"{scope}/"))
            if size > recipe.cap("notes"):
                warnings.append(say("memory.cut", where=f"{scope}/", size=size, cap=recipe.cap("notes")))
        return tuple(warnings)

    def add(self, text: str, *, everywhere: bool) -> str:
        clean = make_redactor(self._setting).clean
        note = memory.add_note(self._folders, "global" if everywhere else "project", clean(text))
        return f"{note.scope}/{note.name}"

    def remove(self, name: str) -> str:
        note = memory.remove_note(self._folders, name)
        return f"{note.scope}/{note.name}"

    def _shown(self, path: str) -> str:
        return display_path(path, self._setting.roots.project, self._setting.environment.home)


def run_memory_command(book: Notebook, argument: str, *, how: str) -> tuple[str, ...]:
    """One line of words, as a person types it: what to tell them."""
    verb, _, rest = argument.strip().partition(" ")
    rest = rest.strip()
    match verb:
        case "" | "list" if not rest:
            return note_lines(book, how=how)
        case "add":
            everywhere = rest.split(maxsplit=1)[:1] == ["--global"]
            text = rest.removeprefix("--global") if everywhere else rest
            return (say("memory.added", name=book.add(text, everywhere=everywhere)),)
        case "remove" | "rm" if rest:
            return (say("memory.removed", name=book.remove(rest)),)
        case _:
            raise UsageError(say("memory.usage", how=how))


def note_lines(book: Notebook, *, how: str) -> tuple[str, ...]:
    rows = book.rows()
    if not rows:
        return (say("memory.none", how=how),)
    lines = (f"  {row.size:6}  {row.name}  {row.first}" for row in rows)
    return (say("memory.head"), *lines, *book.warnings())


def _first(text: str) -> str:
    return text.split("\n", 1)[0].lstrip("# ").strip()
