"""Undo of a turn whose sub-agents have changed files: everything is put back, and each file says who wrote it."""

import asyncio
from pathlib import Path

import pytest
from tests.app.subagents.agent_script import DONE, Script, runs, task, writes
from tests.app.subagents.test_delegation import opened
from tests.fakes.commands import slash
from tests.journeys.journey_kit import call, calls

from overt.app.options import Options
from overt.app.setting import read_setting
from overt.app.start import open_conversation
from overt.app.undo.closed_session import ClosedSession, undo_session
from overt.app.undo.session_changes import preview_rewind, session_changes
from overt.app.undo.session_undo import UndoRequest


def tree_script() -> Script:
    """A turn in which the main agent, two sub-agents and a child of one of them edit files and run commands."""
    edits = calls(call("read", path="shared.txt")), calls(call("edit", path="shared.txt", old="first", new="FIRST"))
    return Script(
        main=(
            writes("main.txt", "main\n"),
            runs("echo main >> log.txt"),
            calls(task("one"), task("two")),
            runs("echo end >> log.txt; rm doomed.txt"),
            DONE,
        ),
        one=(*edits, runs("echo one >> log.txt; printf '\\0\\1' > one.bin"), calls(task("child")), DONE),
        two=(writes("folder/two.txt", "two\n"), runs("mv moved.txt folder/moved.txt; chmod 600 a.txt"), DONE),
        child=(writes("child.txt", "child\n"), runs("echo child >> log.txt"), DONE),
    )


def prepare(work: Path) -> dict[str, tuple[int, bytes]]:
    work.mkdir()
    for name in ("shared.txt", "doomed.txt", "moved.txt", "log.txt"):
        (work / name).write_text(f"first {name}\n")
    (work / "a.txt").write_text("hello\n")
    return state(work)


def state(work: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(work)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in work.rglob("*")
    }


def test_undo_takes_back_what_sub_agents_did_and_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "w"
    before = prepare(work)

    async def main() -> None:
        async with opened(work, tree_script(), monkeypatch) as (conversation, _):
            assert (await conversation.prompt("go")).text == "done"
            after = state(work)
            writers = {
                "shared.txt": "main/general-1",
                "one.bin": "main/general-1",
                "child.txt": "main/general-1/general-1",
                "folder/two.txt": "main/general-2",
                "folder/moved.txt": "main/general-2",
                "moved.txt": "main/general-2",
                "a.txt": "main/general-2",
                "log.txt": "main, main/general-1, main/general-1/general-1",
            }
            changes = await session_changes(conversation)
            assert {path: name for path, name in changes.agents.items() if path != "folder"} == writers
            preview = await preview_rewind(conversation, 1)
            assert {path: name for path, name in preview.agents.items() if path != "folder"} == writers
            assert preview.others == ("folder/ (main/general-2)", "one.bin (not text, or large) (main/general-1)")

            shown = "\n".join((await slash(conversation, "/diff")).lines)
            assert "child.txt (new, +1) (main/general-1/general-1)" in shown
            lines = "\n".join((await slash(conversation, "/undo")).lines)
            assert state(work) == before
            assert "shared.txt (main/general-1)" in lines
            assert "  main.txt (removed)\n" in lines
            await slash(conversation, "/redo")
            assert state(work) == after

        again = await open_conversation(Options(directory=str(work), mode="yolo", continue_last=True))
        assert (await session_changes(again)).agents["log.txt"] == writers["log.txt"]
        await slash(again, "/rewind 1 files")
        assert state(work) == before
        await slash(again, "/redo")
        await again.close()
        assert state(work) == after

        where = ClosedSession(setting=read_setting(Options(directory=str(work))))
        result = await asyncio.to_thread(undo_session, where, UndoRequest())
        assert (result.complete, state(work)) == (True, before)

    asyncio.run(main())


def test_calls_of_different_agents_with_the_same_id_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some servers number the calls of every reply from 0."""
    work = tmp_path / "w"
    prepare(work)
    script = Script(
        main=(
            calls(call("bash", id="call_0", command="echo 1 > first.txt")),
            DONE,
            calls(call("task", id="call_1", prompt="you are one", description="Part one")),
            DONE,
        ),
        one=(
            calls(call("bash", id="call_0", command="echo 2 > second.txt")),
            calls(call("write", id="call_1", path="third.txt", content="3")),
            DONE,
        ),
    )

    async def main() -> None:
        async with opened(work, script, monkeypatch) as (conversation, _):
            await conversation.prompt("go")
            middle = state(work)
            await conversation.prompt("on")
            assert {"second.txt", "third.txt"} <= {*state(work)}
            await slash(conversation, "/undo")
            assert state(work) == middle

    asyncio.run(main())


def test_undo_takes_back_what_an_agent_wrote_while_the_command_of_another_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "w"
    before = prepare(work)
    script = Script(
        main=(calls(task("one"), task("two")), DONE),
        one=(runs("touch busy; while [ ! -e go ]; do sleep 0.02; done; rm busy go; echo one >> log.txt"), DONE),
        two=(
            calls(call("read", path="shared.txt")),
            calls(call("edit", path="shared.txt", old="first", new="FIRST")),
            writes("go", ""),
            writes("two.txt", "two\n"),
            DONE,
        ),
    )
    script.pauses["two", 1] = (work / "busy").exists

    async def main() -> None:
        async with opened(work, script, monkeypatch) as (conversation, _):
            await conversation.prompt("go")
            assert (work / "shared.txt").read_text() == "FIRST shared.txt\n"
            await slash(conversation, "/undo")
            assert state(work) == before

    asyncio.run(main())
