"""Nothing outlives Overt, nothing escapes its command, and no command reaches another one's processes."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workspace.programs_kit import Bench, command_lines, gone, make_programs, opened, proc

from overt.core.protocols import Profile
from overt.workspace.programs import SupervisorSpawner

FORK = "import os, sys, time; os.fork() and sys.exit(); os.setsid(); os.fork() and sys.exit(); time.sleep(60)"
DETACHED = {
    "child": "sleep 60 &",
    "setsid": "setsid sleep 60 &",
    "nohup": "nohup sleep 60 > /dev/null 2>&1 &",
    "double fork": f"{sys.executable} -c '{FORK}'",
    "without its environment": "env -i MARK=$MARK setsid sleep 60 &",
    "deaf": "setsid bash -c 'trap : TERM HUP INT; while :; do sleep 0.1; done' &",
}

HOST = """
import asyncio, os, sys
from overt.core.protocols import Profile
from overt.workspace.jobs import Jobs
from overt.workspace.files import Workspace
from overt.workspace.programs import Programs, ProgramServices, SupervisorSpawner

async def main():
    spawner = SupervisorSpawner(most_processes=int(sys.argv[3]))
    services = ProgramServices(
        spawner=spawner, jobs=Jobs(), workspace=Workspace(root=sys.argv[1]), env=dict(os.environ)
    )
    programs = Programs(services, profile=Profile())
    await programs.run(sys.argv[2], timeout_ms=100_000)

asyncio.run(main())
"""


@pytest.mark.parametrize("shape", DETACHED)
def test_what_a_command_leaves_behind_is_gone_when_it_has_ended(tmp_path: Path, shape: str) -> None:
    async def main() -> list[str]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            await bench.programs.run(DETACHED[shape], timeout_ms=30_000)
            return bench.alive()

    assert asyncio.run(main()) == []


@pytest.mark.parametrize("shape", DETACHED)
def test_cancelling_ends_what_has_detached_itself(tmp_path: Path, shape: str) -> None:
    async def main() -> list[str]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            command = f"{DETACHED[shape]}\ntouch up; sleep 60"
            task = asyncio.create_task(bench.programs.run(command, timeout_ms=50_000))
            while not (tmp_path / "up").exists():
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
            return bench.alive()

    assert asyncio.run(main()) == []


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("shape", DETACHED)
def test_nothing_is_left_two_seconds_after_the_program_was_killed(
    tmp_path: Path, shape: str, ending: signal.Signals
) -> None:
    bench = Bench(str(tmp_path))
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path), f"{DETACHED[shape]}\ntouch up; sleep 60", str(bench.number)],
        env=os.environ | {"MARK": bench.mark},
        stderr=subprocess.DEVNULL,
    )
    try:
        up = tmp_path / "up"
        assert gone(lambda: [] if up.exists() and len(bench.alive()) >= 3 else bench.alive() or ["none"], 30) == []
    finally:
        host.send_signal(ending)
        host.wait(30)

    assert gone(lambda: [*bench.alive(), *bench.supervisors()]) == []


def test_killing_one_command_leaves_the_daemons_of_another_alone(tmp_path: Path) -> None:
    async def main() -> tuple[list[bool], list[str]]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            await bench.programs.start("env -i setsid sleep 61.5 & echo ready to go", wait_ms=30_000)
            task = asyncio.create_task(bench.programs.run("setsid sleep 60.5 & touch up; sleep 60", timeout_ms=50_000))
            while not (tmp_path / "up").exists():
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
            await bench.programs.run("setsid sleep 60.5 &", timeout_ms=30_000)
            lines = [line for _, line in command_lines()]
            living = [f"sleep {seconds}" in lines for seconds in ("60.5", "61.5")]
            await bench.programs.stop("job1")
            return living, [line for _, line in command_lines() if line == "sleep 61.5"]

    assert asyncio.run(main()) == ([False, True], [])


def test_killing_its_keeper_does_not_set_a_command_free(tmp_path: Path) -> None:
    async def main() -> tuple[int | None, list[str], str]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            ran = await bench.programs.run("setsid sleep 60 & sleep 0.3; kill -9 $PPID; sleep 60", timeout_ms=50_000)
            left = gone(bench.alive)
            return ran.code, left, (await bench.programs.run("echo fine", timeout_ms=30_000)).text

    assert asyncio.run(main()) == (128 + signal.SIGKILL, [], "fine\n")


BOUNDED = """
import os, time

