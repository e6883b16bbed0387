"""Undo through the one API: what is put back, what is refused, what the record and the model learn of it."""

import asyncio
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.app.test_conversation import Opener, end, turn
from tests.fakes.commands import slash
from tests.fakes.model_server import Turn
from tests.journeys.journey_kit import call, calls, messages
from tests.workspace.keeping_kit import whole

from overt.app.inspect.queries import entries_after_rewinds
from overt.app.options import Options
from overt.app.session import follow
from overt.core.errors import OvertError
from overt.core.events import ToolStarted
from overt.sessions.load import load
from overt.workspace.undo.restore import restore

DONE = Turn(text="done")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    (tmp_path / "work").mkdir()
    return Opener(tmp_path / "work", monkeypatch)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


def writes(path: str, content: str) -> Turn:
    return calls(call("write", path=path, content=content))


def runs(command: str) -> Turn:
    return calls(call("bash", command=command))


def run(main: Callable[[], object]) -> None:
    asyncio.run(main())  # type: ignore[arg-type]


def yolo(work: Path, **more: object) -> Options:
    return Options(directory=str(work), mode="yolo", **more)  # type: ignore[arg-type]


def names(work: Path) -> list[str]:
    return sorted(path.name for path in work.iterdir())


def test_turns_are_undone_one_after_the_other_and_brought_back(opened: Opener, work: Path) -> None:
    async def main() -> None:
        turns = [
            writes("a", "1"),
            DONE,
            runs("echo 2 >> b; mkdir d"),
            DONE,
            Turn(text="nothing"),
            writes("c", "3"),
            DONE,
        ]
        async with opened(turns, yolo(work)) as (conversation, _):
            for prompt in ("one", "two", "three", "four"):
                await turn(conversation, prompt)
            seen = []
            for command in ("undo", "undo", "undo", "redo", "redo", "redo"):
                done = await slash(conversation, f"/{command}")
                seen.append((done.lines[0].partition(":")[0], names(work)))
            assert seen == [
                ("Put back as before turn 4", ["a", "b", "d"]),
                ("Put back as before turn 2", ["a"]),
                ("Put back as before turn 1", []),
                ("Brought back as turn 1 left it", ["a"]),
                ("Brought back as turn 2 left it", ["a", "b", "d"]),
                ("Brought back as turn 4 left it", ["a", "b", "c", "d"]),
            ]
            with pytest.raises(OvertError, match="nothing to redo"):
                await slash(conversation, "/redo")
            listed = (await slash(conversation, "/rewind")).lines
            assert [" ".join(line.split()) for line in listed] == [
                "1 1 file one",
                "2 1 file two",
                "3 three",
                "4 1 file four",
            ]

    run(main)


def test_a_file_that_changed_after_the_turn_stays_and_blocks_nothing_else(opened: Opener, work: Path) -> None:
    async def main() -> None:
        async with opened([writes("a", "1"), writes("b", "1"), writes("c", "1"), DONE]) as (conversation, _):
            await turn(conversation, "go")
            (work / "b").write_text("mine")
            os.chmod(work / "c", 0o600)
            done = await slash(conversation, "/undo")
            assert done.lines == (
                "Put back as before turn 1: a (removed)",
                "Not put back, changed after turn 1: b, c",
                "`/undo --force` puts these back too; `/redo` then brings back what it overwrote.",
            )
            assert (names(work), (work / "b").read_text()) == (["b", "c"], "mine")
            done = await slash(conversation, "/undo --force")
            assert done.lines == ("Put back as before turn 1: b (removed), c (removed)",)
            assert names(work) == []
            await slash(conversation, "/redo")
            assert ((work / "b").read_text(), (work / "c").stat().st_mode & 0o777) == ("mine", 0o600)
            await slash(conversation, "/redo")
            assert (work / "a").read_text() == "1"

    run(main)


def test_an_edit_between_two_turns_is_not_thrown_away_silently(opened: Opener, work: Path) -> None:
    async def main() -> None:
        second = [calls(call("read", path="a")), calls(call("edit", path="a", old_string="mine", new_string="2")), DONE]
        async with opened([writes("a", "1"), DONE, *second]) as (conversation, _):
            await turn(conversation, "one")
            (work / "a").write_text("mine")
            await turn(conversation, "two")
            assert (work / "a").read_text() == "2"
            done = await slash(conversation, "/rewind 1 files")
            assert done.lines[:2] == (
                "No file was put back for turn 1.",
                "Not put back, changed after turn 1: a",
            )
            assert (work / "a").read_text() == "2"
            await slash(conversation, "/redo")
            await slash(conversation, "/undo")
            assert (work / "a").read_text() == "mine"

    run(main)


