"""The state of a repository as its files tell it, compared with what git itself says."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.workspace.test_git_process import run_git

from overt.core.events import Event, GitMoved
from overt.core.file_states import GitState, StashEntry
from overt.workspace.git import state as git_state
from overt.workspace.git.state import GitReader, GitReading, differ, digest_index
from overt.workspace.undo.content_store import ContentStore
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.snapshot_keeper import SnapshotKeeper


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    run_git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    run_git(folder, "add", "a.txt")
    run_git(folder, "commit", "-qm", "first")
    return folder


def read(root: Path) -> GitState:
    return GitReader(str(root)).read().state


def assert_as_git_says(state: GitState, root: Path) -> None:
    lines = run_git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    refs = dict(line.split(" ") for line in lines)
    refs.pop("refs/stash", None)
    assert state.refs == refs
    assert state.commit == run_git(root, "rev-parse", "HEAD")
    stash = run_git(root, "log", "-g", "--format=%H %gs", "refs/stash", "--") if state.stash else ""
    assert [f"{each.commit} {each.message}" for each in state.stash] == stash.splitlines()


def test_head_refs_and_stash_are_read_as_git_says_them_loose_and_packed(root: Path) -> None:
    reader = GitReader(str(root / "deep"))
    steps = [
        ("branch", "feature/x"),
        ("tag", "v1"),
        ("pack-refs", "--all"),
        ("commit", "--allow-empty", "-qm", "second"),
        ("switch", "-q", "feature/x"),
        ("stash", "push", "-qm", "my work"),
        ("stash", "push", "-qm", "更多"),
        ("pack-refs", "--all"),
        ("checkout", "-q", "--detach"),
        ("branch", "-D", "main"),
    ]
    for number, words in enumerate(steps):
        (root / "a.txt").write_text(f"{number}\n")
        run_git(root, *words)
        run_git(root, "checkout", "-q", "--", "a.txt")
        state = reader.read().state
        assert_as_git_says(state, root)
    assert (state.head, len(state.stash)) == ("", 2)
    assert reader.read().state == state


def test_a_linked_worktree_has_its_own_head_and_index_and_shared_refs(root: Path, tmp_path: Path) -> None:
    run_git(root, "worktree", "add", "-qb", "side", str(tmp_path / "side"))
    state = read(tmp_path / "side")
    assert git_state.find_repository(str(tmp_path / "side")) == git_state.Repository(
        str(root / ".git/worktrees/side"), str(root / ".git"), str(tmp_path / "side")
    )
    assert state.head == "refs/heads/side"
    assert_as_git_says(state, tmp_path / "side")
    main = read(root)
    (tmp_path / "side/new").write_text("n")
    run_git(tmp_path / "side", "add", "new")
    assert read(root) == main
    assert read(tmp_path / "side").index != state.index


def test_a_folder_without_a_repository_has_an_empty_state(tmp_path: Path) -> None:
    assert GitReader(str(tmp_path)).read() == GitReading()
    run_git(tmp_path, "init", "-q")
    state = read(tmp_path)
    assert (state.head, state.commit, state.exists) == ("refs/heads/main", "", True)


@pytest.mark.parametrize("version", ["2", "4"])
def test_the_digest_of_the_index_follows_entries_and_not_times(root: Path, version: str) -> None:
    names = ["x" * 200, "名前", "deep/a", "deep/b", "y" * 4100] if os.pathconf("/", "PC_NAME_MAX") > 5000 else ["名前"]
    names += ["deep/" + "long" * 40 + "/" + "name" * 50]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    run_git(root, "add", "-A")
    run_git(root, "update-index", "--index-version", version)
    first = read(root)
    os.utime(root / "a.txt", (1, 1))
    run_git(root, "update-index", "--refresh")
    assert (root / ".git/index").read_bytes()[:8] == b"DIRC\0\0\0" + bytes([int(version)])
    second = read(root)
    assert second.index_mtime != first.index_mtime and not differ(first, second)
    run_git(root, "update-index", "--chmod=+x", "a.txt")
    third = read(root)
    assert third.index != first.index
    run_git(root, "rm", "-q", "--cached", names[0])
    assert read(root).index not in (first.index, third.index)
    (root / "later").write_text("later")
    run_git(root, "add", "--intent-to-add", "later")
    assert read(root).index not in (first.index, third.index)


def test_the_digest_of_a_damaged_index_is_that_of_its_bytes() -> None:
    assert len({digest_index(raw) for raw in (b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\1", b"other")}) == 4


def test_an_operation_in_progress_is_named(root: Path) -> None:
    run_git(root, "switch", "-qc", "other")
    (root / "a.txt").write_text("theirs\n")
    run_git(root, "commit", "-qam", "theirs")
    run_git(root, "switch", "-q", "main")
    (root / "a.txt").write_text("ours\n")
    run_git(root, "commit", "-qam", "ours")
    with pytest.raises(Exception, match="returned non-zero"):
        run_git(root, "merge", "other")
    assert read(root).operation == "merge"


@pytest.mark.parametrize("name", ["HEAD", "packed-refs", "index", "refs/heads/main", "logs/refs/stash"])
def test_a_pipe_or_a_link_in_place_of_a_file_of_git_makes_nothing_wait(root: Path, name: str) -> None:
    path = root / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    GitReader(str(root)).read()
    path.unlink()
    path.symlink_to("/dev/zero")
    GitReader(str(root)).read()


def watch(root: Path, tmp_path: Path, *commands: tuple[str, ...]) -> list[Event]:
    """Run each command as a call of its own and return what was recorded."""
    facts: list[Event] = []

    async def main() -> None:
        it = SnapshotKeeper(ContentStore(str(tmp_path / "snapshots")), None, git=GitReader(str(root)))
        for number, words in enumerate(commands):
            async with it.around(f"c{number}", UndoRecorder(facts.append)):
                await asyncio.to_thread(run_git, root, *words)
        await it.wait_for_pending_snapshots()

    asyncio.run(main())
    return [fact for fact in facts if isinstance(fact, GitMoved)]


def test_a_command_that_moves_git_is_recorded_with_the_refs_that_differ(root: Path, tmp_path: Path) -> None:
    run_git(root, "branch", "other")
    first = run_git(root, "rev-parse", "HEAD")
    index = (root / ".git/index").read_bytes()
    (root / "b.txt").write_text("b\n")
    facts = watch(root, tmp_path, ("status",), ("add", "b.txt"), ("commit", "-qm", "second"), ("log",))
    second = run_git(root, "rev-parse", "HEAD")
    staged, committed = facts
    assert isinstance(staged, GitMoved) and isinstance(committed, GitMoved)
    assert (staged.call_id, staged.before.refs, staged.after.refs) == ("c1", {}, {})
    assert ContentStore(str(tmp_path / "snapshots")).get(staged.before.index_copy) == index
    assert staged.before.index != staged.after.index == committed.before.index
    assert (committed.call_id, committed.before.refs) == ("c2", {"refs/heads/main": first})
    assert committed.after.refs == {"refs/heads/main": second}
    assert (committed.before.head, committed.after.commit) == ("refs/heads/main", second)


def test_a_stash_is_recorded_with_its_message(root: Path, tmp_path: Path) -> None:
    (root / "a.txt").write_text("changed\n")
    (fact,) = watch(root, tmp_path, ("stash", "push", "-qm", "half done"))
    assert isinstance(fact, GitMoved) and fact.before.stash == ()
    commit = run_git(root, "rev-parse", "refs/stash")
    assert fact.after.stash == (StashEntry(commit=commit, message="On main: half done"),)
