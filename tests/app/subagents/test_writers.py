"""Agents that write in the same workspace: who holds a path, and whose command runs."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from tests.app.subagents.agent_script import DONE, Script, runs, settle, task, writes
from tests.app.subagents.test_delegation import opened
from tests.journeys.journey_kit import call, calls

from overt.core.agents.agent_events import AgentEnded
from overt.core.events import Event, ToolProgressed, ToolStarted
from overt.workspace.undo import snapshot_keeper


def test_a_path_is_held_by_the_agent_that_wrote_it_until_that_agent_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(
        main=(calls(task("one"), task("two")), writes("new.txt", "main\n"), DONE),
        one=(writes("new.txt", "one\n"), DONE),
        two=(writes("new.txt", "two\n"), writes("other.txt", "two\n"), calls(call("read", path="new.txt")), DONE),
    )
    script.pauses["two", 0] = script.asked("one", 1)
    script.pauses["one", 1] = script.asked("two", 2)

    async def main() -> None:
        async with opened(tmp_path / "w", script, monkeypatch) as (conversation, _):
            await conversation.prompt("go")
            refusal = script.seen["two"][1]
            assert "new.txt is held by main/general-1 (Part one)" in refusal
            assert (tmp_path / "w" / "other.txt").read_text() == "two\n"
            assert "read it first" in script.seen["main"][2].lower()  # it is free, and has not been read
            assert (tmp_path / "w" / "new.txt").read_text() == "one\n"
            assert conversation.session_workspace.shared.claims is None

    asyncio.run(main())


def test_an_agent_may_go_on_with_what_its_own_children_wrote_and_they_with_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = calls(call("read", path="plan.txt")), calls(call("edit", path="plan.txt", old="one", new="child"))
    script = Script(
        main=(calls(task("one"), task("two")), DONE),
        one=(
            writes("plan.txt", "one\n"),
            calls(task("child")),
            calls(call("read", path="plan.txt")),
            writes("plan.txt", "parent\n"),
            DONE,
        ),
        child=(*edit, DONE),
        two=(writes("plan.txt", "two\n"), writes("plan.txt", "two\n"), DONE),
    )
    script.pauses["two", 0] = script.asked("child", 2)
    script.pauses["child", 2] = script.asked("two", 1)
    script.pauses["two", 1] = script.asked("one", 4)
    script.pauses["one", 4] = script.asked("two", 2)

    async def main() -> None:
        async with opened(tmp_path / "w", script, monkeypatch) as (conversation, _):
            await conversation.prompt("go")
            assert "held by main/general-1/general-1 (Part child)" in script.seen["two"][1]
            assert "held by main/general-1 (Part one)" in script.seen["two"][2]
            assert (tmp_path / "w" / "plan.txt").read_text() == "parent\n"

    asyncio.run(main())


def test_commands_that_may_write_run_one_at_a_time_and_those_that_only_read_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "w"
    script = Script(
        main=(calls(task("one"), task("two"), task("three"), task("looks", "explore")), DONE),
        one=(runs("mkdir busy; while [ ! -e go ]; do sleep 0.02; done; rmdir busy"), DONE),
        two=(runs("mkdir busy && touch two.txt && rmdir busy"), DONE),
        three=(runs("touch three.txt"), DONE),
        looks=(runs("ls busy"), DONE),
    )
    for name in ("two", "three", "looks"):
        script.pauses[name, 0] = (work / "busy").exists

    async def main() -> None:
        async with opened(work, script, monkeypatch) as (conversation, _):
            waiting: set[str] = set()
            ended: list[str] = []

            def see(event: Event) -> None:
                if isinstance(event, ToolProgressed) and "main/general-1 (Part one)" in event.text:
                    waiting.add(event.agent)
                if isinstance(event, AgentEnded):
                    ended.append(event.agent)

            conversation.session.subscribe(see, name="test", agents=True)
            turn = conversation.prompt("go")
            await settle(lambda: waiting == {"main/general-2", "main/general-3"} and ended == ["main/explore-1"])
            assert conversation.agents
            conversation.agents.stop("main/general-3")
            await settle(lambda: "main/general-3" in ended)
            (work / "go").touch()
            await turn
            assert (work / "two.txt").exists()
            assert not (work / "three.txt").exists()
            assert "exit code" not in script.seen["two"][1]
            assert "No such file" not in script.seen["looks"][1]

    asyncio.run(main())


def test_both_agents_are_told_of_a_command_that_changed_a_path_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(
        main=(calls(task("one"), task("two")), DONE),
        one=(writes("held.txt", "one\n"), calls(call("read", path="a.txt")), writes("mine.txt", "one"), DONE),
        two=(runs("echo two >> held.txt; echo two > mine.txt"), DONE),
    )
    script.pauses["two", 0] = script.asked("one", 1)
    script.pauses["one", 1] = script.asked("two", 1)
    script.pauses["two", 1] = script.asked("one", 3)
    monkeypatch.setattr(snapshot_keeper, "PATIENCE", 60.0)

    async def main() -> None:
        async with opened(tmp_path / "w", script, monkeypatch) as (conversation, _):
            await conversation.prompt("go")
            conflict = script.seen["two"][1]
            assert (
                "this command changed files of another agent: held.txt, held by main/general-1 (Part one)" in conflict
            )
            assert "mine.txt" not in conflict
            told = script.seen["one"][2]
            assert "A command of main/general-2 (Part two) changed what you hold: held.txt" in told
            assert "mine.txt is held by main/general-2 (Part two)" in script.seen["one"][3]

    asyncio.run(main())


def test_a_background_command_holds_up_nobody_and_ends_with_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep = f"sleep 600.{os.getpid()}{time.monotonic_ns() % 10**6:06}"
    script = Script(
        main=(calls(task("one"), task("two")), DONE),
        one=(calls(call("bash", command=f"touch one.txt; {sleep}", run_in_background=True)), DONE),
        two=(runs("touch two.txt"), DONE),
    )
    script.pauses["two", 0] = script.asked("one", 1)
    script.pauses["one", 1] = script.asked("two", 1)

    def sleeps() -> bool:
        return any(sleep in command_line(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())

    async def main() -> None:
        async with opened(tmp_path / "w", script, monkeypatch) as (conversation, _):
            turn = conversation.prompt("go")
            await settle(sleeps)
            await turn
            assert (tmp_path / "w" / "two.txt").exists()
            assert not sleeps()

    asyncio.run(main())


def command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def test_the_main_agent_alone_claims_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(main=(writes("x.txt", "1"), runs("echo 2 >> x.txt"), DONE))

    async def main() -> None:
        async with opened(tmp_path / "w", script, monkeypatch) as (conversation, _):
            claims: list[object] = []

            def see(event: Event) -> None:
                if isinstance(event, ToolStarted):
                    claims.append(conversation.session_workspace.shared.claims)

            conversation.session.subscribe(see, name="test")
            await conversation.prompt("go")
            assert claims == [None, None]

    asyncio.run(main())
