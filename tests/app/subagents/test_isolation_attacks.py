"""What a workspace that changes while an isolated agent works, or an agent itself, could do to the result."""

import asyncio
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.app.subagents.isolation_kit import (
    agent_refs,
    dirty_repository,
    git,
    one_command_each,
    opened,
    show,
    task_results,
)
from tests.app.subagents.test_isolation import left_copies, written

from overt.app.options import Options
from overt.app.setting import read_setting
from overt.app.subagents import copy_result, workspace_copy
from overt.core.events import Event, PermissionAsked
from overt.core.protocols import Answer
from overt.core.views import FileDiff
from overt.sandbox.overlay import Overlay, mount_overlay

SECRET = "PRIVATE-KEY-MATERIAL\n"


def store_secret() -> Path:
    folder = Path(os.environ["HOME"], ".ssh")
    folder.mkdir(exist_ok=True)
    (folder / "id_rsa").write_text(SECRET)
    return folder


@pytest.mark.parametrize("kind", ["link", "fifo", "link of the agent"])
def test_a_link_or_a_pipe_in_place_of_a_changed_file_is_a_conflict_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    folder, may_finish = tmp_path / "w", threading.Event()
    dirty_repository(folder)
    secret = store_secret() / "id_rsa"
    link = f"; rm f4.txt; ln -s {secret} f4.txt" if kind == "link of the agent" else ""
    command = f"echo more > f4.txt{link}; echo done > f3.txt"

    async def main() -> None:
        async with opened(folder, one_command_each([command], may_finish=may_finish), monkeypatch) as (chat, server):
            turn = chat.prompt("go")
            await written(chat, "main/worker-1", "done\n", "f3.txt")
            (folder / "f4.txt").unlink()
            if kind == "link":
                (folder / "f4.txt").symlink_to(secret)
            elif kind == "fifo":
                os.mkfifo(folder / "f4.txt")
            else:
                (folder / "f4.txt").write_text("mine\n")
            may_finish.set()
            await turn
            (result,) = task_results(server)
            assert "Conflicts, not applied because these files changed meanwhile: f4.txt" in result
            assert not any(SECRET.strip() in json.dumps(each.json()) for each in server.requests if each.body)

    asyncio.run(main())


def test_a_link_in_place_of_a_folder_leads_no_foreign_file_into_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    (folder / "d").mkdir()
    (folder / "d" / "id_rsa").write_text("x\n")
    git(folder, "add", "d/id_rsa")
    (folder / "d").rename(folder / "d2")
    (folder / "d").symlink_to(store_secret())
    (folder / ".gitignore").write_text("ignored/\n/d\n")

    async def main() -> None:
        async with opened(folder, one_command_each(["echo mine > f4.txt"]), monkeypatch) as (chat, _):
            await chat.prompt("go")

    asyncio.run(main())
    (ref,) = agent_refs(folder)
    assert show(folder, ref, "f4.txt") == "mine\n"
    assert "d2/id_rsa" in git(folder, "ls-tree", "-r", "--name-only", ref).split()
    assert "d/id_rsa" not in git(folder, "ls-tree", "-r", "--name-only", ref).split()


DEEP = """python3 -c "
import os
for i in range(1200):
    os.mkdir('d'); os.chdir('d')
open('f', 'w').close()
" """


def test_no_depth_of_folders_keeps_a_result_or_the_next_start_from_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)

    async def main() -> None:
        async with opened(folder, one_command_each([DEEP + "; echo mine > f4.txt"]), monkeypatch) as (chat, server):
            await chat.prompt("go")
            assert "changed 2 files" in task_results(server)[0]
        async with opened(folder, one_command_each([]), monkeypatch) as (chat, _):
            assert not chat.notices

    try:
        asyncio.run(main())
        assert show(folder, agent_refs(folder)[0], "f4.txt") == "mine\n"
        assert left_copies() == []
    finally:
        subprocess.run(["rm", "-rf", folder / "d"], check=True)  # too deep for what pytest removes folders with


def test_large_ignored_files_do_not_count_for_the_size_of_what_is_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    command = "head -c 70000000 /dev/zero > ignored/blob; echo changed > untracked.txt"

    async def main() -> None:
        async with opened(folder, one_command_each([command]), monkeypatch) as (chat, server):
            await chat.prompt("go")
            assert "Applied to the workspace" in task_results(server)[0]

    asyncio.run(main())
    assert (folder / "untracked.txt").read_text() == "changed\n"


