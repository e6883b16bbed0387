"""A session written by an earlier release is read for good: this file was, and must never be written anew."""

import json
import shutil
from pathlib import Path

from tests.sessions.samples import ROOT, assert_valid

from overt.core.events import PrefixSet, SessionOpened, SnapshotTaken, TurnEnded, Unknown
from overt.sessions.check_session import UnfinishedTurn, check
from overt.sessions.load import load
from overt.sessions.log import SessionLog
from overt.sessions.resume import resume

FIRST = ROOT / "tests" / "golden" / "sessions" / "20261116T124032Z-d76e5910.jsonl"


def test_a_session_of_the_first_format_loads_whole() -> None:
    loaded = load(str(FIRST))
    assert (loaded.damage, loaded.next_seq, len(loaded.entries)) == ((), 35, 34)
    assert [entry.type for entry in loaded.entries if isinstance(entry.data, Unknown)] == []
    assert loaded.opened == SessionOpened(
        id="d76e5910",
        format=1,
        overt="0.1.0",
        workspace="/tmp/project",
        project="/tmp/project",
        created="20261116T124032Z",
    )
    found = check(str(FIRST))
    assert (found.findings, found.unfinished) == ((), (UnfinishedTurn(turn=2, entries=3, last="partial"),))


def test_fields_that_came_later_have_their_defaults_in_it() -> None:
    entries = load(str(FIRST)).entries
    (prefix,) = [entry.data for entry in entries if isinstance(entry.data, PrefixSet)]
    (snapshot,) = [entry.data for entry in entries if isinstance(entry.data, SnapshotTaken)]
    (end,) = [entry.data for entry in entries if isinstance(entry.data, TurnEnded)]
    assert (prefix.about, prefix.calls) == (None, "native")
    assert (snapshot.path, snapshot.hash, snapshot.after, snapshot.uncovered) == ("a.py", "ff", "", "")
    assert (end.reason, end.usage.cached) == ("done", 9)


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / FIRST.name
    shutil.copy(FIRST, path)
    log, loaded = SessionLog.open(str(path))
    found = resume(loaded.entries)
    assert (found.turn, found.model, found.mode) == (2, "tiny", "review")
    assert [event.result.call_id for event in found.healing] == ["e0"]
    assert_valid(found.history)
    assert "And the file a\udcff.txt?" in [message.text() for message in found.history.messages]
    for event in found.healing:
        log.append(event, turn=2, step=1)
    log.close()
    assert (load(str(path)).damage, len(load(str(path)).entries)) == ((), 35)


def test_what_a_later_release_of_the_same_format_adds_is_kept_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / FIRST.name
    shutil.copy(FIRST, path)
    log, _ = SessionLog.open(str(path))
    log.append(Unknown(type="hologram", data={"depth": 3}), turn=2, step=1)
    log.close()
    before = resume(load(str(FIRST)).entries).history
    assert resume(load(str(path)).entries).history == before
    assert json.loads(path.read_bytes().splitlines()[-1])["data"] == {"depth": 3}
