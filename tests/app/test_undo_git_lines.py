"""What turns did to git, named and put back: the rarer shapes of repositories."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT
from tests.workspace.test_git_process import run_git
from tests.workspace.test_git_state import watch

from overt.app.undo.git_undo import GitUndo, combine, find_undone_with_git
from overt.app.undo.session_undo import UndoResult
from overt.core.errors import OvertError
from overt.core.events import Event, GitMoved, Restored
from overt.sessions.checkpoints import Checkpoints, RestoredChanges, TurnFileChanges
from overt.workspace.git.state import GitReader, differ
from overt.workspace.undo.content_store import ContentStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    run_git(folder, "init", "-q")
    for name in ("one", "two"):
        (folder / "a.txt").write_text(f"{name}\n")
        run_git(folder, "add", "a.txt")
        run_git(folder, "commit", "-qm", name)
    return folder


class Case:
    """A repository in which one turn ran some commands."""

    def __init__(self, root: Path, tmp_path: Path, commands: Iterable[tuple[str, ...]]) -> None:
        self.root = root
        self.before = GitReader(str(root)).read().state
        moves = watch(root, tmp_path, *commands)
        self.turn = TurnFileChanges(turn=3, git=tuple(move for move in moves if isinstance(move, GitMoved)))
        self.points = Checkpoints(turns=(self.turn,))
        self.git = GitUndo(str(root), ContentStore(str(tmp_path / "snapshots")), GIT)

    def lines(self) -> list[str]:
        done = UndoResult(lines=(), facts=(Restored(way="undo", turn=3),))
        return list(self.git.describe(done, self.points, undo="overt undo --git").lines)

    def undo(self) -> UndoResult:
        return self.git.undo(self.points, 0, lambda: UndoResult(lines=()))

    def assert_as_before(self) -> None:
        now = GitReader(str(self.root)).read().state
        assert not differ(now, self.before)
        run_git(self.root, "fsck")


def short(root: Path, name: str = "HEAD") -> str:
    return run_git(root, "rev-parse", name)[:7]


def test_an_amended_commit_is_named_and_put_back(root: Path, tmp_path: Path) -> None:
    old = short(root)
    case = Case(root, tmp_path, [("commit", "--amend", "-qm", "other")])
    new = short(root)
    (line,) = case.lines()
    assert line == (
        f"Turn 3 also moved main from {old} to {new}, where it stays. `git reset --soft {old}` takes it back, "
        "or `overt undo --git`."
    )
    done = case.undo()
    case.assert_as_before()
    assert done.lines == (
        f"Git is as before turn 3: HEAD is main ({old}).",
        f"{new} is kept below refs/overt/undo. `git reset --soft {new}` brings it back.",
    )
    assert done.notice == f"Git was put back as well: HEAD is main ({old})."
    run_git(root, "reset", "--soft", new)
    assert short(root) == new


def test_the_first_commit_of_a_repository_is_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    run_git(root, "init", "-q")
    (root / "a.txt").write_text("a\n")
    case = Case(root, tmp_path, [("add", "a.txt"), ("commit", "-qm", "first")])
    assert case.lines()[0].startswith(f"Turn 3 also made the first commit {short(root)} on main, which stays there.")
    case.undo()
    case.assert_as_before()
    assert not (root / ".git/index").exists()


def test_a_deleted_branch_and_a_tag_are_put_back(root: Path, tmp_path: Path) -> None:
    tip = short(root, "HEAD~1")
    run_git(root, "branch", "side;$x", "HEAD~1")
    case = Case(root, tmp_path, [("branch", "-D", "side;$x"), ("tag", "v1")])
    assert [line.partition(" takes")[0] for line in case.lines()] == [
        f"Turn 3 also deleted side;$x, which was at {tip}. `git branch 'side;$x' {tip}`",
        f"Turn 3 also created v1 at {short(root)}, which stays. `git tag -d v1`",
    ]
    case.undo()
    case.assert_as_before()


def test_commits_on_a_detached_head_are_taken_back(root: Path, tmp_path: Path) -> None:
    run_git(root, "checkout", "-q", "--detach", "HEAD~1")
    old = short(root)
    case = Case(root, tmp_path, [("commit", "-q", "--allow-empty", "-m", "loose")])
    assert case.lines()[0].startswith(f"Turn 3 also switched from {old} to {short(root)}; HEAD stays there.")
    new = short(root)
    assert f"`git branch NAME {new}` brings it back" in case.undo().lines[-1]
    case.assert_as_before()
    assert run_git(root, "for-each-ref", "--format=%(objectname)", "refs/overt/undo").startswith(new)


def test_leaving_a_detached_head_is_taken_back(root: Path, tmp_path: Path) -> None:
    run_git(root, "checkout", "-q", "--detach", "HEAD~1")
    case = Case(root, tmp_path, [("switch", "-q", "main")])
    case.undo()
    run_git(root, "checkout", "-q", "--", "a.txt")
    case.assert_as_before()


def test_a_popped_stash_is_put_back_on_top(root: Path, tmp_path: Path) -> None:
    for name in ("older", "newer"):
        (root / "a.txt").write_text(f"{name}\n")
        run_git(root, "stash", "push", "-qm", name)
    commit = short(root, "stash@{0}")
    case = Case(root, tmp_path, [("stash", "pop", "-q")])
    assert case.lines()[0].startswith(f"Turn 3 also removed a stash entry ({commit}: On main: newer).")
    case.undo()
    case.assert_as_before()


def test_a_stash_with_untracked_files_is_dropped_when_they_are_back(root: Path, tmp_path: Path) -> None:
    (root / "a.txt").write_text("changed\n")
    (root / "new").write_text("new\n")
    case = Case(root, tmp_path, [("stash", "push", "-qum", "all")])
    (root / "a.txt").write_text("changed\n")
    change = combine(case.turn.git)
    problems: list[str] = []
    assert case.git._restore_stash(case.git._repository(change), change, problems) == []
    assert len(problems) == 1
    (root / "new").write_text("new\n")
    done = case.undo()
    case.assert_as_before()
    assert "git stash store" in done.lines[-1]
    run_git(root, "checkout", "-q", "--", "a.txt")
    (root / "new").unlink()
    run_git(root, "stash", "store", "-m", "again", run_git(root, "rev-parse", done.lines[-1].split(" ")[0]))
    run_git(root, "stash", "pop", "-q")
    assert (root / "new").read_text() == "new\n"


def test_dropping_a_stash_entry_in_the_middle_is_refused(root: Path, tmp_path: Path) -> None:
    for name in ("older", "newer"):
        (root / "a.txt").write_text(f"{name}\n")
        run_git(root, "stash", "push", "-qm", name)
    case = Case(root, tmp_path, [("stash", "drop", "-q", "stash@{1}")])
    assert case.lines() == ["Turn 3 also changed the stash. `git reflog stash` shows it."]
    with pytest.raises(OvertError, match="changed older stash entries"):
        case.undo()


def test_a_fetch_is_named_and_not_taken_back(root: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", str(root), str(tmp_path / "clone"))
    run_git(root, "commit", "-q", "--allow-empty", "-m", "upstream")
    case = Case(tmp_path / "clone", tmp_path, [("fetch", "-q")])
    (line,) = case.lines()
    assert line.startswith("Turn 3 also moved refs/remotes/origin/main from ")
    remote = short(tmp_path / "clone", "origin/main")
    case.undo()
    assert short(tmp_path / "clone", "origin/main") == remote == short(root)


def test_a_pull_counts_as_pushed(root: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", str(root), str(tmp_path / "clone"))
    run_git(root, "commit", "-q", "--allow-empty", "-m", "upstream")
    case = Case(tmp_path / "clone", tmp_path, [("pull", "-q", "--ff-only")])
    with pytest.raises(OvertError, match="was pushed, it is in origin/"):
        case.undo()


def test_a_merge_in_progress_is_named_and_refused(root: Path, tmp_path: Path) -> None:
    run_git(root, "switch", "-qc", "other", "HEAD~1")
    (root / "b.txt").write_text("b\n")
    run_git(root, "add", "b.txt")
    run_git(root, "commit", "-qm", "other")
    run_git(root, "switch", "-q", "main")
    case = Case(root, tmp_path, [("merge", "-q", "--no-commit", "--no-ff", "other")])
    assert case.lines() == ["Turn 3 also began a merge, which is still in progress."]
    with pytest.raises(OvertError, match="the turn began or ended a merge"):
        case.undo()


def test_a_change_by_somebody_else_between_two_commands_is_refused(root: Path, tmp_path: Path) -> None:
    first = Case(root, tmp_path, [("commit", "-q", "--allow-empty", "-m", "turn")])
    run_git(root, "commit", "-q", "--allow-empty", "-m", "mine")
    second = Case(root, tmp_path, [("commit", "-q", "--allow-empty", "-m", "turn again")])
    second.points = Checkpoints(turns=(TurnFileChanges(turn=3, git=(*first.turn.git, *second.turn.git)),))
    with pytest.raises(OvertError, match="something else changed git between the commands"):
        second.undo()


def test_going_back_over_several_turns_takes_back_the_git_of_all(root: Path, tmp_path: Path) -> None:
    first = Case(root, tmp_path, [("switch", "-qc", "side")])
    second = Case(root, tmp_path, [("commit", "-q", "--allow-empty", "-m", "x"), ("branch", "third")])
    turns = (TurnFileChanges(turn=2, git=first.turn.git, undone=True), TurnFileChanges(turn=3, git=second.turn.git))
    first.points = Checkpoints(turns=turns)
    done = first.git.undo(first.points, 2, lambda: UndoResult(lines=("files",)))
    first.assert_as_before()
    (fact,) = done.facts
    assert isinstance(fact, GitMoved) and (fact.call_id, fact.turns) == ("restore", (2, 3))
    assert done.lines[0] == "files"


def test_the_last_undo_is_completed_unless_a_later_turn_is_next(root: Path, tmp_path: Path) -> None:
    case = Case(root, tmp_path, [("commit", "-q", "--allow-empty", "-m", "x")])
    undone = TurnFileChanges(turn=3, git=case.turn.git, undone=True)
    later = TurnFileChanges(turn=4, git=case.turn.git)
    redo = (RestoredChanges(turns=(3,), turn=3, changes=()),)
    assert find_undone_with_git(Checkpoints(turns=(undone,), redo=redo)) == [undone]
    assert find_undone_with_git(Checkpoints(turns=(undone, later), redo=redo)) == []
    assert find_undone_with_git(Checkpoints(turns=(undone,))) == []


def test_a_linked_worktree_is_put_back_without_touching_the_main_one(root: Path, tmp_path: Path) -> None:
    side = tmp_path / "side"
    run_git(root, "worktree", "add", "-qb", "side", str(side))
    main = GitReader(str(root)).read().state
    (side / "a.txt").write_text("side\n")
    case = Case(side, tmp_path, [("commit", "-qam", "side")])
    case.undo()
    case.assert_as_before()
    assert not differ(GitReader(str(root)).read().state, main)
    assert (side / "a.txt").read_text() == "side\n"


def test_a_workspace_below_the_repository_is_put_back(root: Path, tmp_path: Path) -> None:
    (root / "deep").mkdir()
    (root / "deep/b.txt").write_text("b\n")
    case = Case(root / "deep", tmp_path, [("add", "b.txt"), ("commit", "-qm", "deep")])
    case.undo()
    case.assert_as_before()


def test_an_index_whose_contents_are_gone_stays_and_is_named(root: Path, tmp_path: Path) -> None:
    (root / "staged").write_text("only in the index\n")
    run_git(root, "add", "staged")
    case = Case(root, tmp_path, [("reset", "-q", "--hard")])
    run_git(root, "prune", "--expire=now")
    index = (root / ".git/index").read_bytes()
    done = case.undo()
    assert any("names contents that git has deleted since" in line for line in done.lines)
    assert (root / ".git/index").read_bytes() == index
    assert sorted(path.name for path in (root / ".git").iterdir() if "lock" in path.name or "tmp" in path.name) == []


def test_a_lock_of_another_git_is_respected(root: Path, tmp_path: Path) -> None:
    (root / "staged").write_text("s\n")
    case = Case(root, tmp_path, [("add", "staged")])
    (root / ".git/index.lock").touch()
    with pytest.raises(OvertError, match="another git process is running here"):
        case.undo()
    assert (root / ".git/index.lock").exists()
    (root / ".git/index.lock").unlink()
    case.undo()
    case.assert_as_before()


def test_without_git_moves_an_undo_with_git_says_so(root: Path, tmp_path: Path) -> None:
    facts: tuple[Event, ...] = (Restored(way="undo", turn=3),)
    case = Case(root, tmp_path, [])
    done = case.git.undo(case.points, 3, lambda: UndoResult(lines=("files",), facts=facts))
    assert (done.lines, done.facts) == (("files", "Turn 3 did not change git."), facts)


def test_without_a_trusted_git_it_is_still_named(root: Path, tmp_path: Path) -> None:
    case = Case(root, tmp_path, [("commit", "-q", "--allow-empty", "-m", "x")])
    case.git = GitUndo(str(root), ContentStore(str(tmp_path / "snapshots")), "")
    (line,) = case.lines()
    assert "`git reset --soft" in line and "--git" not in line
