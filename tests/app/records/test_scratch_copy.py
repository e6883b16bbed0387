"""The scratch copy in which recorded tools run again: complete, bounded, and gone afterwards."""

import os
import tempfile
from pathlib import Path

import pytest

from overt.app.records import replay_tools
from overt.app.records.replay_tools import scratch_copy
from overt.core.errors import SessionError


def test_files_folders_links_and_modes_are_copied(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "inner/empty").mkdir(parents=True)
    (work / "inner/名.sh").write_bytes(b"\x00\xff")
    (work / "inner/名.sh").chmod(0o755)
    (work / "link").symlink_to("inner")
    (work / "away").symlink_to("/nowhere/at/all")
    os.mkfifo(work / "pipe")
    with scratch_copy(str(work)) as made:
        copy = Path(made)
        found = sorted(str(path.relative_to(copy)) for path in copy.rglob("*"))
        assert found == ["away", "inner", "inner/empty", "inner/名.sh", "link"]
        assert (copy / "inner/名.sh").read_bytes() == b"\x00\xff"
        assert (copy / "inner/名.sh").stat().st_mode & 0o777 == 0o755
        assert [os.readlink(copy / name) for name in ("link", "away")] == ["inner", "/nowhere/at/all"]
        assert copy.stat().st_mode & 0o777 == 0o700
    assert not copy.exists()


def test_a_copy_is_gone_whatever_happened_in_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    with pytest.raises(ZeroDivisionError), scratch_copy(str(tmp_path)) as made:
        closed = Path(made) / "closed"
        (closed / "deep").mkdir(parents=True)
        (closed / "deep/file").write_text("x")
        (closed / "deep").chmod(0o500)
        closed.chmod(0o000)
        raise ZeroDivisionError
    assert not os.path.lexists(made)


@pytest.mark.parametrize(("name", "most"), [("MOST_FILES", 2), ("MOST_BYTES", 10)])
def test_a_workspace_that_is_too_large_is_refused_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    work, beside = tmp_path / "work", tmp_path / "beside"
    work.mkdir()
    beside.mkdir()
    for number in range(3):
        (work / str(number)).write_text("12345")
    monkeypatch.setattr(replay_tools, name, most)
    monkeypatch.setattr(tempfile, "tempdir", str(beside))
    with pytest.raises(SessionError, match="is too large for a scratch copy"), scratch_copy(str(work)):
        raise AssertionError("it was copied")
    assert list(beside.iterdir()) == []
