"""Which turn changed which files, what is undone and what can be redone: read from entries alone."""

from collections.abc import Sequence

from msgspec.structs import replace

from overt.core.events import Event, Restored, SnapshotTaken, ToolStarted, TreeTaken, UserSpoke
from overt.core.file_states import FileChange, FileState
from overt.core.messages import Call, said
from overt.core.text_fragments import USER, Origin
from overt.sessions.checkpoints import (
    RESTORE,
    NetChange,
    RestoredChanges,
    TurnFileChanges,
    net_changes,
    read_checkpoints,
    reverse_changes,
)
from overt.sessions.entries import Entry

A, B, C = (FileState(hash=letter * 64, mode=0o644) for letter in "abc")


def entries(*events: tuple[int, Event]) -> list[Entry[Event]]:
    return [
        Entry(v=1, seq=number, ts=0.0, agent="main", turn=turn, step=0, type="", data=event)
        for number, (turn, event) in enumerate(events, 1)
    ]


def spoke(text: str) -> UserSpoke:
    return UserSpoke(message=said(text, origin=USER))


def edit(path: str, before: FileState | None, after: FileState | None, id: str = "c1") -> SnapshotTaken:
    return SnapshotTaken(
        call_id=id,
        path=path,
        existed=before is not None,
        hash=before.hash if before else "",
        mode=before.mode if before else 0,
        after=after.hash if after else "",
        after_mode=after.mode if after else 0,
    )


def change(path: str, before: FileState | None, after: FileState | None) -> FileChange:
    return FileChange(path=path, before=before, after=after)


def same(one: FileState | None, other: FileState | None) -> bool:
    return one == other


def test_changes_belong_to_the_turn_in_which_their_call_began() -> None:
    tree = TreeTaken(call_id="c2", before="x", after="y", changed=3, uncovered=("big (12 MB)",), tracked=True)
    found = read_checkpoints(
        entries(
            (1, UserSpoke(message=said("rules", origin=Origin(kind="file", where="AGENTS.md")))),
            (1, spoke("first")),
            (1, edit("a", A, B)),
            (2, spoke("second\nand more")),
            (2, ToolStarted(call=Call(id="c2", name="bash", arguments="{}"))),
            (3, spoke("third")),
            (3, tree),
        )
    )
    assert found.turns == (
        TurnFileChanges(turn=1, text="first", did=(change("a", A, B),)),
        TurnFileChanges(turn=2, text="second\nand more", did=(tree,), uncovered=("big (12 MB)",)),
        TurnFileChanges(turn=3, text="third"),
    )
    assert ([turn.files for turn in found.turns], [turn.turn for turn in found.standing()]) == ([1, 3, 0], [1, 2])

    def trees(before: str, after: str) -> Sequence[FileChange]:
        return (change(before, None, A), change(after, A, None))

    assert list(found.turns[1].changes(trees)) == [change("x", None, A), change("y", A, None)]


def test_a_file_whose_content_was_not_kept_is_named() -> None:
    unkept = replace(edit("a (b)", A, B), uncovered="the disk is full")
    found = read_checkpoints(entries((1, unkept), (1, edit("a", A, B))))
    (turned,) = found.turns
    assert (turned.uncovered, turned.unstored) == (("a (b) (the disk is full)",), frozenset({"a (b)"}))


def test_a_turn_that_only_changed_uncovered_files_can_be_undone_so_that_they_are_named() -> None:
    found = read_checkpoints(entries((1, TreeTaken(call_id="c", before="", after="", uncovered=("not ready",)))))
    assert found.turns == (TurnFileChanges(turn=1, uncovered=("not ready",)),)
    assert found.standing() == found.turns


def begins(id: str, before: str) -> TreeTaken:
    return TreeTaken(call_id=id, before=before, after="")