def test_a_tool_and_a_command_on_the_same_file_come_to_one_change(opened: Opener, work: Path) -> None:
    async def main() -> None:
        (work / "a").write_text("old\n")
        steps = [calls(call("read", path="a")), calls(call("edit", path="a", old_string="old", new_string="new"))]
        async with opened([*steps, runs("echo more >> a"), DONE], yolo(work)) as (conversation, _):
            await turn(conversation, "go")
            assert (work / "a").read_text() == "new\nmore\n"
            await slash(conversation, "/undo")
            assert (work / "a").read_text() == "old\n"
            kinds = [entry.type for entry in load(conversation.path).entries]
            assert kinds[-2:] == ["snapshot", "restored"]

    run(main)


def test_an_interrupted_command_can_be_undone(opened: Opener, work: Path) -> None:
    async def main() -> None:
        async with opened([runs("echo half > half; sleep 60")], yolo(work)) as (conversation, _):
            events = []
            async for event in follow(conversation.session, conversation.prompt("go")):
                events.append(event)
                if isinstance(event, ToolStarted):
                    while not (work / "half").exists() or not (work / "half").read_text():
                        await asyncio.sleep(0.01)
                    conversation.interrupt()
            assert end(events).reason == "interrupted"
            kinds = [entry.type for entry in load(conversation.path).entries]
            assert kinds.index("tree") < kinds.index("end")
            await slash(conversation, "/undo")
            assert not (work / "half").exists()

    run(main)


def test_a_command_of_the_person_can_be_undone_too(opened: Opener, work: Path) -> None:
    async def main() -> None:
        async with opened([]) as (conversation, _):
            async for _event in follow(conversation.session, conversation.command("echo typed > typed")):
                pass
            assert (work / "typed").exists()
            done = await slash(conversation, "/undo")
            told = "Put back as before turn 1: typed (removed)"
            assert (done.lines[0], (work / "typed").exists()) == (told, False)

    run(main)


def test_the_parts_of_a_rewind_are_apart(opened: Opener, work: Path) -> None:
    async def main() -> None:
        turns = [writes("a", "1"), DONE, writes("b", "2"), DONE, DONE]
        async with opened(turns) as (conversation, server):
            await turn(conversation, "one")
            await turn(conversation, "two")
            await slash(conversation, "/rewind 2 conversation")
            assert (work / "b").exists()
            await slash(conversation, "/rewind 2 files")
            assert (work / "a").exists() and not (work / "b").exists()
            await turn(conversation, "three")
            said = [message["content"] for message in messages(server) if message["role"] == "user"]
            assert (said[0], len(said), said[-1]) == ("one", 3, "three")
            assert said[1].startswith("[overt] The user put files back. These are gone again: b.")
            lines = [json.loads(line) for line in Path(conversation.path).read_text().splitlines()]
            assert [line["data"]["turn"] for line in lines if line["type"] == "reset"] == [2]
            shown = entries_after_rewinds(conversation.path)
            assert {entry.turn for entry in shown if isinstance(entry.data, ToolStarted)} == {1}

    run(main)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/undo all", "--force"),
        ("/redo x", "--force"),
        ("/undo", "nothing to undo"),
        ("/redo", "nothing to redo"),
        ("/rewind 9", "There is no turn 9"),
        ("/rewind 0", "There is no turn 0"),
        ("/rewind ９", "Usage: /rewind"),
        ("/rewind one", "Usage: /rewind"),
        ("/rewind 1 everything", "Usage: /rewind"),
        ("/rewind 1 both now", "Usage: /rewind"),
    ],
)
def test_wrong_words_are_answered(opened: Opener, text: str, said: str) -> None:
    async def main() -> None:
        async with opened([DONE]) as (conversation, _):
            await turn(conversation, "go")
            with pytest.raises(OvertError, match=said):
                await slash(conversation, text)

    run(main)


def test_a_session_that_is_not_kept_cannot_be_undone(opened: Opener, work: Path) -> None:
    async def main() -> None:
        async with opened([writes("a", "1"), DONE], Options(directory=str(work), persist=False)) as (conversation, _):
            await turn(conversation, "go")
            with pytest.raises(OvertError, match="not kept"):
                await slash(conversation, "/undo")

    run(main)


