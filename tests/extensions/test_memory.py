"""Private notes: one small file each, for everywhere or for one project."""

import os
import stat
from pathlib import Path

import pytest

from overt.core.errors import OvertError
from overt.extensions.memory import LONGEST, Note, NoteFolders, add_note, list_notes, note_folders, remove_note


@pytest.fixture
def where(tmp_path: Path) -> NoteFolders:
    return note_folders(str(tmp_path / "config"), str(tmp_path / "data"), "/some/project")


def names(where: NoteFolders) -> list[str]:
    return [f"{note.scope}/{note.name}" for note in (*list_notes(where, "global"), *list_notes(where, "project"))]


def test_a_note_is_a_private_file_named_after_its_words(where: NoteFolders) -> None:
    made = add_note(where, "project", "  Use pnpm, not npm!\nIt is faster.  ")
    assert made == Note(
        scope="project",
        name="use-pnpm-not-npm",
        text="Use pnpm, not npm!\nIt is faster.",
        content=b"Use pnpm, not npm!\nIt is faster.\n",
    )
    path = Path(where.project, "use-pnpm-not-npm.md")
    assert path.read_bytes() == made.content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(os.stat(where.project).st_mode) == 0o700
    assert list_notes(where, "project") == (made,)
    assert list_notes(where, "global") == ()


def test_notes_are_sorted_whatever_the_order_they_were_made_in(where: NoteFolders) -> None:
    for text in ("zebra", "apple", "提交前先跑测试。", "zebra", "!!!"):
        add_note(where, "global", text)
    assert names(where) == [
        "global/apple",
        "global/note",
        "global/zebra",
        "global/zebra-2",
        "global/提交前先跑测试",
    ]


def test_two_projects_do_not_share_notes(tmp_path: Path, where: NoteFolders) -> None:
    add_note(where, "project", "one")
    assert list_notes(note_folders(str(tmp_path / "config"), str(tmp_path / "data"), "/other/project"), "project") == ()


def test_what_is_no_note_is_passed_over(where: NoteFolders) -> None:
    os.makedirs(where.everywhere)
    Path(where.everywhere, "empty.md").write_text(" \n")
    Path(where.everywhere, ".hidden.md").write_text("hidden")
    Path(where.everywhere, "other.txt").write_text("other")
    os.mkfifo(Path(where.everywhere, "pipe.md"))
    os.mkdir(Path(where.everywhere, "folder.md"))
    Path(where.everywhere, "bad.md").write_bytes(b"\xff bytes")
    assert [(note.name, note.text) for note in list_notes(where, "global")] == [("bad", "\ufffd bytes")]


def test_a_note_goes_by_its_name_and_by_its_place_where_two_have_one(where: NoteFolders) -> None:
    add_note(where, "global", "same")
    add_note(where, "project", "same")
    add_note(where, "project", "other")
    assert remove_note(where, "other").name == "other"
    with pytest.raises(OvertError, match="two notes are called 'same'; say global/same or project/same"):
        remove_note(where, "same")
    remove_note(where, "project/same")
    assert names(where) == ["global/same"]
    with pytest.raises(OvertError, match="there is no note 'x'; notes: global/same"):
        remove_note(where, "x")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "", "..", "global/../same"])
def test_no_name_leads_out_of_the_notes(where: NoteFolders, name: str) -> None:
    add_note(where, "global", "same")
    with pytest.raises(OvertError, match="there is no note"):
        remove_note(where, name)
    assert names(where) == ["global/same"]


def test_a_note_without_words_or_with_too_many_is_refused(where: NoteFolders) -> None:
    for text in ("", "  \n", "x" * (LONGEST + 1)):
        with pytest.raises(OvertError):
            add_note(where, "global", text)
    assert names(where) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file")
    with pytest.raises(OvertError, match="config/memory: the note cannot be written"):
        add_note(note_folders(str(tmp_path / "config"), str(tmp_path / "data"), "/p"), "global", "text")
