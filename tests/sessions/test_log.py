"""One writer, private files, nothing for an unused session, and a lock that heals by itself."""

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest
from tests.sessions.samples import ROOT, facts, new_log, prompt, run_writer, thirty, write, writer

from overt.core.errors import SessionError
from overt.core.events import Noticed, TextStreamed
from overt.sessions.index import delete
from overt.sessions.load import load
from overt.sessions.log import SessionLog


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        writer(*arguments), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said_by(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_a_session_nobody_used_leaves_nothing_behind(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(TextStreamed(text="not a fact"), turn=1, step=0)
    log.sync()
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_the_first_fact_brings_the_header_with_it_and_closing_takes_the_lock_away(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(prompt("hi"), turn=1, step=0)
    assert [(e.seq, e.turn, e.type) for e in load(log.path).entries] == [(1, 0, "session"), (2, 1, "user")]
    assert sorted(os.listdir(Path(log.path).parent)) == [Path(log.path).name, f"{Path(log.path).name}.lock"]
    log.close()
    assert os.listdir(Path(log.path).parent) == [Path(log.path).name]


def test_writing_after_closing_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.close()
    with pytest.raises(SessionError, match="closed"):
        log.append(prompt("hi"), turn=1, step=0)


def test_each_fact_is_one_write(tmp_path: Path) -> None:
    path, trace = write(tmp_path / "data", thirty()[:1]), tmp_path / "trace"
    done = run_writer(
        "open", path, "12", under=["strace", "-f", "-qq", "-P", path, "-e", "trace=write", "-o", str(trace)]
    )
    assert done.returncode == 0
    assert trace.read_text().count("write(") == 12


def test_a_session_goes_on_over_several_openings_in_one_chain(tmp_path: Path) -> None:
    events = thirty()
    path = write(tmp_path, events[:10])
    for event in events[10:]:
        log, loaded = SessionLog.open(path)
        assert loaded.damage == ()
        log.append(event, turn=1, step=1)
        log.close()
    assert facts(load(path).entries) == events
    assert load(path).damage == ()


def test_files_and_folders_are_private_under_any_umask(tmp_path: Path) -> None:
    for umask in (0o000, 0o022, 0o077):
        data = tmp_path / f"{umask:o}" / "deep" / "data"
        script = f'umask {umask:04o}; exec "$@"'
        done = run_writer("create", str(data), "3", under=["sh", "-c", script, "sh"])
        assert done.returncode == 0, done.stderr
        path = Path(done.stdout.splitlines()[0])
        with path.open("ab") as file:
            file.write(b'{"torn')
        holder = start("hold", str(path))
        try:
            said_by(holder)
            found = {p.name: p.stat().st_mode for p in (tmp_path / f"{umask:o}").rglob("*")}
        finally:
            holder.communicate("\n", timeout=30)
        assert {stat.S_IMODE(mode) for mode in found.values() if stat.S_ISDIR(mode)} == {0o700}
        files = {name: stat.S_IMODE(mode) for name, mode in found.items() if stat.S_ISREG(mode)}
        assert files == dict.fromkeys((path.name, f"{path.name}.lock", f"{path.name}.torn"), 0o600)


def test_a_second_writer_is_told_who_holds_the_session_and_may_still_read(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    holder = start("hold", path)
    try:
        pid = said_by(holder)
        for attempt in (SessionLog.open, delete):
            with pytest.raises(SessionError, match=rf"process {pid}\b.*Wait .*read it .*start a new") as caught:
                attempt(path)
            assert caught.value.code == "locked"
        assert facts(load(path).entries) == thirty()
    finally:
        holder.communicate("\n", timeout=30)
    SessionLog.open(path)[0].close()


def test_the_lock_of_a_killed_writer_heals_by_itself(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    for _ in range(3):
        holder = start("hold", path)
        said_by(holder)
        holder.send_signal(signal.SIGKILL)
        holder.communicate(timeout=30)
        assert Path(f"{path}.lock").exists()
        log, loaded = SessionLog.open(path)
        assert loaded.damage == ()
        log.close()
        assert not Path(f"{path}.lock").exists()


def test_a_missing_session_is_not_made_by_opening_it(tmp_path: Path) -> None:
    with pytest.raises(SessionError) as caught:
        SessionLog.open(str(tmp_path / "20260101T000000Z-aaaaaaaa.jsonl"))
    assert caught.value.code == "missing"
    assert list(tmp_path.iterdir()) == []


def test_a_refused_opening_gives_the_lock_back(tmp_path: Path) -> None:
    path = Path(write(tmp_path, thirty()[:2]))
    path.write_bytes(path.read_bytes().replace(b'{"v":1', b'{"v":3'))
    with pytest.raises(SessionError, match="newer"):
        SessionLog.open(str(path))
    assert not Path(f"{path}.lock").exists()


def races(path: str, rounds: int) -> None:
    racers = [start("race", path, str(rounds), tag) for tag in ("left", "right")]
    for racer in racers:
        assert said_by(racer) == "ready"
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("\n")
        racer.stdin.flush()
    lost = 0
    for racer in racers:
        out, err = racer.communicate(timeout=100)
        assert racer.returncode == 0, err
        lost += int(out)
    loaded = load(path)
    notes = [event.text for event in facts(loaded.entries) if isinstance(event, Noticed)]
    assert loaded.damage == ()
    assert lost > 0, "they never met"
    assert len(notes) == 2 * 3 * rounds
    for first in range(0, len(notes), 3):
        whose = notes[first].removesuffix(" 0")
        assert notes[first : first + 3] == [f"{whose} {part}" for part in range(3)]


def test_writers_that_race_never_interleave(tmp_path: Path) -> None:
    races(write(tmp_path, thirty()[:1]), 20)


@pytest.mark.soak
def test_two_hundred_races_never_interleave(tmp_path: Path) -> None:
    races(write(tmp_path, thirty()[:1]), 200)
