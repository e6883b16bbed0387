"""A program with standard input: it talks over its own pipes, in its sandbox, and ends with its owner."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.box_kit import USERS, Stage, staged
from tests.workspace.programs_kit import gone, opened

from overt.core.errors import ToolError
from overt.core.protocols import Profile

DRIVER = """
import asyncio, json, os, sys, time
from overt.core.protocols import Profile
from overt.sandbox.launch.spawner import SupervisorSpawner
from overt.sandbox.profile import SandboxPlace, cache_folders

async def read(fd):
    data = b""
    while not data.endswith(b"\\n") and (more := await asyncio.to_thread(os.read, fd, 65536)):
        data += more
    return data.decode()

async def main():
    spec = json.loads(sys.argv[1])
    home, workspace = os.environ["HOME"], spec["workspace"]
    place = SandboxPlace(
        workspace=workspace, project=workspace, home=home, config_dir=f"{home}/.config/overt",
        data_dir=f"{home}/.local/share/overt", cache_dir=f"{home}/.cache/overt", temp=spec["temp"],
        caches=cache_folders(home, os.environ),
    )
    spawner = SupervisorSpawner(place=place, mode=spec["mode"])
    profile = Profile()
    env = {"PATH": os.environ["PATH"], "MARK": spec["mark"]}
    async with asyncio.timeout(60):
        argv = ["bash", "-c", spec["commands"][0]]
        child = await spawner.spawn_server(argv, cwd=workspace, env=env, profile=profile)
        answers = [(await spawner.standing(profile)).kind]
        for line in ("one\\n", "two\\n"):
            os.write(child.stdin, line.encode())
            answers.append(await read(child.stdout))
        if not spec["close"]:
            print(json.dumps(answers), flush=True)
            await asyncio.sleep(50)
        stdout = os.dup(child.stdout)
        child.close_pipes()
        answers += [await child.wait(), await read(stdout), os.read(child.output, 65536).decode(), child.left]
        child.close()
    await spawner.close()
    print(json.dumps(answers))

asyncio.run(main())
"""
ECHO = "echo started >&2; touch inside; touch ~/outside; cat; echo ended"


def talk(stage: Stage, command: str, mode: str = "auto") -> list[Any]:
    process = stage.start(command, driver=DRIVER, mode=mode)
    try:
        out, err = process.communicate(timeout=110)
    finally:
        process.kill()
        process.wait()
    assert err == ""
    answers: list[Any] = json.loads(out)
    return answers


@USERS
@pytest.mark.parametrize("mode", ["bubblewrap", "landlock"])
def test_an_echo_server_answers_from_its_sandbox_and_ends_with_its_input(user: str, mode: str) -> None:
    with staged(user) as stage:
        stage.give()

        kind, one, two, code, rest, errors, left = talk(stage, ECHO.replace("~", str(stage.home)), mode)

        assert (kind, one, two, code, rest, left) == (mode, "one\n", "two\n", 0, "ended\n", 0)
        assert errors.startswith("started\ntouch: cannot touch") and errors.count("\n") == 2
        assert (stage.workspace / "inside").exists() and not (stage.home / "outside").exists()


def test_what_a_server_started_ends_with_it() -> None:
    with staged("root") as stage:
        answers = talk(stage, "setsid sleep 60 >&2 & cat")

        assert (answers[1:4], answers[-1], gone(stage.left)) == (["one\n", "two\n", 0], 1, [])


@USERS
def test_nothing_is_left_when_the_owner_of_a_server_is_killed(user: str) -> None:
    with staged(user) as stage:
        stage.give()
        process = stage.start("trap '' TERM HUP; setsid sleep 60 & cat; sleep 60", driver=DRIVER, close=False)
        try:
            assert process.stdout is not None
            answers = json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)

        assert (answers[1:], gone(stage.left)) == (["one\n", "two\n"], [])


def test_a_server_without_a_sandbox_gets_pipes_of_its_own(tmp_path: Path) -> None:
    async def main() -> tuple[bytes, bytes, int]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            argv = ("sh", "-c", "echo problem >&2; exec cat")
            child = await bench.spawner.spawn_server(argv, cwd=str(tmp_path), env=bench.env, profile=Profile())
            await asyncio.to_thread(os.write, child.stdin, b"hello")
            answer = await asyncio.to_thread(os.read, child.stdout, 100)
            child.close_pipes()
            code = await child.wait()
            errors = os.read(child.output, 100)
            child.close()
            return answer, errors, code

    assert asyncio.run(main()) == (b"hello", b"problem\n", 0)


def test_a_server_that_cannot_start_leaves_no_descriptor_open(tmp_path: Path) -> None:
    async def main() -> tuple[str, int]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            await bench.programs.run("true", timeout_ms=30_000)
            before = len(os.listdir("/proc/self/fd"))
            with pytest.raises(ToolError) as caught:
                await bench.spawner.spawn_server(
                    ("no-such-server",), cwd=str(tmp_path), env=bench.env, profile=Profile()
                )
            return caught.value.message, len(os.listdir("/proc/self/fd")) - before

    message, leaked = asyncio.run(main())
    assert (message.startswith("could not start no-such-server"), leaked) == (True, 0)
