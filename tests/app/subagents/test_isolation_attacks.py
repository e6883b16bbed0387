"""What a workspace that changes while an isolated agent works, or an agent itself, could do to the result."""

import asyncio
import json
import os
import subprocess
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
    task_results,
)
from tests.app.subagents.test_isolation import answer_with, left_copies, written

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
