"""A damaged file gives everything that is sound and names the rest."""

import json
import os
import random
from pathlib import Path

import pytest
from tests.sessions.samples import facts, thirty, write

from overt.core.errors import SessionError
from overt.core.events import Event, Noticed, SessionOpened, Unknown
from overt.sessions.load import load
from overt.sessions.log import SessionLog


def lines_of(path: str) -> list[bytes]:
    return Path(path).read_bytes().splitlines(keepends=True)


def put(path: str, lines: list[bytes]) -> None:
    Path(path).write_bytes(b"".join(lines))


def go_on(path: str) -> list[Event]:
    """Open for writing, add one fact, and read the file again: it must be whole lines of JSON."""
    log, _ = SessionLog.open(path)
    log.append(Noticed(text="resumed"), turn=2, step=0)
    log.close()
    for line in lines_of(path):
        assert line.endswith(b"\n") and isinstance(json.loads(line), dict)
    return facts(load(path).entries)


def test_a_sound_file_comes_back_whole(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    loaded = load(path)
    assert facts(loaded.entries) == thirty()
    assert [entry.seq for entry in loaded.entries] == list(range(1, 36))
    assert (loaded.damage, loaded.torn) == ((), ())
    assert (loaded.next_seq, loaded.good_length) == (36, Path(path).stat().st_size)
    assert loaded.opened == SessionOpened(
        id=loaded.id,
        format=1,
        overt="0.1.0",
        workspace="/tmp/project",
        project="/tmp/project",
        created=Path(path).name.partition("-")[0],
    )


def test_a_tail_torn_at_any_byte_costs_only_its_own_entry_and_is_moved_aside_once(tmp_path: Path) -> None:
    path = write(tmp_path, thirty()[:6])
    whole = Path(path).read_bytes()
    start = len(whole) - len(lines_of(path)[-1])
    for cut in range(start + 1, len(whole)):
        Path(path).write_bytes(whole[:cut])
        ended = cut == len(whole) - 1  # only the line end is missing, so the entry is whole
        kept = thirty()[: 6 if ended else 5]
        loaded = load(path)
        assert facts(loaded.entries) == kept
        torn = () if ended else (f"line 7: ends in the middle and was left out ({cut - start} bytes)",)
        assert loaded.damage == torn
        assert Path(path).read_bytes() == whole[:cut], "reading changes nothing"
        assert go_on(path) == [*kept, Noticed(text="resumed")]
        assert load(path).damage == ()
        aside = Path(f"{path}.torn")
        if not ended:
            assert aside.read_bytes() == whole[start:cut] + b"\n"
            aside.unlink()
        assert not aside.exists()


@pytest.mark.parametrize("cut", [0, 1, 40, 150])
def test_a_file_that_is_only_a_torn_header_still_opens_under_its_name(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path, thirty()[:1])
    before = load(path).opened
    put(path, [lines_of(path)[0][:cut]])
    loaded = load(path)
    assert (loaded.entries, loaded.id, loaded.opened.created) == ((), before.id, before.created)
    assert loaded.headless
    assert go_on(path) == [Noticed(text="resumed")]
    assert (load(path).damage, load(path).id) == ((), before.id)


def test_a_torn_first_line_before_good_ones_loses_only_the_header(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    before = load(path).opened
    first, *rest = lines_of(path)
    put(path, [first[30:], *rest])
    loaded = load(path)
    assert facts(loaded.entries) == thirty()
    assert loaded.id == before.id
    assert loaded.damage == (
        f"line 1: cannot be read and was left out ({len(first) - 30} bytes)",
        "no header could be read; id and time come from the name of the file",
    )
    header = SessionOpened(id="other", format=1, overt="9", workspace="/w", project="/p", created="now")
    log, _ = SessionLog.open(path, opened=header)
    log.append(Noticed(text="resumed"), turn=2, step=0)
    log.close()
    assert facts(load(path).entries) == [*thirty(), Noticed(text="resumed")]
    found = load(path).opened
    assert (found.id, found.created, found.workspace) == (before.id, before.created, "/w")
    assert Path(f"{path}.torn").read_bytes() == first[30:]
    assert [json.loads(line)["v"] for line in lines_of(path)] == [1] * 36


def test_garbage_in_the_middle_costs_one_entry_and_leaves_the_file_readable(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    lines = lines_of(path)
    lines[10] = b"\0\0garbage\xff\n"
    put(path, lines)
    kept = thirty()[:9] + thirty()[10:]
    assert facts(load(path).entries) == kept
    assert load(path).damage == ("line 11: cannot be read and was left out (11 bytes)",)
    assert go_on(path) == [*kept, Noticed(text="resumed")]
    assert load(path).damage == ("line 11: before it entry 11 is missing",)


def test_missing_lines_are_named_and_cost_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    lines = lines_of(path)
    put(path, lines[:5] + lines[8:])
    assert facts(load(path).entries) == thirty()[:4] + thirty()[7:]
    assert load(path).damage == ("line 6: before it entries 6 to 8 are missing",)


def test_a_file_pasted_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    put(path, lines_of(path) * 2)
    loaded = load(path)
    assert facts(loaded.entries) == thirty()
    assert len(loaded.damage) == 35
    assert go_on(path) == [*thirty(), Noticed(text="resumed")]


def test_one_changed_byte_anywhere_is_noticed_and_costs_at_most_its_own_line(tmp_path: Path) -> None:
    path = write(tmp_path, thirty()[:8])
    whole = Path(path).read_bytes()
    order = random.Random(5)
    starts = [0, *(offset + 1 for offset, byte in enumerate(whole) if byte == 10)]
    for offset in order.sample(range(len(whole)), 700):
        byte = order.choice([b for b in range(256) if b != whole[offset]])
        Path(path).write_bytes(whole[:offset] + bytes([byte]) + whole[offset + 1 :])
        number = sum(start <= offset for start in starts)
        try:
            loaded = load(path)
        except SessionError as error:
            assert error.code == "newer", error
            assert number in (1, 9)
            continue
        wanted = [event for index, event in enumerate(thirty()[:8], 2) if index not in (number, number + 1)]
        assert loaded.damage, (offset, byte)
        got = facts(loaded.entries)
        assert all(event in got for event in wanted), (offset, byte, loaded.damage)
        if 10 not in (byte, whole[offset]):
            assert len(loaded.entries) >= 8, (offset, byte, loaded.damage)


def test_an_unknown_entry_stays_in_the_file_through_a_resume(tmp_path: Path) -> None:
    events = [*thirty()[:4], Unknown(type="hologram", data={"x": 1}), *thirty()[4:]]
    path = write(tmp_path, events)
    assert go_on(path) == [*events, Noticed(text="resumed")]
    assert b'"type":"hologram","data":{"x":1}' in Path(path).read_bytes()


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path, thirty()[:4])
    lines = lines_of(path)
    for changed in ([lines[0].replace(b'"v":1', b'"v":2'), *lines[1:]], [*lines, b'{"v":2,"odd":[]}\n']):
        put(path, changed)
        for attempt in (load, SessionLog.open):
            with pytest.raises(SessionError) as caught:
                attempt(path)
            assert caught.value.code == "newer"
        assert lines_of(path) == changed
    assert os.listdir(Path(path).parent) == [Path(path).name]


def test_one_line_that_claims_to_be_newer_among_ours_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path, thirty()[:6])
    lines = lines_of(path)
    lines[3] = lines[3].replace(b'"v":1', b'"v":7')
    put(path, lines)
    assert facts(load(path).entries) == thirty()[:2] + thirty()[3:6]
    assert load(path).damage == ("line 4: claims a newer format than 1 and was left out",)


def test_what_is_not_a_file_is_refused_in_words(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "20260101T000000Z-aaaaaaaa.jsonl")
    for name, code in (
        ("20260101T000000Z-aaaaaaaa.jsonl", "unreadable"),
        ("none.jsonl", "missing"),
        ("", "unreadable"),
    ):
        with pytest.raises(SessionError) as caught:
            load(str(tmp_path / name))
        assert caught.value.code == code
