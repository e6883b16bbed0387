"""The limits of undo over real stores and real sessions: who needs what, beside processes that are at work."""

import os
import random
import time
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT, shadow

from overt.app.undo.limits import UndoLimits, UndoPlace
from overt.core.errors import OvertError
from overt.core.events import SnapshotTaken, TreeTaken
from overt.core.settings import UndoSettings
from overt.sessions.log import SessionLog
from overt.workspace.undo.content_store import ContentStore, list_contents
from overt.workspace.undo.first_snapshot import FirstSnapshotError, read_marker
from overt.workspace.undo.shadow_repository import Shadow
from overt.workspace.undo.shadow_store import ShadowStore, SnapshotRemovedError, disk_bytes

MB = 1024**2


class Ground:
    """A project with its stores, and sessions that rewrite one file."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.root = folder / "work"
        self.root.mkdir()
        self.written = 0

    def place(self, max_size: int = 2048 * MB, max_age: float = 30.0) -> UndoPlace:
        return UndoPlace(
            data_dir=str(self.data),
            project=str(self.root),
            workspace=str(self.root),
            git=lambda: GIT,
            settings=UndoSettings(max_size=max_size, max_age=max_age),
        )

    def limits(self, max_size: int = 2048 * MB, max_age: float = 30.0) -> UndoLimits:
        return UndoLimits(self.place(max_size, max_age))

    def shadow(self, workspace: Path | None = None) -> Shadow:
        root = workspace or self.root
        return shadow(Path(self.place().store(str(root))), root)

    def session(self, workspace: Path | None = None) -> SessionLog:
        root = str(workspace or self.root)
        return SessionLog.create(str(self.data), workspace=root, project=str(self.root), overt="test")

    def rewrite(self, log: SessionLog, *, turn: int, workspace: Path | None = None) -> TreeTaken:
        """Run a command that fills one file with bytes that do not compress."""
        root = workspace or self.root
        it = self.shadow(workspace)
        before = it.take().name
        self.written += 1
        (root / "data.bin").write_bytes(random.Random(self.written).randbytes(MB))
        taken = TreeTaken(call_id=f"c{self.written}", before=before, after=it.take().name, changed=1)
        log.append(taken, turn=turn, step=1)
        return taken

    def size(self) -> int:
        return disk_bytes(str(self.data / "shadow")) + disk_bytes(str(self.data / "snapshots"))

    def paths(self, taken: TreeTaken) -> list[str]:
        return [each.path for each in self.shadow().changes(taken.before, taken.after)]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_the_newest_turns_that_fit_stay(ground: Ground) -> None:
    log = ground.session()
    taken = [ground.rewrite(log, turn=turn) for turn in range(1, 9)]
    log.close()
    freed = ground.limits(max_size=5 * MB).enforce(thorough=True)
    assert ground.size() <= 5 * MB
    assert freed.bytes > 2.9 * MB
    kept = [number for number, each in enumerate(taken, 1) if not ground.shadow().lacks([each.before, each.after])]
    assert kept == list(range(9 - len(kept), 9)) and len(kept) >= 3
    assert freed.turns == 8 - len(kept)
    assert ground.limits().usage().turns == len(kept)
    assert ground.paths(taken[-1]) == ["data.bin"]


def test_the_state_before_a_running_command_stays_however_little_fits(ground: Ground) -> None:
    log = ground.session()
    running = ground.rewrite(log, turn=1).after
    log.append(TreeTaken(call_id="running", before=running, after=""), turn=1, step=2)
    other = ground.session()
    for turn in range(1, 7):
        ground.rewrite(other, turn=turn)
    ground.limits(max_size=3 * MB).enforce()
    assert not ground.shadow().lacks([running])
    log.close()  # the process is gone, so nothing runs any more
    ground.limits(max_size=2 * MB).enforce()
    assert ground.shadow().lacks([running])
    other.close()


def test_a_stopped_enforcement_ends_and_keeps_the_store(ground: Ground) -> None:
    log = ground.session()
    taken = [ground.rewrite(log, turn=turn) for turn in range(1, 5)]
    limits = ground.limits(max_size=2 * MB)
    limits.stop()
    with pytest.raises(OvertError):
        limits.enforce()
    assert ground.paths(taken[0]) == ["data.bin"]
    log.close()


def test_turns_are_dropped_also_when_the_disk_takes_no_new_pack(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: ShadowStore, names: object) -> None:
        raise OvertError("git: No space left on device")

    monkeypatch.setattr(ShadowStore, "_write_pack", full)
    monkeypatch.setattr("overt.workspace.undo.shadow_store.PACK_LOOSE_FILES", 1)
    log = ground.session()
    for number in range(250):
        (ground.root / f"f{number}").write_text(f"text {number}")
    taken = [ground.rewrite(log, turn=turn) for turn in range(1, 7)]
    for number in range(240):
        (ground.root / f"f{number}").unlink()
    taken.append(ground.rewrite(log, turn=8))
    log.close()
    ground.limits(max_size=4 * MB).enforce()
    assert ground.size() <= 4 * MB
    assert ground.paths(taken[-1])[0] == "data.bin"


def test_a_store_that_cannot_be_written_is_named(ground: Ground) -> None:
    log = ground.session()
    ground.rewrite(log, turn=1)
    log.close()
    folder = ground.place().store(str(ground.root))
    os.unlink(f"{folder}/overt.lock")
    os.mkdir(f"{folder}/overt.lock")  # also the administrator cannot open it for writing
    with pytest.raises(OvertError, match=f"{folder}: Is a directory"):
        ground.limits().enforce()


def test_a_folder_whose_current_state_exceeds_the_limit_is_given_up(ground: Ground) -> None:
    for number in range(4):
        (ground.root / f"f{number}").write_bytes(random.Random(-number).randbytes(MB))
    log = ground.session()
    ground.rewrite(log, turn=1)
    log.close()
    ground.limits(max_size=3 * MB).enforce()
    assert ground.size() < MB
    marker = read_marker(ground.place().store(str(ground.root)))
    assert marker is not None and marker.files == 5
    with pytest.raises(FirstSnapshotError, match=r"5 files \(5 MB\) are too much"):
        ground.shadow().take()


def test_a_store_of_an_older_version_keeps_what_its_sessions_name(ground: Ground) -> None:
    log = ground.session()
    taken = [ground.rewrite(log, turn=turn) for turn in (1, 2)]
    log.close()
    store = Path(ground.place().store(str(ground.root)))
    (store / "recent").unlink()
    assert not (store.parent.parent / "snapshots").exists()
    ground.limits().enforce(thorough=True)
    assert [ground.paths(each) for each in taken] == [["data.bin"], ["data.bin"]]


def test_a_session_with_a_damaged_header_keeps_its_snapshots(ground: Ground) -> None:
    log = ground.session()
    taken = ground.rewrite(log, turn=1)
    log.close()
    lines = Path(log.path).read_bytes().splitlines(keepends=True)
    Path(log.path).write_bytes(b"torn\n" + b"".join(lines[1:]))
    ground.limits().enforce(thorough=True)
    assert ground.paths(taken) == ["data.bin"]


def test_a_workspace_below_the_project_counts_for_it_and_keeps_what_is_its_own(ground: Ground) -> None:
    below = ground.root / "part"
    below.mkdir()
    log = ground.session(below)
    for turn in range(1, 7):
        last = ground.rewrite(log, turn=turn, workspace=below)
    log.close()
    assert ground.limits().usage().bytes > 6 * MB
    ground.limits(max_size=4 * MB).enforce()
    assert ground.size() <= 4 * MB
    assert [each.path for each in ground.shadow(below).changes(last.before, last.after)] == ["data.bin"]


def test_contents_of_file_tools_go_with_their_turns_but_not_before_they_are_recorded(ground: Ground) -> None:
    store = ContentStore(ground.place().contents)
    log = ground.session()
    names = []
    for turn in range(1, 5):
        names.append(store.put(random.Random(turn).randbytes(MB)))
        taken = SnapshotTaken(call_id=f"c{turn}", path="a", existed=True, hash=names[-1], after="0" * 64)
        log.append(taken, turn=turn, step=1)
    log.close()
    unrecorded = store.put(b"not recorded yet")
    ground.limits(max_size=3 * MB).enforce()
    assert set(list_contents(store.folder)) == {*names[-2:], unrecorded}
    os.utime(Path(store.folder) / unrecorded[:2] / unrecorded, (1, 1))
    ground.limits().enforce()
    assert set(list_contents(store.folder)) == set(names[-2:])


def test_old_turns_go_and_young_ones_stay(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ground.session()
    old = ground.rewrite(log, turn=1)
    log.close()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 20 * 86400)
    ground.limits(max_age=30).enforce()
    assert ground.paths(old) == ["data.bin"]
    monkeypatch.setattr(time, "time", lambda: now + 40 * 86400)
    ground.limits(max_age=30).enforce()
    with pytest.raises(SnapshotRemovedError):
        ground.paths(old)


def test_the_stores_are_measured_only_when_the_estimate_exceeds_the_limit_or_once_a_day(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ground.limits(max_size=10 * MB)
    assert not limits.add_to_estimate(1, ending=True)  # measures what is there
    assert not limits.add_to_estimate(9 * MB, ending=True)
    assert limits.add_to_estimate(2 * MB, ending=True)
    limits.enforce()
    assert not limits.add_to_estimate(MB, ending=True)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86400)
    assert limits.add_to_estimate(1, ending=True)


def test_packing_waits_for_a_pause_between_turns(ground: Ground) -> None:
    limits = ground.limits()
    assert not limits.add_to_estimate(1, ending=True)
    assert not limits.add_to_estimate(100 * MB, ending=True)
    assert limits.add_to_estimate(1, ending=False)
