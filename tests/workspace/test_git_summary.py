"""The summary of a repository for the model: bounded, by a git that runs nothing and is not waited for."""

import os
import subprocess
from pathlib import Path

import pytest

from overt.workspace.git import summary as git_summary
from overt.workspace.git.summary import GitSummary, SummaryReader, start_summary


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def start(folder: Path, project: Path | None = None) -> SummaryReader | None:
    return start_summary(str(folder), str(project or folder), search_path=os.environ["PATH"], writable=(str(folder),))


def read(folder: Path) -> GitSummary | None:
    reader = start(folder)
    assert reader is not None
    return reader.finish()


def test_there_is_nothing_to_read_without_a_repository_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    assert start(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert start(tmp_path / "below") is None


def test_a_repository_without_commits_has_changes_only(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert read(tmp_path) == GitSummary(changes=(), change_count=0, commits=())
    (tmp_path / "a.txt").write_text("a\n")
    summary = read(tmp_path)
    assert summary == GitSummary(changes=("?? a.txt",), change_count=1, commits=())
    assert summary.text() == "Uncommitted changes (1):\n?? a.txt"


def test_a_linked_worktree_is_read_as_itself(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first\nand\ttabs")
    git(main, "worktree", "add", "-q", "-b", "side", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "second")
    (other / "b.txt").write_text("b\n")
    summary = read(other)
    assert summary is not None and summary.changes == ("?? b.txt",)
    assert [line.partition(" ")[2] for line in summary.commits] == ["second", "first and tabs"]


@pytest.mark.parametrize(
    "section", ['[filter "x"]\n\tclean = touch pwned', "[INCLUDE]\n\tpath = /x", '[includeIf "gitdir:/x"]']
)
def test_files_are_not_compared_where_only_settings_keep_git_from_running_a_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: str
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    (tmp_path / "a.txt").write_text("a\n")
    monkeypatch.setattr(git_summary, "_runs_nothing_else", lambda program: False)
    summary = read(tmp_path)
    assert summary is not None and summary.changes == ("?? a.txt",)
    config = tmp_path / ".git/config"
    config.write_text(f"{config.read_text()}{section}\n")
    summary = read(tmp_path)
    assert summary is not None and summary.changes is None
    assert summary.text().startswith("Last commits:\n")
    assert not (tmp_path / "pwned").exists()


def test_a_git_that_waits_is_ended_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a\n")
    os.mkfifo(tmp_path / ".gitignore")
    monkeypatch.setattr(git_summary, "DEADLINE_S", 0.3)
    reader = start(tmp_path)
    assert reader is not None
    assert reader.finish() is None
    assert None not in [child.returncode for child in reader._children]


def test_a_git_that_waits_can_be_ended_from_outside(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a\n")
    os.mkfifo(tmp_path / ".gitignore")
    reader = start(tmp_path)
    assert reader is not None
    reader.kill()
    assert reader.finish() == GitSummary(changes=None, change_count=0, commits=())