def test_a_link_that_took_the_place_of_a_folder_leads_nowhere(opened: Opener, work: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened([writes("sub/a", "1"), DONE]) as (conversation, _):
            await turn(conversation, "go")
            outside = tmp_path / "outside"
            outside.mkdir()
            (outside / "a").write_text("1")
            (work / "sub/a").unlink()
            (work / "sub").rmdir()
            (work / "sub").symlink_to(outside)
            done = None
            try:
                done = await slash(conversation, "/undo --force")
            except OvertError:
                pass
            assert (outside / "a").read_text() == "1"
            assert done is None or any("sub/a" in line for line in done.lines)

    run(main)


def test_large_files_are_named_when_their_turn_is_undone(opened: Opener, work: Path) -> None:
    async def main() -> None:
        command = "head -c 11000000 /dev/zero > large.bin; echo s > small"
        async with opened([runs(command), DONE], yolo(work)) as (conversation, _):
            await turn(conversation, "go")
            done = await slash(conversation, "/undo")
            assert done.lines[1:] == ("Not put back, not covered by undo: large.bin (10 MB)",)
            assert ((work / "large.bin").exists(), (work / "small").exists()) == (True, False)

    run(main)


def test_a_command_in_its_box_cannot_reach_what_is_kept(opened: Opener, work: Path, a_home_of_its_own: Path) -> None:
    async def main() -> None:
        data = a_home_of_its_own / ".local/share/overt"
        steps = [writes("a", "1"), runs("echo x > b"), runs(f"find {data} | wc -l > count")]
        options = Options(directory=str(work))
        async with opened([*steps, DONE], options) as (conversation, _):
            if not conversation.agent.runtime.hands.guess().boxed:
                pytest.skip("no box here")
            await turn(conversation, "go")
            assert (data / "shadow").is_dir()
            assert int((work / "count").read_text()) <= 1

    run(main)


KINDS = {
    "a link for a folder": "rm -r sub; ln -s other sub",
    "a link out of the workspace for a folder": "rm -r sub; ln -s /etc sub",
    "a folder for a link": "rm link; mkdir link; echo x > link/a",
    "a folder for a file": "rm file; mkdir -p file/deep; echo y > file/deep/y",
    "a file for a folder": "rm -r sub; echo f > sub; chmod 600 sub",
    "folders that nobody may change": "echo c > sub/a; rm sub/deep/passwd; chmod 555 sub/deep sub",
}


@pytest.mark.parametrize("command", KINDS.values(), ids=KINDS.keys())
def test_what_became_of_another_kind_comes_back_with_all_that_was_in_it(
    opened: Opener, work: Path, command: str
) -> None:
    for name in ("sub/a", "sub/deep/passwd", "other/a", "file"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(f"of {name}")
    os.chmod(work / "sub/deep", 0o700)
    (work / "link").symlink_to("other")
    (work / "change.sh").write_text(command)
    was = whole(work)

    async def main() -> None:
        async with opened([runs("sh change.sh"), DONE], yolo(work)) as (conversation, _):
            await turn(conversation, "go")
            changed = whole(work)
            assert changed != was
            done = await slash(conversation, "/undo")
            assert (whole(work), len(done.lines)) == (was, 1)
            await slash(conversation, "/redo")
            assert whole(work) == changed
            await slash(conversation, "/undo")
            assert whole(work) == was

    run(main)


def test_a_file_that_was_ignored_is_not_removed_with_the_rule(opened: Opener, work: Path) -> None:
    (work / "mine.txt").write_text("mine")
    (work / ".gitignore").write_text("mine.txt\n")
    (work / "change.sh").write_text("rm .gitignore; echo n > new")

    async def main() -> None:
        async with opened([runs("sh change.sh"), DONE], yolo(work)) as (conversation, _):
            await turn(conversation, "go")
            done = await slash(conversation, "/undo")
            assert done.lines == ("Put back as before turn 1: .gitignore, new (removed)",)
            assert (work / "mine.txt").read_text() == "mine"
            assert names(work) == [".gitignore", "change.sh", "mine.txt"]

    run(main)


def test_an_undo_that_is_interrupted_ends_and_is_on_record(
    opened: Opener, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened([writes("a", "1"), DONE]) as (conversation, _):
            await turn(conversation, "go")
            loop, begun, on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

            def slow(*words: object) -> None:
                loop.call_soon_threadsafe(begun.set)
                on.wait(30)
                restore(*words)  # type: ignore[arg-type]

            monkeypatch.setattr("overt.app.undo.session_undo.restore", slow)
            task = asyncio.create_task(slash(conversation, "/undo"))
            await begun.wait()
            task.cancel()
            on.set()
            await asyncio.wait([task])
            assert task.cancelled() and not (work / "a").exists()
            assert load(conversation.path).entries[-1].type == "restored"
            await slash(conversation, "/redo")
            assert (work / "a").read_text() == "1"

    run(main)
