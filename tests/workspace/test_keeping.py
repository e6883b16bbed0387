"""What goes around a command: recorded when it is known, never waited for too long, nothing left behind."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.workspace.files_kit import files
from tests.workspace.keeping_kit import shadow
from tests.workspace.programs_kit import opened

from overt.core.capabilities import Change
from overt.core.errors import ToolError
from overt.core.events import Event, Noticed, SnapshotTaken, TreeTaken
from overt.core.protocols import Profile
from overt.lib.translations import say
from overt.workspace.files import Files
from overt.workspace.undo import snapshot_keeper as keeping
from overt.workspace.undo.content_store import ContentStore
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.shadow_repository import Snapshot
from overt.workspace.undo.snapshot_keeper import CommandWatch, NoSnapshot, SnapshotKeeper


class Recorded:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.facts: list[Event] = []
        self.recorder = UndoRecorder(self.facts.append)
        self.keeper = SnapshotKeeper(ContentStore(str(folder / "c")), shadow(folder / "s", self.root))

    def around(self, call_id: str) -> AbstractAsyncContextManager[CommandWatch]:
        return self.keeper.around(call_id, self.recorder)

    def trees(self) -> list[TreeTaken]:
        """Those of commands that have ended."""
        found = [fact for fact in self.facts if isinstance(fact, TreeTaken)]
        return [fact for fact in found if fact.after or fact.uncovered]


@pytest.fixture
def it(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(main())


def test_what_a_command_changed_is_on_record_once_it_is_quiet(it: Recorded) -> None:
    async def work() -> None:
        async with it.around("c1"):
            (it.root / "a").write_text("a")
            (it.root / "b").write_text("b")
        await it.keeper.wait_for_pending_snapshots()
        (tree,) = it.trees()
        assert (tree.call_id, tree.changed, tree.uncovered) == ("c1", 2, ())
        assert [each.path for each in it.keeper.changes(tree.before, tree.after)] == ["a", "b"]
        it.facts.clear()
        async with it.around("c2"):
            assert it.facts == [TreeTaken(call_id="c2", before=tree.after, after="")]
        await it.keeper.wait_for_pending_snapshots()
        assert it.facts[1:] == [TreeTaken(call_id="c2", before=tree.after, after=tree.after)]
        await it.keeper.close()

    run(work)


def test_an_interrupted_command_is_on_record_all_the_same(it: Recorded) -> None:
    async def work() -> None:
        async def command() -> None:
            async with it.around("c1"):
                (it.root / "half").write_text("done")
                await asyncio.sleep(60)

        task = asyncio.create_task(command())
        while not (it.root / "half").exists():
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait([task])
        await it.keeper.wait_for_pending_snapshots()
        assert [tree.changed for tree in it.trees()] == [1]
        await it.keeper.close()

    run(work)


def test_a_change_of_our_own_between_two_commands_is_none_of_theirs(it: Recorded) -> None:
    async def work() -> None:
        async with it.around("c1"):
            (it.root / "a").write_text("a")
        await it.keeper.wait_for_pending_snapshots()
        (it.root / "ours").write_text("ours")
        it.keeper.mark_changed()
        async with it.around("c2"):
            (it.root / "b").write_text("b")
        await it.keeper.wait_for_pending_snapshots()
        _, second = it.trees()
        assert [each.path for each in it.keeper.changes(second.before, second.after)] == ["b"]
        await it.keeper.close()

    run(work)


def test_a_snapshot_that_is_not_ready_holds_nothing_up_and_that_is_said_once(
    it: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "PATIENCE", 0.01)
    monkeypatch.setattr(keeping, "FIRST_PATIENCE", 0.01)
    ready = asyncio.Event()

    async def never(self: SnapshotKeeper, *, idle: bool) -> Snapshot:
        await ready.wait()
        return Snapshot(name="")

    monkeypatch.setattr(SnapshotKeeper, "_take", never)

    async def work() -> None:
        for count, id in enumerate(("c1", "c2"), 1):
            async with it.around(id):
                pass
            while len(it.trees()) < count:
                await asyncio.sleep(0.005)
        why = say("undo.not_ready")
        assert it.trees() == [TreeTaken(call_id=id, before="", after="", uncovered=(why,)) for id in ("c1", "c2")]
        assert it.facts[1] == Noticed(text=say("undo.uncovered", why=why), level="warning")
        assert len(it.facts) == 3
        ready.set()
        await it.keeper.close()

    run(work)


def test_without_git_commands_run_and_edits_are_kept(tmp_path: Path) -> None:
    facts: list[Event] = []
    keeper = SnapshotKeeper(ContentStore(str(tmp_path)), None, why="no git")

    async def work() -> None:
        keeper.warm()
        async with keeper.around("c1", UndoRecorder(facts.append)):
            pass
        await keeper.close()
        assert facts == [
            TreeTaken(call_id="c1", before="", after="", uncovered=("no git",)),
            Noticed(text=say("undo.uncovered", why="no git")),
        ]

    run(work)


def test_programs_are_kept_when_they_may_write_and_only_then(tmp_path: Path) -> None:
    it = Recorded(tmp_path)

    async def work() -> None:
        async with opened(it.root, keeping=lambda: it.around("c1")) as bench:
            for profile, count in (
                (Profile(reading=True), 0),
                (Profile(write=False), 0),
                (Profile(), 1),
                (Profile(write=False, outside=True), 2),
            ):
                bench.programs._profile = profile
                await bench.programs.run(f"date +%N >> f{count}", timeout_ms=20_000)
                await it.keeper.wait_for_pending_snapshots()
                assert len(it.trees()) == count
            bench.programs._profile = Profile()
            await bench.programs.start("echo job > job; sleep 60", wait_ms=1_000)
            await it.keeper.wait_for_pending_snapshots()
            assert len(it.trees()) == 3
        await it.keeper.close()

    run(work)


def test_an_edit_that_was_broken_off_is_on_record(it: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    hands = files(it.root, keeper=it.keeper, recorder=it.recorder)
    reached = asyncio.Event()
    real = Files._change

    async def work() -> None:
        loop = asyncio.get_running_loop()

        def slow(self: Files, changes: list[Change]) -> object:
            done = real(self, changes)
            loop.call_soon_threadsafe(reached.set)
            time.sleep(0.1)
            return done

        monkeypatch.setattr(Files, "_change", slow)
        task = asyncio.create_task(hands.change([Change(path="a", content="a", base="absent")]))
        await reached.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        (fact,) = it.facts
        assert isinstance(fact, SnapshotTaken) and fact.path == "a"
        await it.keeper.close()

    run(work)


def test_the_first_snapshot_is_waited_for_and_told_of(it: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "PATIENCE", 0.01)
    monkeypatch.setattr(keeping, "UNTOLD", 0.05)
    real = SnapshotKeeper._take

    async def slow(self: SnapshotKeeper, *, idle: bool) -> Snapshot | NoSnapshot:
        while Noticed(text=say("undo.first")) not in it.facts:
            await asyncio.sleep(0.005)
        return await real(self, idle=idle)

    monkeypatch.setattr(SnapshotKeeper, "_take", slow)

    async def work() -> None:
        it.keeper.prepare()
        before = await it.keeper.before(it.recorder)
        assert isinstance(before, Snapshot)
        assert it.facts == [Noticed(text=say("undo.first"))]
        await it.keeper.close()

    run(work)


def test_only_the_very_first_snapshot_is_prepared(it: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bool] = []
    real = SnapshotKeeper._take

    async def watched(self: SnapshotKeeper, *, idle: bool) -> Snapshot | NoSnapshot:
        begun.append(idle)
        return await real(self, idle=idle)

    monkeypatch.setattr(SnapshotKeeper, "_take", watched)
    monkeypatch.setattr(keeping, "SOON", 0.0)
    monkeypatch.setattr(keeping, "FRESH", 100.0)

    async def work() -> None:
        it.keeper.prepare()
        it.keeper.prepare()
        while not begun:
            await asyncio.sleep(0)
        await it.keeper.before(it.recorder)
        it.keeper.mark_changed()
        it.keeper.prepare()
        await asyncio.sleep(0.02)
        assert begun == [True]
        await it.keeper.close()

    run(work)


def test_a_session_that_is_over_soon_prepares_nothing(it: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bool] = []
    monkeypatch.setattr(SnapshotKeeper, "_start", lambda self, **_: begun.append(True))
    monkeypatch.setattr(keeping, "SOON", 0.01)

    async def work() -> None:
        it.keeper.prepare()
        await it.keeper.close()
        await asyncio.sleep(0.05)
        assert begun == []

    run(work)


def test_a_command_that_was_allowed_because_of_undo_does_not_run_without_a_snapshot(tmp_path: Path) -> None:
    ran: list[str] = []

    async def run() -> None:
        kept = SnapshotKeeper(ContentStore(str(tmp_path / "snapshots")), None, why="the disk is full")
        recorder = UndoRecorder()
        recorder.require_snapshot("main", "relies")
        for call_id in ("free", "relies"):
            async with kept.around(call_id, recorder):
                ran.append(call_id)

    with pytest.raises(ToolError, match="undo has no snapshot \\(the disk is full\\)") as refused:
        asyncio.run(run())
    assert (ran, refused.value.code) == (["free"], "denied")


def test_sessions_that_share_a_keeper_record_only_their_own_commands(it: Recorded) -> None:
    others: list[Event] = []
    other = UndoRecorder(others.append)

    async def work() -> None:
        async with it.around("c1"):
            (it.root / "a").write_text("a")
        async with it.keeper.around("c1", other, "main/explore-1"):
            (it.root / "b").write_text("b")
            (it.root / "c").write_text("c")
        await other.close(60)
        await it.keeper.wait_for_pending_snapshots()
        assert [(tree.agent, tree.call_id, tree.changed) for tree in it.trees()] == [("main", "c1", 1)]
        assert [(fact.agent, fact.changed) for fact in others if isinstance(fact, TreeTaken)] == [
            ("main/explore-1", 0),  # recorded when the command starts
            ("main/explore-1", 2),
        ]
        async with it.keeper.around("c2", other):
            pass
        await it.keeper.wait_for_pending_snapshots()
        assert len(others) == 2  # its session is closed
        await it.keeper.close()

    run(work)


def test_each_session_is_told_once_why_undo_does_not_cover_a_command(tmp_path: Path) -> None:
    logs: list[list[Event]] = [[], []]
    keeper = SnapshotKeeper(ContentStore(str(tmp_path)), None, why="no git")

    async def work() -> None:
        for log in logs:
            recorder = UndoRecorder(log.append)
            for id in ("c1", "c2"):
                async with keeper.around(id, recorder):
                    pass
            await recorder.close(60)
        await keeper.close()

    run(work)
    notices = [[fact.text for fact in log if isinstance(fact, Noticed)] for log in logs]
    assert notices == [[say("undo.uncovered", why="no git")]] * 2
