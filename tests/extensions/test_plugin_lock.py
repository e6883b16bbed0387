"""An installed copy counts only as long as its bytes are those of the lock."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from overt.core.errors import OvertError
from overt.extensions.plugins import lock as lock_module
from overt.extensions.plugins.lock import (
    LockedPlugin,
    PluginLock,
    PluginSource,
    check_copy,
    digest_of,
    hash_files,
    read_lock,
    write_lock,
)
from overt.lib import read_file


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    root = tmp_path / "copy"
    (root / "hooks").mkdir(parents=True)
    (root / "hooks/run.sh").write_text("echo old\n")
    (root / "hooks/run.sh").chmod(0o755)
    (root / "README.md").write_text("text")
    return root


def locked(root: Path) -> LockedPlugin:
    files = hash_files(str(root))
    return LockedPlugin(source=PluginSource(location="/x"), digest=digest_of(files), files=files)


def change_byte(root: Path) -> None:
    """Change one byte and put the size and the time of modification back, as someone would who wants to hide it."""
    file = root / "hooks/run.sh"
    before = file.stat()
    file.write_text("echo new\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def swap_folder(root: Path) -> None:
    (root / "hooks").rename(root.parent / "old")
    (root / "hooks").symlink_to(root.parent / "old")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (change_byte, "hooks/run.sh was changed"),
        (lambda root: (root / "hooks/run.sh").chmod(0o644), "hooks/run.sh was changed"),
        (lambda root: (root / "hooks/more.json").write_text("{}"), "hooks/more.json was added"),
        (lambda root: (root / "README.md").unlink(), "README.md is missing"),
        (swap_folder, "hooks was added"),
        (lambda root: root.rename(root.parent / "elsewhere"), "it is not installed here"),
    ],
)
def test_a_changed_copy_is_named_whatever_was_recorded(
    copy: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object], problem: str
) -> None:
    monkeypatch.setattr(read_file, "SETTLED_NS", -1)
    plugin = locked(copy)
    known = check_copy(str(copy), plugin, "")
    assert known[0] == "" and known[1]
    assert check_copy(str(copy), plugin, known[1]) == known
    change(copy)
    assert check_copy(str(copy), plugin, known[1]) == (problem, "")


def test_a_recorded_stamp_spares_the_hashing(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_file, "SETTLED_NS", -1)
    plugin = locked(copy)
    _, stamp = check_copy(str(copy), plugin, "")
    monkeypatch.setattr(lock_module, "hash_file", lambda path: pytest.fail("hashed"))
    assert check_copy(str(copy), plugin, stamp) == ("", stamp)


def test_a_stamp_of_files_that_were_just_written_is_not_recorded(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_file, "SETTLED_NS", 3600 * 10**9)
    assert check_copy(str(copy), locked(copy), "") == ("", "")


def test_a_lock_whose_table_does_not_fit_its_digest_is_not_used(copy: Path) -> None:
    plugin = LockedPlugin(source=PluginSource(location="/x"), digest="0" * 64, files=hash_files(str(copy)))
    assert check_copy(str(copy), plugin, "")[0] == "its entry in the lock does not fit its digest"


def test_a_lock_is_written_for_people_and_read_again(tmp_path: Path, copy: Path) -> None:
    path = tmp_path / "config/plugins.lock"
    lock = PluginLock(plugins={"b": locked(copy), "a": locked(copy)})
    write_lock(str(path), lock)
    assert read_lock(str(path)) == lock
    assert '"README.md": "' in path.read_text().splitlines()[5]


@pytest.mark.parametrize("content", ["{", "[]", '{"v": 2}', '{"plugins": {"../x": {"source": {"location": ""}}}}'])
def test_a_damaged_lock_enables_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "plugins.lock"
    path.write_text(content)
    with pytest.raises(OvertError, match="is damaged"):
        read_lock(str(path))


@pytest.mark.parametrize(("name", "digest"), [("../x", "a" * 64), ("a..b", "a" * 64), ("a", "../" * 21 + "x")])
def test_names_and_digests_that_would_lead_elsewhere_are_refused(tmp_path: Path, name: str, digest: str) -> None:
    path = tmp_path / "plugins.lock"
    plugin = LockedPlugin(source=PluginSource(location="/x"), digest=digest, files={})
    write_lock(str(path), PluginLock(plugins={name: plugin}))
    with pytest.raises(OvertError, match="is damaged"):
        read_lock(str(path))
