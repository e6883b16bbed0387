"""Notes as a person lists, adds and removes them."""

from pathlib import Path

import pytest

from overt.app.context.memory_notes import Notebook, NoteRow, run_memory_command
from overt.app.options import Options
from overt.app.setting import read_setting
from overt.core.errors import OvertError

KEY = "sk-notes-5f0c2e7a91b84d63aa"


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "OVERT.md").write_text("# Kept here\nmore\n")
    return Notebook(read_setting(Options(directory=str(tmp_path))))


def do(book: Notebook, text: str) -> tuple[str, ...]:
    return run_memory_command(book, text, how="/memory")


def test_notes_are_added_listed_and_removed(book: Notebook) -> None:
    assert do(book, "add Use pnpm") == (
        "Noted as project/use-pnpm. It joins at the start of the next session. `/memory undo` takes it back.",
    )
    assert do(book, "add  --global 提交前跑测试") == (
        "Noted as global/提交前跑测试. It joins at the start of the next session. `/memory undo` takes it back.",
    )
    assert do(book, "") == do(book, "list")
    assert do(book, "") == (
        "They join at the start of a session.",
        "       6  global/提交前跑测试  提交前跑测试",
        "      16  OVERT.md  Kept here",
        "       8  project/use-pnpm  Use pnpm",
    )
    assert do(book, "remove use-pnpm") == ("Removed project/use-pnpm. It goes at the start of the next session.",)
    assert [row.name for row in book.rows()] == ["global/提交前跑测试", "OVERT.md"]


def test_a_row_says_where_its_file_is(book: Notebook) -> None:
    do(book, "add --global Be kind")
    assert book.rows()[0] == NoteRow(
        name="global/be-kind", first="Be kind", size=7, path="~/.config/overt/memory/be-kind.md", by="person"
    )


def test_no_secret_reaches_a_note(book: Notebook, a_home_of_its_own: Path) -> None:
    do(book, f"add the key is {KEY}")
    held = [path.read_text() for path in a_home_of_its_own.rglob("*.md")]
    assert len(held) == 1
    assert KEY not in held[0]
    assert all(KEY not in path.name for path in a_home_of_its_own.rglob("*"))


def test_what_is_longer_than_what_joins_is_told(tmp_path: Path, book: Notebook) -> None:
    (tmp_path / "OVERT.md").write_text("x" * 9000)
    do(book, "add " + "a" * 7000)
    do(book, "add " + "b" * 7000)
    assert book.warnings() == (
        "OVERT.md: 9000 characters, of which 8000 join",
        "project/: 14000 characters, of which 8000 join",
    )


@pytest.mark.parametrize("words", ["list more", "remove", "forget x", "--global", "Add x"])
def test_other_words_are_answered_with_the_usage(book: Notebook, words: str) -> None:
    with pytest.raises(OvertError) as caught:
        do(book, words)
    assert caught.value.message == "/memory takes: nothing, add [--global] TEXT, remove NAME, keep NAME, or undo"


def test_there_may_be_none(tmp_path: Path, book: Notebook) -> None:
    (tmp_path / "OVERT.md").unlink()
    assert do(book, "") == ("There are no notes yet. Add one: /memory add TEXT",)


def test_files_of_rules_are_listed_with_their_place_and_cannot_be_removed(tmp_path: Path, book: Notebook) -> None:
    (tmp_path / "AGENTS.md").write_text("# House rules\nmore\n")
    assert [(row.name, row.first, row.path) for row in book.rows()] == [
        ("AGENTS.md", "House rules", "AGENTS.md"),
        ("OVERT.md", "Kept here", "OVERT.md"),
    ]
    with pytest.raises(OvertError):
        do(book, "remove AGENTS.md")
