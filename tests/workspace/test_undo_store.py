"""A store of snapshots that is swept: what is needed stays byte for byte, the rest gives its space back."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT, shadow

from overt.workspace.undo import shadow_store as undo_store
from overt.workspace.undo.content_store import ContentStore, list_contents, remove_contents
from overt.workspace.undo.restore import name_in_git
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.shadow_repository import Shadow
from overt.workspace.undo.shadow_store import ShadowStore, SnapshotRemovedError, disk_bytes, read_recent

MB = 1024**2


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def store_of(folder: Path) -> ShadowStore:
    return ShadowStore(Git(GIT, str(folder), str(folder)))


def sweep(store: ShadowStore, keep: set[str], known: set[str], *, rewrite_share: float = 0.0) -> None:
    with store.git.locked():
        store.sweep(keep, known, rewrite_share=rewrite_share)


def rewrite(root: Path, it: Shadow, count: int, size: int = MB) -> tuple[list[str], list[bytes]]:
    """Take snapshots around rewrites of one file with bytes that do not compress."""
    names, contents = [it.take().name], []
    for number in range(count):
        contents.append(random.Random(number).randbytes(size))
        (root / "data.bin").write_bytes(contents[-1])
        names.append(it.take().name)
    return names, contents


def test_sweeping_removes_old_states_and_keeps_the_newer_ones_readable(tmp_path: Path, root: Path) -> None:
    (root / "other.txt").write_text("stays")
    it = shadow(tmp_path / "s", root)
    names, contents = rewrite(root, it, 6)
    store = store_of(tmp_path / "s")
    before = disk_bytes(store.folder)
    sweep(store, set(names[-3:]), set(names))
    assert before - disk_bytes(store.folder) > 2.9 * MB
    assert [each.path for each in it.changes(names[-3], names[-1])] == ["data.bin"]
    assert dict(it.contents([name_in_git(contents[-2])])) == {name_in_git(contents[-2]): contents[-2]}
    with pytest.raises(SnapshotRemovedError):
        it.changes(names[1], names[2])
    assert it.take().name == names[-1]
    assert shadow(tmp_path / "s", root).take().name == names[-1]


def test_the_current_state_stays_although_no_session_names_it(tmp_path: Path, root: Path) -> None:
    it = shadow(tmp_path / "s", root)
    names, contents = rewrite(root, it, 3)
    sweep(store_of(tmp_path / "s"), set(), set(names))
    assert it.take().name == names[-1]
    assert dict(it.contents([name_in_git(contents[-1])])) == {name_in_git(contents[-1]): contents[-1]}


def test_a_state_that_is_not_recorded_yet_is_protected_for_a_while(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = shadow(tmp_path / "s", root)
    names, _ = rewrite(root, it, 3)
    store = store_of(tmp_path / "s")
    sweep(store, set(), {names[0], names[1]})
    assert [each.path for each in it.changes(names[2], names[3])] == ["data.bin"]
    with pytest.raises(SnapshotRemovedError):
        it.changes(names[0], names[1])
    assert set(read_recent(store.folder)) == {names[2], names[3]}
    monkeypatch.setattr(undo_store, "GRACE_S", -1.0)
    sweep(store, set(), set())
    with pytest.raises(SnapshotRemovedError):
        it.changes(names[2], names[3])


def test_sizes_count_what_each_turn_adds_to_the_newer_ones(tmp_path: Path, root: Path) -> None:
    it = shadow(tmp_path / "s", root)
    names, _ = rewrite(root, it, 4)
    store = store_of(tmp_path / "s")
    turns = [(names[3], names[4]), (names[2], names[3]), (names[0], names[1], names[2])]
    with store.git.locked():
        always, added = store.sizes_by_turn(turns, set(names), ())
    assert MB <= always < 1.1 * MB
    assert [round(size / MB, 1) for size in added] == [1.0, 1.0, 1.0]
    assert always + sum(added) <= disk_bytes(store.folder)


def test_a_pack_is_written_anew_without_what_is_not_needed(tmp_path: Path, root: Path) -> None:
    for number in range(300):  # so many that the first snapshot is one pack
        (root / f"f{number}").write_bytes(random.Random(number).randbytes(20_000))
    it = shadow(tmp_path / "s", root)
    first = it.take().name
    for number in range(200):
        (root / f"f{number}").unlink()
    second = it.take().name
    store = store_of(tmp_path / "s")
    before = disk_bytes(store.folder)
    sweep(store, {second}, {first, second})
    assert before - disk_bytes(store.folder) > 3.5 * MB
    (root / "f299").unlink()
    third = it.take().name
    assert [each.path for each in it.changes(second, third)] == ["f299"]
    wanted = random.Random(250).randbytes(20_000)
    assert dict(it.contents([name_in_git(wanted)])) == {name_in_git(wanted): wanted}


def test_versions_of_a_text_are_packed_as_differences_and_random_bytes_stay_loose(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_store, "PACK_LOOSE_BYTES", MB)
    it = shadow(tmp_path / "s", root)
    lines = [f"{random.Random(number).random()}\n" for number in range(60_000)]
    names = []
    for number in range(6):
        (root / "log.txt").write_text("".join(lines) + "more\n" * number)
        (root / "random.bin").write_bytes(random.Random(-1).randbytes(MB))
        names.append(it.take().name)
    store = store_of(tmp_path / "s")
    before = disk_bytes(store.folder)
    with store.git.locked():
        store.pack_loose()
    assert disk_bytes(store.folder) < before / 2
    assert (tmp_path / "s/objects" / name_in_git(random.Random(-1).randbytes(MB))[:2]).exists()
    assert [each.path for each in it.changes(names[0], names[5])] == ["log.txt"]
    raw = ("".join(lines) + "more\n" * 3).encode()
    assert dict(it.contents([name_in_git(raw)])) == {name_in_git(raw): raw}


SWEEP = """
import sys
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.shadow_store import ShadowStore
git, folder, keep = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
store = ShadowStore(Git(git, folder, folder))
with store.git.locked():
    print("locked", flush=True)
    store.sweep(set(keep), set(keep), rewrite_share=0.0)
    store.pack_loose()
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_sweep_that_is_killed_leaves_a_store_that_opens(tmp_path: Path, root: Path, delay: float) -> None:
    for number in range(300):
        (root / f"f{number}").write_bytes(random.Random(number).randbytes(2_000))
    it = shadow(tmp_path / "s", root)
    it.take()
    for number in range(250):
        (root / f"f{number}").write_bytes(b"new %d" % number)
    names, contents = rewrite(root, it, 4, 100_000)
    store = store_of(tmp_path / "s")
    for name in names[:2]:
        undo_store.append_recent(store.folder, name)
    child = subprocess.Popen(
        [sys.executable, "-c", SWEEP, GIT, store.folder, ",".join(names[3:])], stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"locked\n"
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
    assert [each.path for each in it.changes(names[3], names[4])] == ["data.bin"]
    assert dict(it.contents([name_in_git(contents[3])])) == {name_in_git(contents[3]): contents[3]}
    (root / "later").write_text("later")
    later = shadow(tmp_path / "s", root).take().name
    assert [each.path for each in it.changes(names[4], later)] == ["later"]
    check = subprocess.run(
        [GIT, "--git-dir", store.folder, "fsck", "--full", "--no-dangling", later], capture_output=True, text=True
    )
    assert check.returncode == 0, check.stderr


def test_a_wiped_store_opens_as_an_empty_one_also_for_who_has_it_open(tmp_path: Path, root: Path) -> None:
    it = shadow(tmp_path / "s", root)
    names, _ = rewrite(root, it, 3)
    store = store_of(tmp_path / "s")
    with store.git.locked():
        store.git.wipe()
    assert disk_bytes(store.folder) < 64 * 1024
    (root / "new").write_text("new")
    again = it.take().name
    (root / "new").write_text("newer")
    assert [each.path for each in it.changes(again, it.take().name)] == ["new"]
    with pytest.raises(SnapshotRemovedError):
        it.changes(names[0], names[1])


def test_contents_are_removed_unless_they_were_put_again_since(tmp_path: Path) -> None:
    store = ContentStore(str(tmp_path))
    old, again = store.put(b"old"), store.put(b"again")
    past = time.time() - 7200
    for name in (old, again):
        os.utime(tmp_path / name[:2] / name, (past, past))
    store.put(b"again")
    remove_contents(store.folder, [old, again, "0" * 64], changed_before=time.time() - 3600)
    assert set(list_contents(store.folder)) == {again}
    assert store.get(again) == b"again"
    assert store.grown == len(b"old") + len(b"again")
