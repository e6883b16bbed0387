"""The ledger: one whole line for each request, whoever writes at the same time, and whatever the disk does."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from overt.core.errors import SessionError
from overt.sessions.usage_ledger import LedgerLine, UsageLedger, read_ledger

ONE = LedgerLine(ts=1.5, session="ab12", project="work-1", provider="p", model="m", turn=1, step=2, input=10, output=3)

WRITER = """
import sys
from overt.sessions.usage_ledger import LedgerLine, UsageLedger
ledger = UsageLedger(sys.argv[1])
for number in range(int(sys.argv[3])):
    said = ledger.book(LedgerLine(ts=float(number), session=sys.argv[2], project="p", model="m" * 200))
    print(said or "booked")
"""


def writer(folder: Path, name: str, lines: int, under: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    argv = [*under, sys.executable, "-c", WRITER, str(folder), name, str(lines)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_is_booked_is_read_again_and_only_the_owner_can(tmp_path: Path) -> None:
    ledger = UsageLedger(str(tmp_path / "data"))
    assert [ledger.book(ONE), ledger.book(ONE), ledger.missed] == ["", "", 0]
    assert list(read_ledger(str(tmp_path / "data"))) == [ONE, ONE]
    assert stat.S_IMODE(os.stat(ledger.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "data").st_mode) == 0o700


def test_nothing_booked_is_nothing_to_read(tmp_path: Path) -> None:
    assert list(read_ledger(str(tmp_path))) == []


def test_several_processes_book_at_once_and_no_line_is_lost(tmp_path: Path) -> None:
    writers = [writer(tmp_path, f"s{number}", 300) for number in range(4)]
    for each in writers:
        assert each.communicate(timeout=60)[1] == ""
    found = [(line.session, line.ts) for line in read_ledger(str(tmp_path))]
    assert sorted(found) == sorted((f"s{number}", float(line)) for number in range(4) for line in range(300))


@pytest.mark.parametrize(
    "torn", [b'{"ts":1.0,"sess', b"\xff\xfe", b"[]", b'{"ts":"x","session":"a","project":"p"}', b""]
)
def test_a_torn_line_costs_only_itself(tmp_path: Path, torn: bytes) -> None:
    ledger = UsageLedger(str(tmp_path))
    ledger.book(ONE)
    with open(ledger.path, "ab") as file:
        file.write(torn)
    ledger.book(ONE)
    assert list(read_ledger(str(tmp_path))) == [ONE, ONE]


def test_fields_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_text('{"ts":1.5,"session":"a","project":"p","new":[1],"model":"m"}\n')
    assert list(read_ledger(str(tmp_path))) == [LedgerLine(ts=1.5, session="a", project="p", model="m")]


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_full_disk_costs_the_lines_it_refused_and_nothing_else(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.jsonl")
    UsageLedger(str(tmp_path)).book(ONE)
    inject = "inject=write:error=ENOSPC:when=2..3"
    under = ("strace", "-f", "-qq", "-P", path, "-e", "trace=write", "-e", inject, "-o", "/dev/null")
    out, err = writer(tmp_path, "s", 5, under).communicate(timeout=60)
    assert (out.splitlines(), err) == (["booked", *["No space left on device"] * 2, "booked", "booked"], "")
    assert [line.ts for line in read_ledger(str(tmp_path))] == [1.5, 0.0, 3.0, 4.0]


@pytest.mark.parametrize("what", ["folder", "link", "pipe"])
def test_what_is_no_file_is_not_written_to(tmp_path: Path, what: str) -> None:
    ledger, other = UsageLedger(str(tmp_path)), tmp_path / "other"
    other.write_text("mine\n")
    match what:
        case "folder":
            os.mkdir(ledger.path)
        case "link":
            os.symlink(other, ledger.path)
        case _:
            os.mkfifo(ledger.path)
    assert ledger.book(ONE) != ""
    assert (ledger.missed, other.read_text()) == (1, "mine\n")


def test_a_ledger_that_is_no_file_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ledger.jsonl")
    with pytest.raises(SessionError, match="is not a file, so it is no ledger"):
        list(read_ledger(str(tmp_path)))
