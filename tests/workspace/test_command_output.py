"""The output of a command beyond what the model is shown: kept in a private file, whole and without secrets."""

import asyncio
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.workspace.programs_kit import opened

from overt.core.capabilities import FinishedCommand
from overt.core.interruption import Interrupted
from overt.lib.redaction.redact import HIDDEN, Redactor
from overt.workspace import command_output
from overt.workspace.command_output import OutputFiles, clean_blocks

VALUE = "correct-horse-battery-7"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2"
PEM = (
    "-----BEGIN RSA "
    + "PRIVATE KEY-----\n"
    + "\n".join("MIIEpAIBAAKCAQEA75Zb" * 3 for _ in range(12))
    + "\n-----END RSA "
    + "PRIVATE KEY-----"
)


def outputs(folder: Path, *, stored: bool = True) -> OutputFiles:
    return OutputFiles(str(folder / "output"), "s1", stored=stored, redactor=Redactor([VALUE]))


def run(cwd: Path, command: str, files: OutputFiles) -> FinishedCommand:
    async def main() -> FinishedCommand:
        async with asyncio.timeout(60), opened(cwd, outputs=files) as bench:
            return await bench.programs.run(command, timeout_ms=30_000)

    return asyncio.run(main())


def named(text: str) -> Path:
    """The file that a marker names."""
    (path,) = re.findall(r" in (/\S+), for read and grep", text)
    return Path(path)


@pytest.mark.parametrize("lines", [9_000, 200_000])
def test_output_that_is_cut_is_kept_whole_in_a_private_file(tmp_path: Path, lines: int) -> None:
    ran = run(tmp_path, f"seq {lines}", outputs(tmp_path))

    path = named(ran.text)
    assert ran.hint == f"all of it is in {path}, for read and grep"
    assert f"left out; {ran.hint}" in ran.text
    assert path.read_text() == "".join(f"{number}\n" for number in range(1, lines + 1))
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)]
    assert modes == [0o600, 0o700]


def test_output_that_is_given_whole_leaves_no_file(tmp_path: Path) -> None:
    ran = run(tmp_path, "seq 100; for i in $(seq 20000); do printf '\\r%s of 20000' $i; done", outputs(tmp_path))

    assert ran.text.endswith("\n20000 of 20000")
    assert list(tmp_path.rglob("output/*/*")) == []


def test_two_outputs_have_two_files(tmp_path: Path) -> None:
    files = outputs(tmp_path)
    assert named(run(tmp_path, "seq 9000", files).text) != named(run(tmp_path, "seq 9000", files).text)


def test_beyond_the_limit_the_beginning_and_the_end_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_output, "HALF", 300_000)
    ran = run(tmp_path, "seq 300000", outputs(tmp_path))

    text = named(ran.text).read_text()
    first, last = re.split(r"\n\n\[\.\.\. \d+ bytes were not kept \.\.\.\]\n", text)
    numbers = list(map(int, first.split())), list(map(int, last.split()))
    assert numbers[0] == list(range(1, len(numbers[0]) + 1))
    assert numbers[1] == list(range(300_001 - len(numbers[1]), 300_001))
    assert all(290_000 < len(part) <= 300_000 for part in (first, last))
    assert "its first and last 32 MB are in " in ran.text


def cut_anywhere(data: bytes, random: Random) -> Iterator[bytes]:
    while data:
        size = random.choice((7, 100, 5_000, 60_000))
        yield data[:size]
        data = data[size:]


@pytest.mark.parametrize("secret", [VALUE, TOKEN, PEM], ids=["value", "form", "private key"])
@pytest.mark.parametrize("between", ["", "x\n" * 9_000, "word " * 9_000], ids=["near", "lines", "one line"])
def test_no_secret_is_kept_wherever_the_stream_is_cut(secret: str, between: str) -> None:
    random = Random(7)
    text = f"{between}begin {secret} {between}\nmiddle={secret}\n{between}{secret}\n"
    for _ in range(4):
        kept = "".join(clean_blocks(cut_anywhere(text.encode(), random), Redactor([VALUE])))
        assert kept == Redactor([VALUE]).clean(text)
        assert kept.count(HIDDEN) == 3


