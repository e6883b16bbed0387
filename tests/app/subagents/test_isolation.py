"""Isolated agents: they work in a copy, and what they changed comes back as a commit and a difference to approve."""

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest
from tests.app.subagents.isolation_kit import (
    agent_refs,
    dirty_repository,
    git,
    one_command_each,
    opened,
    show,
    snapshot,
    task_results,
)
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, place, until

from overt.app.commands.undo import _open
from overt.app.conversation import Conversation
from overt.app.undo.session_undo import UndoRequest
from overt.core.events import Event, PermissionAsked
from overt.core.protocols import Answer
from overt.core.views import Diffs

__all__ = ["place"]

CARELESS = (
    "git checkout -q -b mine{n}; git stash -q -u; git stash drop -q; git config user.name writer{n}; "
    "git worktree prune; git update-ref -d refs/heads/other; rm -f .git/hooks/*; git clean -qfdx; rm -rf .git; "
    "rm -rf ./*; cd ..; rm -rf ./*; cd '{root}'; "
    "for i in 0 1 2 3 4; do echo writer {n} > f$i.txt; done; printf '\\000{n}' > new.bin"
)
COPIES = ".local/share/overt/isolated"
WRITERS = [(3, 1), pytest.param(8, 3, marks=[pytest.mark.soak, pytest.mark.timeout(300)])]


@pytest.mark.parametrize(("writers", "stopped"), WRITERS)
def test_careless_writers_leave_the_workspace_as_it_is_and_each_state_is_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writers: int, stopped: int
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    before = snapshot(folder)
    commands = [CARELESS.format(n=number, root=folder) for number in range(writers)]
    commands = [f"{command}; sleep 600" if n < stopped else command for n, command in enumerate(commands)]

    async def main() -> list[str]:
        async with opened(folder, one_command_each(commands), monkeypatch, mode="review") as (conversation, server):
            tree = conversation.agents
            assert tree is not None
            turn = conversation.prompt("go")
            for number in range(stopped):
                await written(conversation, f"main/worker-{number + 1}", f"writer {number}\n")
                tree.stop(f"main/worker-{number + 1}")
            assert (await turn).reason == "done"
            assert [node.isolated for node in tree] == [True] * writers
            return task_results(server)

    results = asyncio.run(main())
    assert snapshot(folder) == before
    refs = [next(ref for ref in agent_refs(folder) if ref in result) for result in results]
    assert sorted(refs) == agent_refs(folder)
    for number, (ref, result) in enumerate(zip(refs, results, strict=True)):
        assert [show(folder, ref, f"f{each}.txt") for each in range(5)] == [f"writer {number}\n"] * 5
        assert show(folder, ref, "new.bin") == f"\0{number}"
        assert ("was stopped" in result) == (number < stopped)
        assert show(folder, f"{ref}^", "f2.txt") == "not staged\n"
        assert git(folder, "rev-parse", f"{ref}~2") == git(folder, "rev-parse", "main")
    assert left_copies() == []


def test_a_result_is_put_to_the_user_as_a_difference_and_undo_takes_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    before = snapshot(folder)
    command = (
        "echo mine > f2.txt; rm f3.txt; printf '\\000' > bin; mkdir d; echo '#!/bin/sh' > d/run; chmod +x d/run f4.txt"
    )

    async def main() -> None:
        choose = one_command_each([command])
        async with opened(folder, choose, monkeypatch, mode="review", interactive=True) as (conversation, server):
            asked = answer_with(conversation, Answer(choice="once"))
            assert (await conversation.prompt("go")).reason == "done"
            (question,) = asked
            assert question.agent == "main/worker-1"
            assert isinstance(question.view, Diffs)
            assert {file.path: file.change for file in question.view.files} == {
                "bin": "created",
                "d/run": "created",
                "f2.txt": "updated",
                "f3.txt": "deleted",
                "f4.txt": "updated",
            }
            assert question.view.files[2].diff == "@@ -1 +1 @@\n-not staged\n+mine\n"
            assert "Applied to the workspace" in task_results(server)[0]
            assert (folder / "f2.txt").read_text() == "mine\n"
            assert not (folder / "f3.txt").exists()
            assert (folder / "bin").read_bytes() == b"\0"
            assert os.access(folder / "d" / "run", os.X_OK)
            assert os.access(folder / "f4.txt", os.X_OK)
            work = await _open(conversation)
            await asyncio.to_thread(work.undo, UndoRequest())
            assert snapshot(folder) == before

    asyncio.run(main())