def test_a_folder_that_was_replaced_or_a_file_that_was_deleted_meanwhile_is_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, may_finish = tmp_path / "w", threading.Event()
    dirty_repository(folder)
    for name, text in (("pkg", "agent saw\n"), ("other", "USER WORK\n"), ("same", "same\n")):
        (folder / name).mkdir()
        (folder / name / "f").write_text(text)
    (folder / "gone").write_text("x\n")
    command = (
        "echo agent > pkg/f; echo agent > gone; echo a > f4.new; mv f4.new f4.txt; echo agent > same/f; "
        "echo n > same/new; echo done > f3.txt"
    )

    async def main() -> None:
        async with opened(folder, one_command_each([command], may_finish=may_finish), monkeypatch, mode="yolo") as (
            chat,
            server,
        ):
            turn = chat.prompt("go")
            await written(chat, "main/worker-1", "done\n", "f3.txt")
            (folder / "pkg").rename(tmp_path / "old")
            (folder / "other").rename(folder / "pkg")
            (folder / "gone").unlink()
            (folder / "f4.txt").unlink()
            (folder / "same" / "of the user").touch()
            may_finish.set()
            await turn
            (result,) = task_results(server)
            assert "these files changed meanwhile: f4.txt, gone, pkg/f\n" in result

    asyncio.run(main())
    assert (folder / "pkg" / "f").read_text() == "USER WORK\n"
    assert not (folder / "gone").exists()


@pytest.mark.parametrize("late", [False, True])
def test_a_merge_of_many_files_that_fails_says_what_was_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    command = "for i in $(seq -w 1 400); do echo x > n$i.txt; done"
    if late:
        change, previews = copy_result._change, []

        async def change_late(*args: Any, **options: Any) -> tuple[FileDiff, ...]:
            diffs = await change(*args, **options)
            previews.append(options["preview"])
            if previews == [True, True]:
                (folder / "n390.txt").write_text("USER\n")
            return diffs

        monkeypatch.setattr(copy_result, "_change", change_late)

    async def main() -> None:
        choose = one_command_each([command])
        async with opened(folder, choose, monkeypatch, mode="review", interactive=True) as (chat, server):

            def see(event: Event) -> None:
                if isinstance(event, PermissionAsked):
                    if not late:
                        (folder / "n390.txt").write_text("USER\n")
                    asyncio.get_running_loop().call_soon(chat.answer, event.id, Answer(choice="once"))

            chat.session.subscribe(see, name="user", agents=True)
            await chat.prompt("go")
            (result,) = task_results(server)
            if late:
                assert "Applied 300 of 400 files; not applied: n390.txt exists already" in result
            else:
                assert "Not applied: n390.txt exists already" in result

    asyncio.run(main())
    assert len(list(folder.glob("n???.txt"))) == (301 if late else 1)
    assert (folder / "n390.txt").read_text() == "USER\n"


def test_the_fallback_of_the_permissions_holds_for_a_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, config = tmp_path / "w", Path(os.environ["HOME"], ".config", "overt")
    dirty_repository(folder)
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('[permissions]\nfallback = "ask"\nallow = ["bash", "task"]\n')

    async def main() -> None:
        async with opened(folder, one_command_each(["echo changed > f3.txt"]), monkeypatch) as (chat, server):
            await chat.prompt("go")
            assert "needs the user" in task_results(server)[0]

    asyncio.run(main())
    assert (folder / "f3.txt").read_text() == "file 3\n"


def test_an_interrupt_while_a_copy_is_made_leaves_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, starts, may_mount = tmp_path / "w", threading.Event(), threading.Event()
    dirty_repository(folder)

    def mount(root: str, copy: str) -> Overlay:
        starts.set()
        assert may_mount.wait(30)
        return mount_overlay(root, copy)

    monkeypatch.setattr(workspace_copy, "mount_overlay", mount)

    async def main() -> None:
        async with opened(folder, one_command_each(["true"]), monkeypatch) as (chat, _):
            turn = chat.prompt("go")
            await asyncio.to_thread(starts.wait, 30)
            chat.interrupt()
            await asyncio.sleep(0)
            may_mount.set()
            assert (await turn).reason == "interrupted"

    asyncio.run(main())
    assert left_copies() == []
    assert agent_refs(folder) == []


def test_a_copy_without_changes_leaves_neither_a_commit_nor_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    setting = read_setting(Options(directory=str(folder)))
    copy = Path(workspace_copy.copies_folder(setting), "abc")
    (copy / "upper").mkdir(parents=True)
    workspace_copy.write_record(str(copy), workspace_copy.CopyRecord(workspace=str(folder), since_ns=1))
    assert workspace_copy.recover_copies(setting, str(shutil.which("git"))) == []
    assert left_copies() == []
    assert agent_refs(folder) == []


def test_a_copy_that_cannot_be_read_is_a_notice(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    setting = read_setting(Options(directory=str(folder)))
    copy = Path(workspace_copy.copies_folder(setting), "abc")
    copy.mkdir(parents=True)
    workspace_copy.write_record(str(copy), workspace_copy.CopyRecord(workspace=str(folder), since_ns=1))
    (notice,) = workspace_copy.recover_copies(setting, "/usr/bin/git")
    assert "No such file" in notice
    assert copy.exists()


def test_files_that_the_agent_made_git_ignore_are_not_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "w"
    dirty_repository(folder)
    command = "echo node_modules/ >> .gitignore; mkdir -p node_modules/a; echo 1 > node_modules/a/x.js; echo 2 > y.js"

    async def main() -> None:
        async with opened(folder, one_command_each([command]), monkeypatch) as (chat, server):
            await chat.prompt("go")
            assert "Not applied: node_modules/ (1 ignored by git)" in task_results(server)[0]

    asyncio.run(main())
    assert (folder / "y.js").exists()
    assert not (folder / "node_modules").exists()
