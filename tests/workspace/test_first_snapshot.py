"""The first snapshot of a folder: given up when it takes too long, with nothing left, and not tried by every run."""

import asyncio
import random
import threading
import time
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT, has_stored, shadow, timer_until_stored

from overt.core.errors import OvertError
from overt.core.events import Event, Noticed, TreeTaken
from overt.workspace.undo import first_snapshot
from overt.workspace.undo import shadow_repository as shadow_module
from overt.workspace.undo import snapshot_keeper as keeping
from overt.workspace.undo.content_store import ContentStore
from overt.workspace.undo.first_snapshot import FirstSnapshotError, clear_marker, mark_indexed, read_marker
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.shadow_store import disk_bytes
from overt.workspace.undo.snapshot_keeper import SnapshotKeeper

SMALL = 64 * 1024
"""What an empty store takes, with room to spare."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "data").mkdir(parents=True)
    for number in range(60):
        (folder / f"data/{number}.bin").write_bytes(random.Random(number).randbytes(500_000))
    return folder


@pytest.fixture
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is up when the files are listed and the first ones stored."""
    monkeypatch.setattr(first_snapshot, "FIRST_SNAPSHOT_LIMIT_S", 0.1)
    monkeypatch.setattr(threading, "Timer", timer_until_stored(tmp_path / "s"))


def store_bytes(tmp_path: Path) -> int:
    return disk_bytes(str(tmp_path / "s"))


@pytest.mark.usefixtures("impatient")
def test_a_first_snapshot_that_takes_too_long_is_removed_and_remembered(tmp_path: Path, root: Path) -> None:
    with pytest.raises(FirstSnapshotError, match=r"60 files \(28.6 MB\) took more than 0.1 s"):
        shadow(tmp_path / "s", root).take()
    assert store_bytes(tmp_path) < SMALL
    marker = read_marker(str(tmp_path / "s"))
    assert marker is not None
    assert (marker.files, len(marker.sample)) == (60, 60)


def test_a_small_folder_on_a_busy_machine_is_tried_again_by_the_next_run(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_snapshot, "BUSY_FILES_PER_S", 10**6)
    monkeypatch.setattr(first_snapshot, "BUSY_BYTES_PER_S", 10**12)
    given_up(tmp_path, root, monkeypatch)
    assert store_bytes(tmp_path) < SMALL
    assert shadow(tmp_path / "s", root).take().name