def test_a_result_that_the_user_does_not_want_stays_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    before = snapshot(folder)

    async def main() -> None:
        choose = one_command_each(["echo mine > f2.txt"])
        async with opened(folder, choose, monkeypatch, mode="review", interactive=True) as (conversation, server):
            answer_with(conversation, Answer(choice="deny", reason="not like this"))
            await conversation.prompt("go")
            (result,) = task_results(server)
            assert "the user did not want it. not like this" in result
            assert f"Its state is the commit {agent_refs(folder)[0]}" in result

    asyncio.run(main())
    assert snapshot(folder) == before


def test_without_a_user_auto_mode_applies_what_neither_conflicts_nor_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)

    async def main() -> None:
        commands = ["echo one > f2.txt", "rm f3.txt", "echo two > f4.txt; echo x > ignored/new; ln -s f0.txt link"]
        async with opened(folder, one_command_each(commands), monkeypatch) as (conversation, server):
            await conversation.prompt("go")
            first, second, third = task_results(server)
            assert "Applied to the workspace; /undo takes it back." in first
            assert "Not applied: deleted files needs the user" in second
            assert "Not applied: link (a link), ignored/ (1 ignored by git)" in third

    asyncio.run(main())
    assert ((folder / "f2.txt").read_text(), (folder / "f4.txt").read_text()) == ("one\n", "two\n")
    assert (folder / "f3.txt").exists()
    assert sorted(path.name for path in (folder / "ignored").iterdir()) == ["kept.bin"]


def test_a_file_that_was_changed_meanwhile_is_shown_as_a_conflict_and_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    may_finish = threading.Event()

    async def main() -> None:
        choose = one_command_each(["echo theirs > f2.txt; echo more > f4.txt"], may_finish=may_finish)
        async with opened(folder, choose, monkeypatch) as (conversation, server):
            turn = conversation.prompt("go")
            await written(conversation, "main/worker-1", "more\n", "f4.txt")
            (folder / "f2.txt").write_text("mine\n")
            may_finish.set()
            await turn
            (result,) = task_results(server)
            assert "Not applied: a conflict needs the user" in result
            assert "--- f2.txt\n@@ -1 +1 @@\n-mine\n+theirs\n" in result

    asyncio.run(main())
    assert ((folder / "f2.txt").read_text(), (folder / "f4.txt").read_text()) == ("mine\n", "file 4\n")
    assert show(folder, agent_refs(folder)[0], "f2.txt") == "theirs\n"


def test_a_writer_cannot_change_the_repository_that_its_worktree_belongs_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main_folder, folder = tmp_path / "main", tmp_path / "w"
    dirty_repository(main_folder)
    git(main_folder, "worktree", "add", "-q", str(folder), "other")
    before = snapshot(main_folder), snapshot(folder)
    own = f"{main_folder}/.git"
    command = (
        f"git config a.b c; git update-ref refs/heads/evil HEAD; touch {own}/hooks/evil; rm -rf {own}; echo x > f0.txt"
    )

    async def main() -> None:
        async with opened(folder, one_command_each([command]), monkeypatch, mode="review") as (conversation, _):
            await conversation.prompt("go")

    asyncio.run(main())
    assert (snapshot(main_folder), snapshot(folder)) == before
    assert show(folder, agent_refs(folder)[0], "f0.txt") == "x\n"


def test_what_an_agent_had_changed_when_the_user_interrupts_everything_is_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    before = snapshot(folder)

    async def main() -> None:
        commands = ["echo half > f2.txt; echo half > f4.txt; sleep 600"]
        async with opened(folder, one_command_each(commands), monkeypatch) as (conversation, _):
            turn = conversation.prompt("go")
            await written(conversation, "main/worker-1", "half\n", "f4.txt")
            conversation.interrupt()
            assert (await turn).reason == "interrupted"

    asyncio.run(main())
    assert snapshot(folder) == before
    assert show(folder, agent_refs(folder)[0], "f2.txt") == "half\n"
    assert left_copies() == []


