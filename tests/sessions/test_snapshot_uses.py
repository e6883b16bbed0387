"""Which snapshots the turns of a session need, read from its file."""

from pathlib import Path

from overt.core.events import GitMoved, SnapshotTaken, TreeTaken
from overt.core.file_states import GitState
from overt.sessions.log import SessionLog
from overt.sessions.snapshot_uses import read_uses

A, B, C = "a" * 64, "b" * 64, "c" * 64
ONE, TWO = "1" * 40, "2" * 40


def test_files_trees_and_the_copy_of_the_git_index_are_needed(tmp_path: Path) -> None:
    log = SessionLog.create(str(tmp_path), workspace="/w", project="/w", overt="0")
    log.append(SnapshotTaken(call_id="c1", path="f", existed=True, hash=A, after=B), turn=1, step=1)
    log.append(TreeTaken(call_id="c2", before=ONE, after=TWO), turn=1, step=2)
    moved = GitMoved(call_id="c2", git_dir="/w/.git", before=GitState(index_copy=C), after=GitState(commit="d" * 40))
    log.append(moved, turn=1, step=2)
    log.close()
    (use,) = read_uses([log.path])
    assert (set(use.trees), set(use.contents), use.before_contents) == ({ONE, TWO}, {A, B, C}, (A, C))
