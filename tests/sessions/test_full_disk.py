"""A disk that is full or failing: one warning, old records intact, the turn goes on, nothing half written."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.sessions.samples import facts, new_log, prompt, run_writer, thirty, write

from overt.core.errors import SessionError
from overt.core.events import Noticed
from overt.sessions.load import load
from overt.sessions.log import SessionLog

COUNT = 12


def fail(folder: Path, what: str, path: str = "") -> tuple[str, list[str]]:
    """Write COUNT records over a failing disk; every append must return. Gives the path and the notices."""
    if not path:
        source = write(folder / "source", thirty()[:3])
        path = str(folder / Path(source).name)
        shutil.copy(source, path)
    call = what.partition(":")[0]
    under = ["strace", "-f", "-qq", "-P", path, "-e", f"trace={call}", "-e", f"inject={what}", "-o", "/dev/null"]
    done = run_writer("open", path, str(COUNT), under=under)
    assert (done.returncode, done.stdout.count("saved ")) == (0, COUNT), done.stderr
    assert "Traceback" not in done.stderr
    return path, [line.partition(":")[0] for line in done.stderr.splitlines()]


def failing_once(folder: Path, error: str, number: int) -> None:
    path, heard = fail(folder, f"write:error={error}:when={number}")
    loaded = load(path)
    assert (len(facts(loaded.entries)), loaded.damage) == (3 + COUNT, ())
    assert heard == ["warning", "info"]


def failing_for_ever(folder: Path, error: str, number: int) -> None:
    path, heard = fail(folder, f"write:error={error}:when={number}+")
    loaded = load(path)
    assert (len(facts(loaded.entries)), loaded.damage) == (3 + number - 1, ())
    assert heard == ["warning"]


@pytest.mark.parametrize(("error", "number"), [("ENOSPC", 1), ("EIO", 5), ("ENOSPC", COUNT)])
def test_a_write_that_fails_once_is_made_good_by_the_next(tmp_path: Path, error: str, number: int) -> None:
    failing_once(tmp_path, error, number)


@pytest.mark.parametrize(("error", "number"), [("EIO", 1), ("ENOSPC", 6), ("EIO", COUNT)])
def test_a_disk_that_fails_for_ever_costs_one_warning_and_no_old_record(
    tmp_path: Path, error: str, number: int
) -> None:
    failing_for_ever(tmp_path, error, number)


@pytest.mark.soak
@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EDQUOT"])
def test_every_write_may_fail_once_or_for_ever(tmp_path: Path, error: str) -> None:
    for number in range(1, COUNT + 1):
        failing_once(tmp_path / f"once-{number}", error, number)
        failing_for_ever(tmp_path / f"ever-{number}", error, number)


def test_a_sync_that_fails_is_told_once(tmp_path: Path) -> None:
    path, heard = fail(tmp_path, "fsync:error=EIO:when=1+")
    assert (len(facts(load(path).entries)), heard) == (3 + COUNT, ["warning"])


def test_short_writes_at_every_byte_leave_no_half_line(tmp_path: Path) -> None:
    """The limit of the file's size makes the kernel write part of a line; each limit over two lines is tried."""
    done = run_writer("squeeze", str(tmp_path), "0", "500")
    assert done.stdout == "all limits held\n", done.stderr


def test_a_full_file_system_of_32_kb_keeps_whole_lines_and_takes_the_rest_later(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k", "none", str(small)], capture_output=True, check=False, timeout=30
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system takes root; the size limits above cover short writes")
    heard: list[Noticed] = []
    log = SessionLog.create(str(small), workspace="/", project="/", overt="0", notify=heard.append)
    try:
        ballast = small / "ballast"
        ballast.write_bytes(bytes(16 * 1024))
        for number in range(24):
            log.append(Noticed(text=f"{number} " + "x" * 700), turn=1, step=number)
        kept = load(log.path)
        assert kept.damage == ()
        assert 0 < len(kept.entries) == 25 - log.unsaved < 25
        assert [notice.level for notice in heard] == ["warning"]
        assert "No space left on device" in heard[0].text
        ballast.unlink()
        log.append(Noticed(text="last"), turn=1, step=24)
        assert (len(load(log.path).entries), load(log.path).damage, log.unsaved) == (26, (), 0)
    finally:
        log.close()
        subprocess.run(["umount", str(small)], check=True, timeout=30)


def test_a_folder_that_cannot_be_made_costs_one_warning_until_it_can(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    heard: list[Noticed] = []
    log = SessionLog.create(str(tmp_path / "data"), workspace="/", project="/", overt="0", notify=heard.append)
    for number in range(3):
        log.append(prompt(str(number)), turn=1, step=number)
    assert (log.unsaved, [notice.level for notice in heard]) == (4, ["warning"])
    (tmp_path / "data").unlink()
    log.append(prompt("3"), turn=1, step=3)
    log.close()
    assert facts(load(log.path).entries) == [prompt(str(number)) for number in range(4)]
    assert (log.unsaved, [notice.level for notice in heard]) == (0, ["warning", "info"])


def test_what_waits_is_written_at_the_latest_on_closing(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    log = SessionLog.create(str(tmp_path / "data"), workspace="/", project="/", overt="0")
    log.append(prompt("hi"), turn=1, step=0)
    (tmp_path / "data").unlink()
    log.close()
    assert facts(load(log.path).entries) == [prompt("hi")]


def test_a_torn_session_on_a_full_disk_is_refused_in_words_and_not_cut(tmp_path: Path) -> None:
    path = Path(write(tmp_path, thirty()[:3]))
    path.write_bytes(path.read_bytes() + b'{"torn')
    before = path.read_bytes()
    Path(f"{path}.torn").symlink_to("/dev/full")
    with pytest.raises(SessionError, match="cannot be opened for writing"):
        SessionLog.open(str(path))
    assert path.read_bytes() == before
    assert not os.path.exists(f"{path}.lock")


def test_a_new_session_hears_nothing_when_all_is_well(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(prompt("hi"), turn=1, step=0)
    log.sync()
    log.close()
    assert log.unsaved == 0