def test_a_folder_that_takes_too_long_to_list_is_given_up_until_someone_asks(tmp_path: Path, root: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/too_large").write_bytes(b'{"seconds":10.0}')
    with pytest.raises(FirstSnapshotError, match="listing the files took more than 10 s"):
        shadow(tmp_path / "s", root).take()


def given_up(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(first_snapshot, "FIRST_SNAPSHOT_LIMIT_S", 0.1)
        patch.setattr(threading, "Timer", timer_until_stored(tmp_path / "s"))
        with pytest.raises(FirstSnapshotError):
            shadow(tmp_path / "s", root).take()


def test_it_is_not_tried_again_while_the_folder_is_as_large(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up(tmp_path, root, monkeypatch)
    for number in range(10):
        (root / f"data/{number}.bin").unlink()
    for _ in range(2):
        with pytest.raises(FirstSnapshotError):
            shadow(tmp_path / "s", root).take()
    assert store_bytes(tmp_path) < SMALL


@pytest.mark.parametrize("how", ["deleted", "truncated", "ignored"])
def test_it_is_tried_again_when_the_folder_has_shrunk(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    given_up(tmp_path, root, monkeypatch)
    if how == "ignored":
        (root / ".gitignore").write_text("data/\n")
    else:
        for number in range(50):
            path = root / f"data/{number}.bin"
            path.unlink() if how == "deleted" else path.write_bytes(b"")
    it = shadow(tmp_path / "s", root)
    before = it.take().name
    (root / "note").write_text("note")
    assert [each.path for each in it.changes(before, it.take().name)] == ["note"]
    assert read_marker(str(tmp_path / "s")) is None


def test_it_is_tried_again_on_request(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given_up(tmp_path, root, monkeypatch)
    assert clear_marker(str(tmp_path / "s"))
    assert not clear_marker(str(tmp_path / "s"))
    assert shadow(tmp_path / "s", root).take().uncovered == ()


def test_a_folder_with_more_than_a_store_is_meant_for_is_remembered_as_well(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow_module, "MOST_BYTES", 1_000_000)
    for _ in range(2):
        with pytest.raises(FirstSnapshotError, match=r"60 files \(28.6 MB\) are too much"):
            shadow(tmp_path / "s", root).take()


def test_one_that_is_stopped_leaves_nothing_and_is_tried_by_the_next_run(tmp_path: Path, root: Path) -> None:
    it = shadow(tmp_path / "s", root)
    errors: list[OvertError] = []

    def take() -> None:
        try:
            it.take()
        except OvertError as error:
            errors.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    deadline = time.monotonic() + 30
    while not has_stored(tmp_path / "s"):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    it.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert [isinstance(error, FirstSnapshotError) for error in errors] == [False]
    assert store_bytes(tmp_path) < SMALL
    assert shadow(tmp_path / "s", root).take().name


def test_what_a_killed_process_left_of_one_is_removed_before_the_next(tmp_path: Path, root: Path) -> None:
    it = shadow(tmp_path / "s", root)
    it.take()
    (tmp_path / "s/state").unlink()
    (tmp_path / "s/first").write_bytes(b"")
    (tmp_path / "s/objects/00").mkdir(exist_ok=True)
    (tmp_path / "s/objects/00" / ("1" * 38)).write_bytes(b"x" * 1_000_000)
    assert shadow(tmp_path / "s", root).take().name
    assert not (tmp_path / "s/objects/00" / ("1" * 38)).exists()
    assert not (tmp_path / "s/first").exists()


def test_an_index_that_lost_its_state_is_not_taken_for_a_first_snapshot(tmp_path: Path, root: Path) -> None:
    it = shadow(tmp_path / "s", root)
    before = it.take().name
    (tmp_path / "s/state").unlink()
    (root / "note").write_text("note")
    after = shadow(tmp_path / "s", root).take().name
    assert [each.path for each in it.changes(before, after)] == ["note"]


def test_a_store_that_cannot_be_kept_within_the_limit_is_remembered_from_its_index(tmp_path: Path, root: Path) -> None:
    shadow(tmp_path / "s", root).take()
    git = Git(GIT, str(tmp_path / "s"), str(tmp_path / "s"))
    with git.locked():
        mark_indexed(git, str(root))
    marker = read_marker(str(tmp_path / "s"))
    assert marker is not None
    assert (marker.files, marker.bytes) == (60, 30_000_000)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fresh", [0.0, 1.0])
def test_a_command_in_such_a_folder_runs_and_the_person_is_warned_once(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, fresh: float
) -> None:
    monkeypatch.setattr(keeping, "FRESH", fresh)
    monkeypatch.setattr(keeping, "UNTOLD", 100.0)  # a slow snapshot is told of, too
    facts: list[Event] = []
    keeper = SnapshotKeeper(ContentStore(str(tmp_path / "c")), shadow(tmp_path / "s", root))
    recorder = UndoRecorder(facts.append)

    async def work() -> None:
        async with asyncio.timeout(60):
            keeper.warm()
            for id in ("c1", "c2"):
                async with keeper.around(id, recorder):
                    (root / "out").write_text(id)
                await keeper.wait_for_pending_snapshots()
            await keeper.close()

    asyncio.run(work())
    (notice,) = [fact for fact in facts if isinstance(fact, Noticed)]
    assert notice.level == "warning"
    assert "took more than 0.1 s" in notice.text
    assert "Changes by edit, write and patch can" in notice.text
    assert [fact.before for fact in facts if isinstance(fact, TreeTaken)] == ["", ""]
    assert store_bytes(tmp_path) < SMALL


def test_a_run_does_not_wait_at_its_end_for_a_first_snapshot(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "SOON", 0.0)
    keeper = SnapshotKeeper(ContentStore(str(tmp_path / "c")), shadow(tmp_path / "s", root))

    async def work() -> None:
        async with asyncio.timeout(60):
            keeper.prepare()
            while not (tmp_path / "s/first").exists():
                await asyncio.sleep(0.001)
            await keeper.close()

    asyncio.run(work())
    assert store_bytes(tmp_path) < SMALL
    assert not (tmp_path / "s/first").exists()
