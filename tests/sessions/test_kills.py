"""`kill -9` at every system call that writes a session: nothing acknowledged is lost, nothing is unreadable.

The kernel writes a line whole or not at all when a process is killed; lines that are torn for other reasons
are made by hand in test_load.
"""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.sessions.samples import ROOT, facts, run_writer, thirty, write, writer

from overt.core.events import Event, Noticed
from overt.sessions.load import load
from overt.sessions.log import SessionLog


def strace(*what: str, path: str = "") -> list[str]:
    only = ["-P", path] if path else []
    return [
        "strace",
        "-f",
        "-qq",
        *only,
        *(part for expression in what for part in ("-e", expression)),
        "-o",
        "/dev/null",
    ]


def acknowledged(out: str) -> int:
    return sum(line.startswith("saved ") for line in out.splitlines())


def records(events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, Noticed) and event.text.startswith("record ")]


def assert_kept(path: str, saved: int, *, before: list[Event]) -> None:
    """All that was acknowledged and at most one more; then the session goes on in one chain of valid lines."""
    loaded = load(path)
    written = facts(loaded.entries)
    assert written[: len(before)] == before
    assert len(written) - len(before) in (saved, saved + 1)
    log, _ = SessionLog.open(path)
    log.append(Noticed(text="resumed"), turn=2, step=0)
    log.close()
    again = load(path)
    assert (facts(again.entries), again.damage) == ([*written, Noticed(text="resumed")], ())
    assert all(isinstance(json.loads(line), dict) for line in Path(path).read_bytes().splitlines())


def kill_everywhere(folder: Path, call: str, count: int) -> int:
    """Kill at the first such call of a session being continued, then at the second … until a run survives."""
    source = write(folder / "source", thirty()[:3])
    path = str(folder / Path(source).name)
    for number in range(1, 100):
        shutil.copy(source, path)
        injected = f"inject={call}:signal=KILL:when={number}"
        done = run_writer("open", path, str(count), under=strace(f"trace={call}", injected, path=path))
        assert_kept(path, acknowledged(done.stdout), before=thirty()[:3])
        if done.returncode == 0:
            assert acknowledged(done.stdout) == count
            return number - 1
    raise AssertionError("every run was killed")


def test_a_kill_at_every_write_of_thirty_records_loses_nothing_acknowledged(tmp_path: Path) -> None:
    assert kill_everywhere(tmp_path, "write", 30) == 30


def test_a_kill_at_every_sync_loses_nothing_acknowledged(tmp_path: Path) -> None:
    assert kill_everywhere(tmp_path, "fsync", 30) == 4


def test_a_kill_while_a_session_comes_to_be_leaves_none_or_a_readable_one(tmp_path: Path) -> None:
    kills = {}
    for call in ("write", "pwrite64", "mkdir", "flock", "fsync", "unlink"):
        for number in range(1, 50):
            data = tmp_path / f"{call}-{number}"
            injected = f"inject={call}:signal=KILL:when={number}"
            done = run_writer("create", str(data), "3", under=strace(f"trace={call}", injected))
            found = list(data.rglob("*.jsonl"))
            for path in found:
                assert_kept(str(path), acknowledged(done.stdout), before=[])
            assert found or not acknowledged(done.stdout)
            if done.returncode == 0:
                break
            kills[call] = number
    # One write for the path, four for the header and the records, three for the acknowledgements.
    assert kills == {"write": 8, "pwrite64": 1, "mkdir": 3, "flock": 1, "fsync": 2, "unlink": 1}


@pytest.mark.parametrize("place", ["tail", "middle"])
def test_a_kill_at_every_step_of_a_repair_loses_nothing(tmp_path: Path, place: str) -> None:
    source = write(tmp_path / "source", thirty())
    lines = Path(source).read_bytes().splitlines(keepends=True)
    damaged = [*lines, b'{"v":1,"se'] if place == "tail" else [*lines[:5], b"garbage\n", *lines[5:]]
    path = str(tmp_path / Path(source).name)
    killed = []
    for call in ("write", "ftruncate", "fsync", "renameat", "unlink"):
        for number in range(1, 50):
            Path(path).write_bytes(b"".join(damaged))
            injected = f"inject={call}:signal=KILL:when={number}"
            done = run_writer("repair", path, under=strace(f"trace={call}", injected))
            assert_kept(path, 0, before=thirty())
            if done.returncode == 0:
                break
            killed.append(call)
    assert set(killed) >= ({"write", "fsync", "ftruncate"} if place == "tail" else {"write", "fsync", "renameat"})


def kill_at_random(folder: Path, times: int) -> None:
    order = random.Random(11)
    path = write(folder, thirty()[:3])
    kept: list[Event] = thirty()[:3]
    for _ in range(times):
        with subprocess.Popen(
            writer("open", path, "100000"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout
            head = b"".join(process.stdout.readline() for _ in range(order.randint(0, 30)))
            process.kill()
            out = head + process.stdout.read()
        saved = acknowledged(out.decode())
        written = facts(load(path).entries)
        assert len(written) - len(kept) in (saved, saved + 1)
        assert_kept(path, saved, before=kept)
        kept = facts(load(path).entries)


def test_random_kills_lose_nothing_acknowledged(tmp_path: Path) -> None:
    kill_at_random(tmp_path, 20)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_five_hundred_random_kills_lose_nothing_acknowledged(tmp_path: Path) -> None:
    for batch in range(20):
        kill_at_random(tmp_path / str(batch), 25)
        assert os.listdir(tmp_path / str(batch) / "sessions")