@pytest.mark.parametrize("around", ["x\n", "x"], ids=["lines", "one line"])
@pytest.mark.parametrize("secret", [f" {VALUE} ", f" {TOKEN} ", f"\n{PEM}\n"], ids=["value", "form", "private key"])
def test_no_secret_is_cut_in_two_where_a_block_ends(secret: str, around: str) -> None:
    """Text is let go of up to twice the longest secret before its end: the secret lies right there."""
    redactor = Redactor([VALUE])
    for shift in range(0, len(secret), max(len(secret) // 30, 1)):
        behind = (around * 2 * redactor.longest)[: 2 * redactor.longest - shift]
        text = f"{around * redactor.longest}{secret}{behind}"
        assert "".join(clean_blocks(iter((text.encode(), b"\nthe end")), redactor)) == redactor.clean(
            f"{text}\nthe end"
        )


@pytest.mark.parametrize("secret", [VALUE, TOKEN, PEM], ids=["value", "form", "private key"])
def test_no_part_of_a_secret_is_kept_beside_the_gap(secret: str) -> None:
    redactor = Redactor([VALUE])
    for at in range(8, len(secret) - 8, max(len(secret) // 40, 1)):
        head = "".join(clean_blocks(iter((f"before\n{secret[:at]}".encode(),)), redactor, broken_off=True))
        tail = "".join(clean_blocks(iter((f"{secret[at:]}\nafter\n".encode(),)), redactor, begun=True))
        assert (head, tail.strip()) == ("before\n", "after")


def test_a_full_disk_lets_the_command_work_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    files = outputs(tmp_path)
    for name in ("pwrite", "write"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            data = files.spool(head=1000, tail=1000)
            for number in range(4_000):
                data.feed(b"%07d\n" % number)
            assert files.save(data) == "the rest was not kept: No space left on device"
            data.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_that_cannot_be_made_lets_the_command_work(tmp_path: Path) -> None:
    (tmp_path / "output").write_text("a file stands here")

    ran = run(tmp_path, "seq 200000", outputs(tmp_path))

    assert (ran.code, "the rest was not kept: " in ran.text) == (0, True)


def test_a_session_that_is_not_stored_removes_its_outputs_and_those_of_a_killed_one(tmp_path: Path) -> None:
    left = tmp_path / "output" / "unsaved-1-x"
    left.mkdir(parents=True)
    (left / "1.txt").write_text("left by a killed program")
    files = outputs(tmp_path, stored=False)
    path = named(run(tmp_path, "seq 9000", files).text)
    assert path.exists() and not left.exists()

    beside = outputs(tmp_path, stored=False)
    beside.folder += "-beside"
    run(tmp_path, "seq 9000", beside)
    assert path.exists()  # it is in use

    files.close()
    beside.close()
    assert os.listdir(tmp_path / "output") == []


def test_an_interrupted_command_hands_over_what_it_printed(tmp_path: Path) -> None:
    async def main() -> str:
        progress: list[str] = []
        async with asyncio.timeout(60), opened(tmp_path, progress.append, outputs=outputs(tmp_path)) as bench:
            running = asyncio.create_task(bench.programs.run("seq 9000; touch done; sleep 60", timeout_ms=60_000))
            while not (progress and (tmp_path / "done").exists()):  # before, the start itself would be interrupted
                await asyncio.sleep(0.01)
            running.cancel()
            try:
                await running
            except Interrupted as stopped:
                return stopped.text
            raise AssertionError("not interrupted")

    text = asyncio.run(main())
    assert text.startswith("1\n2\n") and text.endswith("\n9000\n")
    assert named(text).read_text().endswith("\n9000\n")