def branch(depth):
    # Each process keeps two children alive, replaces them when they die, and half of them leave the session.
    living = set()
    while True:
        while depth and len(living) < 2:
            child = os.fork()
            if child == 0:
                if depth % 2:
                    os.setsid()
                branch(depth - 1)
            living.add(child)
        if not depth:
            time.sleep(60)
        living.discard(os.wait()[0])

open("up", "w").close()
branch(6)
"""


def test_processes_that_replace_each_other_die_within_two_seconds_of_cancelling(tmp_path: Path) -> None:
    async def main() -> tuple[bool, list[str]]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            (tmp_path / "bomb.py").write_text(BOUNDED)
            task = asyncio.create_task(bench.programs.run(f"{sys.executable} -S bomb.py", timeout_ms=50_000))
            while len(bench.alive()) < 100:
                await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled(), gone(bench.alive, 1.0)

    assert asyncio.run(main()) == (True, [])


PIDS = Path("/sys/fs/cgroup/pids")


@pytest.mark.skipif(not os.access(PIDS, os.W_OK), reason="no control group can be made here to hold a fork bomb")
def test_a_fork_bomb_stays_within_the_limit_and_dies(tmp_path: Path) -> None:
    async def main() -> tuple[int, list[str], str]:
        async with asyncio.timeout(60):
            bench = Bench(str(tmp_path))
            spawner = SupervisorSpawner(most_processes=150)
            programs = make_programs(spawner, bench.jobs, cwd=str(tmp_path), env=bench.env, profile=Profile())
            try:
                command = "bomb() { bomb | bomb & }; bomb; sleep 60"
                task = asyncio.create_task(programs.run(command, timeout_ms=50_000))
                most = 0
                for _ in range(10):
                    most = max(most, len(bench.alive()))
                    await asyncio.sleep(0.05)
                task.cancel()
                await asyncio.wait([task])
                left = gone(bench.alive, 1.0)
                return most, left, (await programs.run("echo usable", timeout_ms=10_000)).text
            finally:
                await spawner.close()

    most, left, after = asyncio.run(main())

    assert (most <= 150, left, after) == (True, [], "usable\n")


def test_a_command_starts_clean(tmp_path: Path) -> None:
    look = """
import os, resource, signal
usual = [signal.getsignal(it) for it in (signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD, signal.SIGTSTP)]
print(set(usual) == {signal.SIG_DFL}, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), resource.getrlimit(resource.RLIMIT_CORE))
print(os.getsid(0) == os.getpgrp() == os.getppid(), os.readlink("/proc/self/fd/0"))
print(sorted(os.listdir("/proc/self/fd")), "PATH" in os.environ)
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError as error:
    print(error.strerror)
"""
    (tmp_path / "look.py").write_text(look)

    async def main() -> str:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            return (
                await bench.programs.run(
                    f"{sys.executable} look.py; yes | head -1; echo ${{PIPESTATUS[0]}}", timeout_ms=30_000
                )
            ).text

    assert asyncio.run(main()).split("\n") == [
        "True True",
        "set() (0, 0)",
        "True /dev/null",
        "['0', '1', '2', '3'] True",
        "No such device or address",
        "y",
        "141",
        "",
    ]


def test_walls_are_put_around_the_supervisor_of_their_profile(tmp_path: Path) -> None:
    async def main() -> list[str]:
        bench = Bench(str(tmp_path))
        spawner = SupervisorSpawner(before=lambda profile: ("nice", "-n", "3") if profile.network else ())
        spawner.warm(Profile(network=True))
        found = []
        try:
            async with asyncio.timeout(60):
                for name in ("command", "walled"):
                    profile = Profile(network=name == "walled")
                    programs = make_programs(spawner, bench.jobs, cwd=str(tmp_path), env=bench.env, profile=profile)
                    found.append((await programs.run("nice", timeout_ms=30_000)).text)
        finally:
            await spawner.close()
        return found

    plain, walled = asyncio.run(main())

    assert int(walled) == int(plain) + 3


def test_the_supervisor_leaves_when_its_link_closes_and_hears_no_signal_of_a_terminal(tmp_path: Path) -> None:
    async def main() -> tuple[str, list[int]]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            await bench.programs.run("true", timeout_ms=30_000)
            for pid in bench.supervisors():
                for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTSTP, signal.SIGTERM):
                    os.kill(pid, number)
            text = (await bench.programs.run("echo still here", timeout_ms=30_000)).text
            sessions = {os.getsid(pid) for pid in bench.supervisors() if proc(pid, "stat")}
            return text, [sid for sid in sessions if sid == os.getsid(0)]

    assert asyncio.run(main()) == ("still here\n", [])
