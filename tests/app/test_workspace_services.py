"""What sessions and agents of one process share of a workspace, and what each of them has of its own."""

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.app.test_conversation import turn
from tests.app.test_slash_sessions import awaited
from tests.fakes.commands import slash
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import call, calls
from tests.workspace.programs_kit import gone, marked

from overt.app.agent_capabilities import Capabilities
from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.session_workspace import SessionWorkspace
from overt.app.setting import read_setting
from overt.app.start import open_conversation
from overt.app.workspace_services import shared_services
from overt.core.capabilities import Change, Effect
from overt.core.errors import ToolError
from overt.core.events import Event, SnapshotTaken, TodoSet, TreeTaken
from overt.core.history import History
from overt.core.views import Todo
from overt.sessions.load import load

DONE = Turn(text="done")
ALL_EFFECTS: frozenset[Effect] = frozenset({"read", "write", "run", "notes"})


def runs(command: str, *, run_in_background: bool = False) -> Turn:
    return calls(call("bash", command=command, run_in_background=run_in_background))


@asynccontextmanager
async def conversations(
    monkeypatch: pytest.MonkeyPatch, turns: Sequence[Turn], *options: Options
) -> AsyncIterator[list[Conversation]]:
    """Open one conversation for each of these options, with one server that plays the turns."""
    opened: list[Conversation] = []
    with ModelServer(turns, models=("fake-model",)) as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        try:
            async with asyncio.timeout(60):
                for each in options:
                    opened.append(await open_conversation(each))
                yield opened
        finally:
            for conversation in opened:
                await conversation.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def here(work: Path) -> Options:
    return Options(directory=str(work), mode="yolo")


def recorded_changes(conversation: Conversation) -> list[tuple[str, int]]:
    """The calls and the number of files that each of them changed, as the session file has it."""
    events = [entry.data for entry in load(conversation.path).entries]
    trees = [(event.call_id, event.changed) for event in events if isinstance(event, TreeTaken) and event.after]
    return trees + [(event.call_id, 1) for event in events if isinstance(event, SnapshotTaken)]


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────


