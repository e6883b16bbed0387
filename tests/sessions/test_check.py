"""Damage is found line by line, and told as what is lost and what still stands."""

import random
import signal
from pathlib import Path

import pytest
from tests.sessions.samples import new_log, prompt, thirty, write
from tests.sessions.test_log import said_by, start

from overt.core.events import TitleSet, TurnEnded
from overt.sessions.check_session import CheckResult, Finding, UnfinishedTurn, check, lost_texts, strays
from overt.sessions.entry_types import ENTRY_TYPES
from overt.sessions.names import id_of


def lines_of(path: str) -> list[bytes]:
    return Path(path).read_bytes().splitlines(keepends=True)


def test_a_sound_session_has_nothing_to_tell(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    assert check(path) == CheckResult(id=id_of(path), path=path, state="sound", entries=35, turns=1)


def test_a_changed_line_is_named_with_what_it_held(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    lines = lines_of(path)
    at = next(n for n, line in enumerate(lines) if b'"type":"outcome"' in line)
    lines[at] = lines[at].replace(b'"ok"', b'"no"', 1)
    Path(path).write_bytes(b"".join(lines))
    found = check(path)
    assert (found.state, found.entries) == ("damaged", 34)
    assert found.findings == (
        Finding(
            line=at + 1,
            kind="changed",
            what=f"entry {at + 1} was changed (its sum does not fit) and was left out",
            lost="the result of a call; the model is told that the call was interrupted (turn 1)",
        ),
    )


def test_missing_and_torn_lines_are_placed_between_what_stands(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    lines = lines_of(path)
    lines[20] = b"\0\0\n"
    Path(path).write_bytes(b"".join([*lines[:4], *lines[6:]]) + b'{"v":1,"seq":35,"ts"')
    assert [(fault.line, fault.kind, fault.lost) for fault in check(path).findings] == [
        (5, "missing", "2 entries of turn 1, between the entries `model` and `partial`"),
        (19, "torn", "one entry of turn 1, between the entries `agent_end` and `user`"),
        (34, "torn", "one entry after the entry `end` of turn 1: the end of the file"),
    ]


def test_turns_without_an_end_are_named_and_the_running_one_is_not(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(prompt("a"), turn=1, step=0)
    log.append(TurnEnded(reason="done"), turn=1, step=0)
    log.append(prompt("b"), turn=2, step=0)
    log.append(prompt("c"), turn=3, step=0)
    found = check(log.path)
    assert (found.state, [turn.turn for turn in found.unfinished]) == ("unfinished", [2])  # 3 is still being written
    log.append(TitleSet(title="a name", model=""), turn=3, step=0)
    log.close()
    assert check(log.path).unfinished == (
        UnfinishedTurn(turn=2, entries=1, last="user"),
        UnfinishedTurn(turn=3, entries=2, last="title"),
    )


def test_a_session_that_was_only_named_has_no_unfinished_turn(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(TitleSet(title="a name", model=""), turn=0, step=0)
    log.close()
    assert check(log.path).state == "sound"


def test_every_tampered_byte_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, thirty()[:12])
    whole = Path(path).read_bytes()
    order = random.Random(11)
    for offset in order.sample(range(len(whole)), 300):
        byte = order.choice([b for b in range(256) if b != whole[offset]])
        Path(path).write_bytes(whole[:offset] + bytes([byte]) + whole[offset + 1 :])
        assert check(path).state in ("damaged", "newer"), (offset, byte)
    Path(path).write_bytes(whole)
    assert (check(path).findings, check(path).state) == ((), "unfinished")


def test_a_newer_session_and_one_that_is_none_are_told_apart(tmp_path: Path) -> None:
    path = Path(write(tmp_path, thirty()[:3]))
    path.write_bytes(path.read_bytes().replace(b'{"v":1', b'{"v":4'))
    assert check(str(path)).state == "newer"
    assert "Update Overt" in check(str(path)).told
    path.write_bytes(b"")
    assert [fault.kind for fault in check(str(path)).findings] == ["header"]
    path.unlink()
    path.mkdir()
    assert check(str(path)).state == "unreadable"


def test_what_lies_beside_a_session_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    Path(f"{path}.torn").write_bytes(b"12345\n")
    holder = start("hold", path)
    pid = int(said_by(holder))
    assert (check(path).writer, check(path).state, len(check(path).beside)) == (pid, "sound", 1)
    holder.send_signal(signal.SIGKILL)
    holder.communicate(timeout=30)
    found = check(path)
    assert found.writer is None
    assert [line.partition(": ")[2] for line in found.beside] == [
        "6 bytes that were moved aside as no entries",
        "left by a writer that was killed; it locks nothing and goes with the next one",
    ]
    folder = Path(path).parent
    (folder / ".overt-0123.tmp").touch()
    (folder / "20200101T000000Z-gone.jsonl.torn").touch()
    assert [Path(each).name for each in strays(str(folder))] == [".overt-0123.tmp", "20200101T000000Z-gone.jsonl.torn"]


@pytest.mark.parametrize("kind", ENTRY_TYPES)
def test_what_is_lost_with_an_entry_is_said_for_every_type(kind: str) -> None:
    assert lost_texts()[kind]