def test_a_command_that_nobody_saw_end_is_not_passed_over() -> None:
    nothing, something = (TreeTaken(call_id=id, before="x", after=after) for id, after in (("c1", "x"), ("c2", "y")))
    ended = [(1, begins("c1", "x")), (1, nothing), (1, begins("c2", "x")), (1, something)]
    found = read_checkpoints(entries(*ended, (2, begins("c3", "y")), (3, begins("c4", "z")), (4, begins("c5", "z"))))
    assert found.turns == (
        TurnFileChanges(turn=1, did=(something,)),
        TurnFileChanges(turn=2, unsure=(TreeTaken(call_id="c3", before="y", after="z"),)),
        TurnFileChanges(turn=3),
        TurnFileChanges(turn=4, unsure=(begins("c5", "z"),)),
    )
    assert [turn.turn for turn in found.standing()] == [1, 2, 4]
    gone = read_checkpoints(entries(*ended, (2, begins("c3", "y")), (2, Restored(way="rewind", turn=1))))
    assert gone.standing() == ()


def test_undo_and_redo_go_up_and_down_the_turns() -> None:
    events: list[tuple[int, Event]] = [(turn, edit("a", A, B, f"c{turn}")) for turn in (1, 2, 3)]

    def standing() -> list[int]:
        return [each.turn for each in read_checkpoints(entries(*events)).standing()]

    def redo() -> list[tuple[int, ...]]:
        return [each.turns for each in read_checkpoints(entries(*events)).redo]

    events += [(3, edit("a", B, A, RESTORE)), (3, Restored(way="undo", turn=3, paths=("a",)))]
    assert (standing(), redo()) == ([1, 2], [(3,)])
    events += [(3, edit("a", B, A, RESTORE)), (3, Restored(way="rewind", turn=1, paths=("a",)))]
    assert (standing(), redo()) == ([], [(3,), (1, 2)])
    last = read_checkpoints(entries(*events)).redo[-1]
    assert last == RestoredChanges(turns=(1, 2), turn=1, changes=(change("a", B, A),))
    events += [(3, edit("a", A, B, RESTORE)), (3, Restored(way="redo", turn=1, paths=("a",)))]
    assert (standing(), redo()) == ([1, 2], [(3,)])
    events.append((4, edit("b", None, C, "c4")))
    assert (standing(), redo()) == ([1, 2, 4], [])


def test_several_changes_come_to_one() -> None:
    changes = [
        change("a", A, B),
        change("new", None, A),
        change("a", B, C),
        change("gone", A, None),
        change("there and back", A, B),
        change("there and back", B, A),
        change("new", A, None),
    ]
    assert net_changes(changes, same) == (
        NetChange(path="a", before=A, after=C),
        NetChange(path="gone", before=A, after=None),
    )


def test_a_change_by_somebody_else_in_the_middle_is_noticed() -> None:
    changes = [change("a", A, B), change("a", C, A)]
    assert net_changes(changes, same) == (NetChange(path="a", before=A, after=A, between=True),)


def test_changes_can_be_turned_round() -> None:
    assert reverse_changes([change("a", A, B), change("a", B, None)]) == (change("a", None, B), change("a", B, A))


def test_finishing_an_undo_stays_with_its_turn() -> None:
    events: list[tuple[int, Event]] = [(turn, edit("a", A, B, f"c{turn}")) for turn in (1, 2)]
    events.append((2, Restored(way="undo", turn=2, left=("a", "b"))))
    events.append((2, Restored(way="undo", turn=2, paths=("b",), left=("a",))))
    points = read_checkpoints(entries(*events))
    turns, left = points.left_over()
    assert ([each.turn for each in turns], left, [each.turn for each in points.standing()]) == ([2], ("a",), [1])
    points = read_checkpoints(entries(*events, (2, Restored(way="redo", turn=2))))
    assert [each.turn for each in points.standing()] == [1]  # the first half is still undone
    points = read_checkpoints(entries(*events, (2, Restored(way="redo", turn=2)), (2, Restored(way="redo", turn=2))))
    assert [each.turn for each in points.standing()] == [1, 2]


def test_a_redo_that_left_a_file_can_be_finished() -> None:
    put_back = [SnapshotTaken(call_id="restore", path=path, existed=True, hash="b" * 64, mode=0o644) for path in "ab"]
    undone = [(1, edit("a", A, B)), *((1, each) for each in put_back), (1, Restored(way="undo", turn=1))]
    points = read_checkpoints(entries(*undone, (1, Restored(way="redo", turn=1, paths=("a",), left=("b",)))))
    assert [[change.path for change in back.changes] for back in points.redo] == [["b"]]
