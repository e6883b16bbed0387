"""Files that are whole or untouched."""

import os
import stat
from pathlib import Path

import pytest

from overt.lib.atomic import replace


def test_our_own_files_are_private_even_without_a_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        replace(str(tmp_path / "state"), b"one")
    finally:
        os.umask(before)
    assert (tmp_path / "state").read_bytes() == b"one"
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["state"]


def test_a_second_write_replaces_the_first_as_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    replace(str(path), b"one")
    first = path.stat().st_ino
    with path.open("rb") as held:
        replace(str(path), b"two")
        assert held.read() == b"one"
        assert path.stat().st_ino != first
    assert path.read_bytes() == b"two"


def test_a_failed_replacement_leaves_nothing_beside_the_target(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        replace(str(tmp_path / "folder"), b"x")
    assert os.listdir(tmp_path) == ["folder"]
