"""A repository with everything that a careless writer could destroy, and a model whose agents run one command each."""

import asyncio
import os
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.app.subagents.test_delegation import first_prompt
from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import call, calls

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.start import open_conversation

RUN = "run: "
FINISHED = "finished"


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "core.abbrev=40")
    done = subprocess.run(["git", "-C", str(folder), *own, *words], capture_output=True, text=True, check=True)
    return done.stdout


def dirty_repository(folder: Path) -> None:
    """Five files, changed and staged ones among them, a stash, a branch, hooks, an ignored and an untracked file, and a
    repository inside."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for number in range(5):
        (folder / f"f{number}.txt").write_text(f"file {number}\n")
    (folder / ".gitignore").write_text("ignored/\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "branch", "other")
    (folder / "f0.txt").write_text("stashed\n")
    git(folder, "stash", "-q")
    (folder / "f1.txt").write_text("staged\n")
    git(folder, "add", "f1.txt")
    (folder / "f2.txt").write_text("not staged\n")
    (folder / "untracked.txt").write_text("untracked\n")
    (folder / "ignored").mkdir()
    (folder / "ignored" / "kept.bin").write_bytes(bytes(range(256)))
    (folder / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    git(folder, "config", "user.name", "owner")
    (folder / "nested").mkdir()
    git(folder / "nested", "init", "-q", "-b", "main")
    (folder / "nested" / "inner.txt").write_text("inner\n")
    git(folder / "nested", "add", "-A")
    git(folder / "nested", "commit", "-q", "-m", "inner")


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder with its mode and content, but for objects of git and refs of ours."""
    states: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith((".git/objects", ".git/refs/overt")):
            continue
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else b""
        states[name] = (path.lstat().st_mode, path.read_bytes() if path.is_file() and not content else content)
    return states


def agent_refs(folder: Path) -> list[str]:
    return git(folder, "for-each-ref", "--format=%(refname)", "refs/overt/agents/").split()


def show(folder: Path, ref: str, path: str) -> str:
    return git(folder, "show", f"{ref}:{path}")


def one_command_each(
    commands: Sequence[str], *, may_finish: threading.Event | None = None
) -> Callable[[Recorded, int], Turn]:
    """The root starts an isolated agent for each command, all in one reply; an agent runs its own and finishes, not
    before it may."""

    def choose(request: Recorded, _: int) -> Turn:
        prompt, messages = first_prompt(request), request.json()["messages"]
        replies = sum(message["role"] == "assistant" for message in messages)
        if RUN in prompt:
            command = prompt.partition(RUN)[2]
            if not replies:
                return calls(call("bash", command=command))
            if may_finish is not None:
                assert may_finish.wait(60)
            return Turn(text=FINISHED)
        if replies:
            return Turn(text="the end")
        tasks = (
            call("task", id=f"t{number}", prompt=f"{RUN}{command}", agent="worker", description=f"writer {number}")
            for number, command in enumerate(commands)
        )
        return calls(*tasks)

    return choose


@asynccontextmanager
async def opened(
    folder: Path,
    choose: Callable[[Recorded, int], Turn],
    monkeypatch: pytest.MonkeyPatch,
    *,
    mode: str = "auto",
    interactive: bool = False,
) -> AsyncIterator[tuple[Conversation, ModelServer]]:
    with ModelServer(choose=choose, models=("fake-model",)) as server:
        monkeypatch.setenv("OVERT_BASE_URL", server.url)
        monkeypatch.setenv("OVERT_MODEL", "fake-model")
        conversation = await open_conversation(Options(directory=str(folder), mode=mode, interactive=interactive))
        try:
            async with asyncio.timeout(120):
                yield conversation, server
        finally:
            await conversation.close()


def task_results(server: ModelServer) -> list[str]:
    """What the root was told of its sub-agents, in the order of their calls."""
    (last,) = [request for request in server.requests if RUN not in first_prompt(request)][-1:]
    return [
        content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        for message in last.json()["messages"]
        if message["role"] == "tool" and (content := message["content"]) is not None
    ]
