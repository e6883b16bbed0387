"""The log: levels, redaction, modes, rotation, several processes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from overt.lib.logs.log import Log

SECRET = "hunter2-hunter2-hunter2"
ENTRY = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warning|error) \d+ [a-z ]+: .*")
WRITER = """
import sys
from overt.lib.logs.log import Log
log = Log()
log.configure(sys.argv[1], level="info", max_size=20_000, keep=100)
for number in range(200):
    log.info("writer", f"{sys.argv[2]} {number} " + "x" * 100)
"""


def opened(folder: Path, level: str = "warning", *, max_size: int = 1_000_000, keep: int = 3) -> Log:
    log = Log()
    log.configure(str(folder / "state"), level=level, max_size=max_size, keep=keep)
    return log


def lines(folder: Path) -> list[str]:
    path = folder / "state" / "overt.log"
    return path.read_text().splitlines() if path.exists() else []


def test_nothing_is_created_while_nothing_is_logged(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.debug("area", "detail")
    log.info("area", "fact")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("level", "expected"),
    [("debug", "dbg inf wrn err"), ("info", "inf wrn err"), ("warning", "wrn err"), ("error", "err"), ("off", "")],
)
def test_a_level_includes_the_more_severe_ones(tmp_path: Path, level: str, expected: str) -> None:
    log = opened(tmp_path, level)
    log.debug("area", "dbg")
    log.info("area", "inf")
    log.warning("area", "wrn")
    log.error("area", "err")
    assert [line.rpartition(" ")[2] for line in lines(tmp_path)] == expected.split()


def test_a_forced_level_survives_the_configuration(tmp_path: Path) -> None:
    log = Log()
    log.force_level("debug")
    log.configure(str(tmp_path / "state"), level="error", max_size=100_000, keep=1)
    log.debug("area", "detail")
    assert len(lines(tmp_path)) == 1


def test_folder_and_file_are_for_their_owner_alone(tmp_path: Path) -> None:
    opened(tmp_path).error("area", "text")
    folder = tmp_path / "state"
    assert [oct(path.stat().st_mode & 0o777) for path in (folder, folder / "overt.log")] == ["0o700", "0o600"]


def test_secrets_are_redacted_in_the_text_and_in_the_traceback(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.learn(SECRET)
    log.learn_from(lambda: ["second-secret-value-7"])
    try:
        raise ValueError(f"bad key {SECRET}, also second-secret-value-7 and sk-proj-abcdefghijklmnopqrstuvwx1234")
    except ValueError as error:
        log.error("area", f"request with {SECRET} failed", error)
    text = "\n".join(lines(tmp_path))
    assert SECRET not in text and "second-secret" not in text and "abcdefghijklmnop" not in text
    assert "ValueError: bad key [redacted secret]" in text and "Traceback" in text


def test_text_cannot_forge_an_entry_or_drive_a_terminal(tmp_path: Path) -> None:
    opened(tmp_path).error("area", "first\n2026-01-01T00:00:00.000Z error 1 area: forged\x1b[2J")
    first, second = lines(tmp_path)
    assert ENTRY.fullmatch(first)
    assert second.startswith("    2026") and "\x1b" not in second


def test_files_rotate_at_their_size_and_the_oldest_goes(tmp_path: Path) -> None:
    log = opened(tmp_path, max_size=2_000, keep=3)
    for number in range(100):
        log.error("area", f"{number:03} " + "x" * 100)
    files = sorted(path.name for path in (tmp_path / "state").iterdir() if not path.name.endswith(".lock"))
    assert files == ["overt.log", "overt.log.1", "overt.log.2"]
    assert all((tmp_path / "state" / name).stat().st_size <= 2_000 for name in files)
    kept = "".join((tmp_path / "state" / name).read_text() for name in reversed(files))
    numbers = [int(number) for number in re.findall(r"area: (\d{3})", kept)]
    assert numbers == list(range(numbers[0], 100))


def test_with_one_file_to_keep_the_log_begins_anew(tmp_path: Path) -> None:
    log = opened(tmp_path, max_size=2_000, keep=1)
    for number in range(50):
        log.error("area", f"{number} " + "x" * 100)
    assert not (tmp_path / "state" / "overt.log.1").exists()
    assert "area: 49 " in lines(tmp_path)[-1]


def test_several_processes_write_whole_entries_and_lose_none(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(folder), f"w{number}"]) for number in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    text = "".join(path.read_text() for path in folder.iterdir() if not path.name.endswith(".lock"))
    assert all(ENTRY.fullmatch(line) for line in text.splitlines())
    assert sorted(re.findall(r"writer: (w\d \d+) x", text)) == sorted(f"w{n} {i}" for n in range(4) for i in range(200))


def test_a_log_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, not a folder")
    opened(tmp_path).error("area", "text")
    assert (tmp_path / "state").read_text() == "a file, not a folder"


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "victim").write_text("")
    os.symlink(tmp_path / "victim", tmp_path / "state" / "overt.log")
    opened(tmp_path).error("area", "text")
    assert (tmp_path / "victim").read_text() == ""
