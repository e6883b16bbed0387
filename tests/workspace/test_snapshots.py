"""Contents that were kept: private, whole, and never mistaken for something else."""

import errno
import os
from hashlib import sha256
from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files
from tests.workspace.keeping_kit import keeper

from overt.core.capabilities import Change
from overt.core.errors import OvertError
from overt.core.events import SnapshotTaken
from overt.lib import atomic
from overt.workspace.undo import content_store as snapshots
from overt.workspace.undo.content_store import ContentStore


def test_a_content_comes_back_by_its_hash(tmp_path: Path) -> None:
    store = ContentStore(str(tmp_path / "a" / "b"))
    raw = b"\0one\r\n\xff"
    name = store.put(raw)
    assert (name, store.put(raw), store.get(name)) == (sha256(raw).hexdigest(), name, raw)


def test_folders_and_files_are_for_the_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ContentStore(str(tmp_path / "a" / "b")).put(b"secret")
    finally:
        os.umask(before)
    found = [path for path in tmp_path.rglob("*") if path.stat().st_mode & 0o177 and path.is_file()]
    assert (found, [path for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077]) == ([], [])


def test_a_damaged_content_is_noticed_and_mended_by_the_next_put(tmp_path: Path) -> None:
    store = ContentStore(str(tmp_path))
    name = store.put(b"whole")
    path = tmp_path / name[:2] / name
    path.write_bytes(b"")
    with pytest.raises(OvertError, match="damaged"):
        store.get(name)
    store.put(b"whole")
    assert store.get(name) == b"whole"


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 64])
def test_a_name_that_names_nothing_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OvertError):
        ContentStore(str(tmp_path)).get(name)


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> None:
        os.write(fd, data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "write_all", full)
    with pytest.raises(OSError, match="No space"):
        ContentStore(str(tmp_path)).put(b"whole")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_edit_keeps_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w/a").write_bytes(b"old")
    kept = keeper(tmp_path, tmp_path / "w")
    hands = files(tmp_path / "w", keeper=kept)
    old = sha256(b"old").hexdigest()
    done(hands.change([Change(path="a", content="new", base=old), Change(path="b", content="b", base="absent")]))
    assert kept.store.get(old) == b"old"
    new, b = sha256(b"new").hexdigest(), sha256(b"b").hexdigest()
    assert hands.journal.facts == [
        SnapshotTaken(call_id="c1", path="a", existed=True, hash=old, mode=0o644, after=new, after_mode=0o644),
        SnapshotTaken(call_id="c1", path="b", existed=False, after=b, after_mode=0o644),
    ]


def test_a_moved_file_is_on_record_at_both_places(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    os.chmod(tmp_path / "a", 0o750)
    hands = files(tmp_path)
    x = sha256(b"x").hexdigest()
    done(hands.change([Change(path="a", content=None, move_to="sub/b", base=x)]))
    assert hands.journal.facts[1:] == [
        SnapshotTaken(call_id="c1", path="a", existed=True, hash=x, mode=0o750),
        SnapshotTaken(call_id="c1", path="sub/b", existed=False, after=x, after_mode=0o750),
    ]


def test_a_store_that_takes_nothing_holds_no_edit_up_but_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(snapshots, "replace_in", full)
    hands = files(tmp_path, keeper=keeper(tmp_path / "kept", tmp_path))
    done(hands.change([Change(path="a", content="new", base=sha256(b"old").hexdigest())]))
    assert (tmp_path / "a").read_bytes() == b"new"
    (fact,) = hands.journal.facts
    assert isinstance(fact, SnapshotTaken) and "No space left" in fact.uncovered
