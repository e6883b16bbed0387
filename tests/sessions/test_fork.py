"""A fork holds the same facts up to a turn, in a chain of its own, and leaves the old session alone."""

import json
from pathlib import Path

import pytest
from tests.sessions.samples import facts, new_log, outcome, prompt, reply, thirty, write
from tests.sessions.test_log import said_by, start

from overt.core.errors import SessionError
from overt.core.events import Event, Noticed, PrefixReset, SnapshotTaken, TitleSet, Unknown
from overt.core.messages import Call, Text
from overt.sessions.fork import fork, free_id
from overt.sessions.index import list_sessions
from overt.sessions.load import load
from overt.sessions.log import SessionLog
from overt.sessions.names import created_of, id_of
from overt.sessions.resume import resume

TURNS: list[list[Event]] = [
    [*thirty()],
    [prompt("second"), reply(Call(id="k", name="read", arguments="{}")), outcome("k"), reply(Text(text="two"))],
    [Noticed(text="of a helper", agent="main/explore-1"), prompt("third"), reply(Text(text="three"))],
]


def turns(folder: Path) -> str:
    log = new_log(folder)
    for turn, events in enumerate(TURNS, 1):
        for event in events:
            log.append(event, turn=turn if event.agent == "main" else 1, step=1)
    log.close()
    return log.path


def test_a_fork_of_everything_differs_only_in_its_header_and_its_sums(tmp_path: Path) -> None:
    path = turns(tmp_path)
    before = Path(path).read_bytes()
    copy = fork(path, overt="0.2.0")
    old, new = load(path), load(copy)
    assert Path(path).read_bytes() == before
    assert new.damage == ()
    assert [(e.seq, e.ts, e.agent, e.turn, e.step, e.type, e.data) for e in new.entries[1:]] == [
        (e.seq, e.ts, e.agent, e.turn, e.step, e.type, e.data) for e in old.entries[1:]
    ]
    assert (new.opened.parent, new.opened.overt, new.opened.workspace) == (old.id, "0.2.0", "/tmp/project")
    assert (new.id, new.opened.created) == (id_of(copy), created_of(copy))
    assert new.id != old.id
    assert Path(copy).stat().st_mode & 0o777 == 0o600
    assert Path(copy).parent == Path(path).parent
    assert {found.id: found.parent for found in list_sessions(str(tmp_path))} == {old.id: "", new.id: old.id}


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_fork_at_a_turn_ends_before_the_next_one(tmp_path: Path, turn: int) -> None:
    copy = fork(turns(tmp_path), turn=turn)
    kept = facts(load(copy).entries)
    helper = TURNS[2][:1] if turn == 2 else []  # said before the next turn of the conversation itself began
    assert kept == [event for events in TURNS[:turn] for event in events] + helper
    assert resume(load(copy).entries).turn == turn
    assert any(isinstance(event, SnapshotTaken) for event in kept), "what undo needs came along"


def test_a_way_back_that_came_after_the_turn_is_left_out(tmp_path: Path) -> None:
    """It stands between two turns, under the number of the one before."""
    path = turns(tmp_path)
    log, loaded = SessionLog.open(path)
    log.append(PrefixReset(cause="rewind to before turn 2", keep=0, era=0), turn=3, step=0)
    log.append(TitleSet(title="later", model=""), turn=3, step=0)
    log.close()
    forked, whole = load(fork(path, turn=3)), load(fork(path))
    assert facts(forked.entries) == [*facts(loaded.entries), TitleSet(title="later", model="")]
    assert resume(forked.entries).history.messages == resume(loaded.entries).history.messages != ()
    assert resume(whole.entries).history.messages == ()
    assert forked.damage == ()


@pytest.mark.parametrize("turn", [0, -1, 4, 99])
def test_a_turn_that_is_not_there_is_refused_and_nothing_is_made(tmp_path: Path, turn: int) -> None:
    path = turns(tmp_path)
    with pytest.raises(SessionError, match="turns 1 to 3"):
        fork(path, turn=turn)
    assert len(list_sessions(str(tmp_path))) == 1


def test_the_copy_goes_on_by_itself(tmp_path: Path) -> None:
    path = turns(tmp_path)
    copy = fork(path, turn=1)
    log, _ = SessionLog.open(copy)
    log.append(prompt("another way"), turn=2, step=0)
    log.close()
    assert facts(load(copy).entries)[-1] == prompt("another way")
    assert load(copy).damage == ()
    assert prompt("another way") not in facts(load(path).entries)


def test_a_session_that_another_process_writes_may_be_forked(tmp_path: Path) -> None:
    path = turns(tmp_path)
    holder = start("hold", path)
    try:
        said_by(holder)
        with pytest.raises(SessionError, match="--fork-session"):
            SessionLog.open(path)
        assert facts(load(fork(path)).entries) == facts(load(path).entries)
    finally:
        holder.communicate("\n", timeout=30)


def test_bytes_that_only_a_later_release_understands_come_along(tmp_path: Path) -> None:
    """A field this version does not know is in no value it reads; the copy must be made of bytes."""
    log = new_log(tmp_path)
    log.append(Unknown(type="note", data={"text": "hi", "mood": "good"}), turn=1, step=0)
    log.append(Unknown(type="hologram", data={"depth": 1}), turn=1, step=0)
    log.close()
    lines = Path(fork(log.path)).read_bytes().splitlines()
    assert [json.loads(line)["data"] for line in lines[1:]] == [{"text": "hi", "mood": "good"}, {"depth": 1}]


def test_of_a_damaged_session_what_stands_is_copied_and_the_copy_is_sound(tmp_path: Path) -> None:
    path = write(tmp_path, [*thirty(), prompt("a\udcff")])
    lines = Path(path).read_bytes().splitlines(keepends=True)
    lines[7] = b"\0garbage\n"
    lines[12] = lines[12].replace(b"c0", b"c9", 1)  # not in the sum, which may hold these digits too
    Path(path).write_bytes(b"".join(lines) + b'{"v":1,"se')
    copy = fork(path)
    assert load(copy).damage == ()
    assert facts(load(copy).entries) == facts(load(path).entries)
    assert len(load(path).damage) == 3


def test_an_id_may_be_chosen_with_dashes_once(tmp_path: Path) -> None:
    wanted = free_id(str(tmp_path), "0b5e7c1a-77aa-4c3e-9d21-aabbccddeeff")
    copy = fork(turns(tmp_path), id=wanted)
    assert (id_of(copy), load(copy).id) == (wanted, wanted)
    with pytest.raises(SessionError, match=f"overt -r {wanted.upper()}"):
        free_id(str(tmp_path), wanted.upper())


@pytest.mark.parametrize("wanted", ["", "-x", "a/b", "..", "a b", "名前", "a\n", "x" * 65, "a.b", "a_b"])
def test_what_cannot_be_an_id_is_refused(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(SessionError, match="letters, digits and dashes"):
        free_id(str(tmp_path), wanted)