def test_outside_of_git_the_result_is_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")

    async def main() -> None:
        choose = one_command_each(["echo b >> a.txt; echo n > new.txt"])
        async with opened(folder, choose, monkeypatch, mode="review") as (conversation, server):
            await conversation.prompt("go")
            (result,) = task_results(server)
            patch = Path(result.partition("all of it is in ")[2].partition(",")[0])
            assert patch.read_text() == (
                "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n a\n+b\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n\n"
            )
            assert "the workspace is not a git repository" in result

    asyncio.run(main())
    assert (folder / "a.txt").read_text() == "a\n"


def test_an_isolated_agent_does_not_start_where_no_copy_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (tmp_path / "none").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    (tmp_path / "none" / "overt").mkdir()
    (tmp_path / "none" / "overt" / "config.toml").write_text('[sandbox]\nmode = "none"\n')

    async def main() -> None:
        async with opened(folder, one_command_each(["touch x"]), monkeypatch, mode="yolo") as (conversation, server):
            await conversation.prompt("go")
            (result,) = task_results(server)
            assert "none can be made here (sandbox.mode is none), so it was not started" in result

    asyncio.run(main())
    assert list(folder.iterdir()) == []


def test_what_a_killed_overt_left_in_a_copy_is_a_commit_after_the_next_start(place: Place) -> None:
    dirty_repository(place.work)
    before = snapshot(place.work)
    commands = ["echo late > f2.txt; rm f3.txt; rm -rf .git; touch done; sleep 600"]
    with ModelServer(choose=one_command_each(commands), models=("fake-model",)) as server:
        with place.started("-p", "go", "--permission-mode", "auto", server=server) as child:
            until(lambda: any(place.home.glob(f"{COPIES}/*/*/upper/done")))
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
        assert agent_refs(place.work) == []
        until(lambda: not place.alive())
    with ModelServer(choose=lambda *_: Turn(text="hello"), models=("fake-model",)) as server:
        ran = place.run("-p", "hello", server=server)
    (ref,) = agent_refs(place.work)
    assert "Recovered 3 changed files of main/worker-1, which was running when Overt was killed." in ran.err
    assert f"`git show {ref}`" in ran.err
    assert snapshot(place.work) == before
    assert show(place.work, ref, "f2.txt") == "late\n"
    assert "f3.txt" not in git(place.work, "ls-tree", "--name-only", ref)
    assert not (place.home / COPIES).exists()


async def written(conversation: Conversation, agent: str, text: str, name: str = "new.bin") -> None:
    """Wait until a command of a sub-agent has written a file in its copy."""
    wanted = text if name != "new.bin" else f"\0{text.split()[1]}"
    async with asyncio.timeout(60):
        while True:
            assert conversation.agents is not None
            live = conversation.agents.conversation(agent)
            copy = live.session_workspace.copy if live else None
            if copy is not None:
                path = Path(copy.overlay.upper, name)
                if path.is_file() and path.read_text() == wanted:
                    return
            await asyncio.sleep(0.02)


def answer_with(conversation: Conversation, answer: Answer) -> list[PermissionAsked]:
    """Answer every question of the session, and collect them."""
    asked: list[PermissionAsked] = []

    def see(event: Event) -> None:
        if isinstance(event, PermissionAsked):
            asked.append(event)
            asyncio.get_running_loop().call_soon(conversation.answer, event.id, answer)

    conversation.session.subscribe(see, name="user")
    return asked


def left_copies() -> list[Path]:
    return list(Path(os.environ["HOME"], COPIES).glob("*"))


def test_in_a_chat_the_question_names_the_agent_and_shows_the_difference(place: Place) -> None:
    dirty_repository(place.work)
    choose = one_command_each(["echo mine > f2.txt"])
    with ModelServer(choose=choose, models=("fake-model",)) as server, place.chat(server=server) as chat:
        chat.expect("› ")
        chat.line("go")
        screen = chat.expect("these are its changes to the workspace")
        assert "main/worker-1 worked in a copy" in screen
        assert "-not staged" in screen
        assert "+mine" in screen
        chat.ready()
        chat.line("y")
        chat.expect("the end")
        assert (place.work / "f2.txt").read_text() == "mine\n"
        chat.expect("› ")
        chat.line("/undo")
        chat.expect("f2.txt")
        until(lambda: (place.work / "f2.txt").read_text() == "not staged\n")