@awaited
async def test_two_sessions_in_one_folder_each_record_and_undo_only_their_own_changes(
    here: Options, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [
        calls(call("bash", id="a1", command="echo a > a; echo a > a2")),
        DONE,
        calls(call("bash", id="b1", command="echo b > b")),
        DONE,
        calls(call("write", id="a2", path="written", content="x")),
        DONE,
    ]
    async with conversations(monkeypatch, turns, here, here) as (first, second):
        assert first.session_workspace.shared is second.session_workspace.shared
        await turn(first, "one")
        await turn(second, "two")
        await turn(first, "three")
        assert (recorded_changes(first), recorded_changes(second)) == ([("a1", 2), ("a2", 1)], [("b1", 1)])
        await slash(second, "/undo")
        assert sorted(os.listdir(work)) == ["a", "a2", "written"]
        await slash(first, "/undo")
        await slash(first, "/undo")
        assert os.listdir(work) == []


@awaited
async def test_commands_of_two_sessions_that_run_at_the_same_time_are_told_apart(
    here: Options, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = "while [ ! -e go ]; do sleep 0.01; done"
    turns = [runs(f"touch up; {wait}; echo a > a"), runs("echo b > b; touch go"), DONE, DONE]
    async with conversations(monkeypatch, turns, here, here) as (first, second):
        slow = asyncio.create_task(turn(first, "one"))
        while not (work / "up").exists():
            await asyncio.sleep(0.01)
        await turn(second, "two")
        await slow
        trees = [
            event
            for conversation in (first, second)
            for event in (entry.data for entry in load(conversation.path).entries)
            if isinstance(event, TreeTaken) and event.after
        ]
        if not all(tree.tracked for tree in trees):
            pytest.skip("no tracking of writes here")
        assert [tree.changed for tree in trees] == [2, 2]
        await slash(second, "/undo")
        assert sorted(os.listdir(work)) == ["a", "up"]


@awaited
async def test_closing_a_session_ends_its_jobs_and_leaves_those_of_the_other(
    here: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = [f"overt-{os.getpid()}-{name}" for name in ("first", "second")]
    turns = [each for mark in marks for each in (runs(f"MARK={mark} exec sleep 60", run_in_background=True), DONE)]
    async with conversations(monkeypatch, turns, here, here) as (first, second):
        await turn(first, "one")
        await turn(second, "two")
        assert [(await slash(each, "/jobs")).lines[0].split("  ")[0] for each in (first, second)] == ["job1", "job1"]
        await first.close()
        assert (gone(lambda: marked(marks[0])), len(marked(marks[1]))) == ([], 1)
        assert [job.state for job in second.session_workspace.list_jobs()] == ["running"]
    assert gone(lambda: marked(marks[1])) == []


@awaited
async def test_a_job_that_ends_is_announced_in_its_own_session_only(
    here: Options, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = "echo listening on 80; while [ ! -e go ]; do sleep 0.01; done"
    async with conversations(monkeypatch, [runs(wait, run_in_background=True), DONE], here, here) as (first, second):
        await turn(first, "one")
        (work / "go").touch()
        await first.session_workspace.jobs.wait("job1", since=0, tail=0, filter="", wait_ms=30_000)
        assert second.agent.runtime.hands.ended_jobs() == ()
        assert [ended.job.id for ended in first.agent.runtime.hands.ended_jobs()] == ["job1"]


@awaited
async def test_other_folders_and_other_walls_have_services_of_their_own(here: Options, tmp_path: Path) -> None:
    other, added = tmp_path / "other", tmp_path / "added"
    other.mkdir()
    added.mkdir()
    options = (here, Options(directory=str(other)), Options(directory=here.directory, add_dirs=(str(added),)))
    settings = [read_setting(each) for each in options]
    sessions = [SessionWorkspace(setting, shared_services(setting)) for setting in settings]
    assert len({id(session.shared) for session in sessions}) == 3
    again = read_setting(Options(directory=here.directory, model="another/model"))
    assert shared_services(again) is sessions[0].shared


@awaited
async def test_services_are_closed_with_the_last_session(here: Options, work: Path) -> None:
    setting = read_setting(here)
    services = shared_services(setting)
    first, second = (SessionWorkspace(setting, services) for _ in range(2))
    never_closed = SessionWorkspace(setting, services)
    mark = f"overt-{os.getpid()}-left"
    for session in (first, second):
        programs = session.programs("c1", session.profile)
        await programs.start(f"MARK={mark} exec sleep 60", wait_ms=0)
    await first.close()
    assert shared_services(setting) is services
    del never_closed  # a session that could not be opened
    gc.collect()
    await second.close()
    assert gone(lambda: marked(mark)) == []
    assert shared_services(setting) is not services


# ── agents ───────────────────────────────────────────────────────────────────────────────────────────────


class Agents:
    """Two agents of one session: `main` may do everything, `reader` may only read and take notes."""

    def __init__(self, options: Options) -> None:
        setting = read_setting(options)
        self.recorded: list[Event] = []
        self.workspace = SessionWorkspace(setting, shared_services(setting), record=self.recorded.append)
        self.histories = {"main": History(), "main/reader": History()}
        self.main = self._make("main", ALL_EFFECTS)
        self.reader = self._make("main/reader", frozenset({"read", "notes"}))

    def _make(self, agent: str, effects: frozenset[Effect]) -> Capabilities:
        return Capabilities(self.workspace, history=lambda: self.histories[agent], effects=effects, agent=agent)


@asynccontextmanager
async def two_agents(options: Options) -> AsyncIterator[Agents]:
    agents = Agents(options)
    try:
        async with asyncio.timeout(60):
            yield agents
    finally:
        await agents.workspace.close()


@awaited
async def test_an_agent_is_lent_nothing_beyond_its_effects(here: Options) -> None:
    async with two_agents(here) as agents:
        for effect in ("write", "run"):
            with pytest.raises(ToolError, match=f"may not use the effect {effect}") as refused:
                agents.reader.lend("c1", {"files": "read", "more": effect})
            assert refused.value.code == "denied"
            agents.main.lend("c1", {"more": effect})


@awaited
async def test_each_agent_knows_only_the_files_it_has_read_and_its_own_todos(here: Options, work: Path) -> None:
    (work / "a").write_text("a\n")
    async with two_agents(here) as agents:
        loan = agents.reader.lend("c1", {"files": "read"})
        await loan.capabilities["files"].lines("a", offset=1, limit=10)
        agents.histories["main/reader"] = History(
            seen=loan.journal.seen, todos=(Todo(content="look", status="pending"),)
        )
        change = Change(path="a", content="b\n", base="seen")
        with pytest.raises(ToolError, match="has not been read"):
            await agents.main.lend("c2", {"files": "write"}).capabilities["files"].change([change])
        worker = agents._make("main/reader", ALL_EFFECTS)
        await worker.lend("c2", {"files": "write"}).capabilities["files"].change([change])
        notes = agents.main.lend("c3", {"notes": "notes"})
        assert notes.capabilities["notes"].todos() == ()
        other = agents.reader.lend("c4", {"notes": "notes"})
        assert [todo.content for todo in other.capabilities["notes"].todos()] == ["look"]
        other.capabilities["notes"].set_todos(())
        assert other.journal.facts == [TodoSet(agent="main/reader", items=())]


@awaited
async def test_agents_share_jobs_and_undo_and_what_they_did_carries_their_name(here: Options, work: Path) -> None:
    async with two_agents(here) as agents:
        worker = agents._make("main/worker", ALL_EFFECTS)
        programs = worker.lend("c1", {"programs": "run"}).capabilities["programs"]
        await programs.run("echo a > a", timeout_ms=30_000)
        await agents.workspace.shared.wait_for_records()
        trees = [event for event in agents.recorded if isinstance(event, TreeTaken) and event.after]
        assert [(tree.agent, tree.call_id, tree.changed) for tree in trees] == [("main/worker", "c1", 1)]
        before, after = trees[0].before, trees[0].after
        assert [each.path for each in agents.workspace.shared.keeper.changes(before, after)] == ["a"]

        await programs.start("echo listening on 80; while [ ! -e go ]; do sleep 0.01; done", wait_ms=30_000)
        seen = agents.main.lend("c2", {"programs": "run"}).capabilities["programs"]
        assert [job.id for job in await seen.jobs()] == ["job1"]
        (work / "go").touch()
        await seen.wait("job1", since=0, tail=0, filter="", wait_ms=30_000)
        assert agents.main.ended_jobs() == ()
        assert [ended.job.id for ended in worker.ended_jobs()] == ["job1"]


# ── start-up ─────────────────────────────────────────────────────────────────────────────────────────────

OPENED = """
import asyncio, sys
from overt.app.start import open_conversation
from overt.app.inspect.status import read_gauges
from overt.app.options import Options

async def main():
    conversation = await open_conversation(Options(directory=sys.argv[1]))
    read_gauges(conversation)
    conversation.agent.runtime.hands.ended_jobs()
    print(*sorted(name for name in sys.modules if name.startswith(("overt.workspace.", "overt.sandbox"))))
    await conversation.close()
    print(*sorted(name for name in sys.modules if name.startswith(("overt.workspace.", "overt.sandbox"))))

asyncio.run(main())
"""


def test_a_conversation_opens_and_closes_without_the_modules_behind_its_tools(work: Path) -> None:
    with ModelServer([DONE], models=("fake-model",)) as server:
        env = {**os.environ, "OVERT_BASE_URL": server.url, "OVERT_MODEL": "fake-model"}
        done = subprocess.run(
            [sys.executable, "-c", OPENED, str(work)], env=env, capture_output=True, text=True, check=True
        )
    assert done.stdout.splitlines() == ["overt.sandbox overt.sandbox.choose_sandbox"] * 2
