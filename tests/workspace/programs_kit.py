"""What the tests of programs share: an open set of programs, and a look at what is still alive."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from random import randrange
from typing import Any

from overt.core.protocols import Profile, Spawner
from overt.workspace.command_output import OutputFiles
from overt.workspace.contained_path import Workspace
from overt.workspace.environment import child_environment
from overt.workspace.jobs import Jobs
from overt.workspace.programs import Keeping, Programs, ProgramServices, SupervisorSpawner

PROFILE = Profile()


class Bench:
    """Programs with a mark that every process they start carries."""

    def __init__(
        self,
        cwd: str,
        report: Callable[[str], None] | None = None,
        *,
        keeping: Keeping | None = None,
        outputs: OutputFiles | None = None,
        read: tuple[str, ...] = (),
    ) -> None:
        self.number = randrange(100_000, 4_000_000)  # a limit nobody reaches, which marks the supervisor
        self.mark = f"overt-test-{os.getpid()}-{self.number}"
        self.env = child_environment(os.environ, ()) | {"MARK": self.mark}
        self.spawner = SupervisorSpawner(most_processes=self.number)
        self.jobs = Jobs()
        self.services = ProgramServices(
            spawner=self.spawner,
            jobs=self.jobs,
            workspace=Workspace(root=cwd, read=read),
            env=self.env,
            outputs=outputs,
        )
        self.programs = Programs(self.services, profile=PROFILE, report=report, keeping=keeping)

    def alive(self) -> list[str]:
        return marked(self.mark)

    def supervisors(self) -> list[int]:
        """Supervisors and keepers."""
        return [pid for pid, words in command_lines() if "supervisor" in words and words.endswith(f" {self.number}")]


def make_programs(
    spawner: Spawner, jobs: Jobs, *, cwd: str, env: Mapping[str, str], profile: Profile, keeping: Keeping | None = None
) -> Programs:
    services = ProgramServices(spawner=spawner, jobs=jobs, workspace=Workspace(root=cwd), env=env)
    return Programs(services, profile=profile, keeping=keeping)


@asynccontextmanager
async def opened(
    cwd: object,
    report: Callable[[str], None] | None = None,
    *,
    keeping: Keeping | None = None,
    outputs: OutputFiles | None = None,
    read: tuple[str, ...] = (),
) -> AsyncIterator[Bench]:
    bench = Bench(str(cwd), report, keeping=keeping, outputs=outputs, read=read)
    try:
        yield bench
    finally:
        await bench.jobs.close()
        await bench.spawner.close()
    assert (gone(bench.alive), gone(bench.supervisors)) == ([], [])


def gone(look: Callable[[], list[Any]], seconds: float = 30.0) -> list[Any]:
    """What is left when everything has gone, or when the time is over."""
    deadline = time.monotonic() + seconds
    while (left := look()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def marked(mark: str) -> list[str]:
    found = []
    for pid in pids():
        if mark.encode() in proc(pid, "environ"):
            found.append(f"{pid} {proc(pid, 'cmdline').replace(bytes(1), b' ').decode()}")
    return found


def command_lines() -> list[tuple[int, str]]:
    return [(pid, proc(pid, "cmdline").replace(bytes(1), b" ").decode("utf-8", "replace").strip()) for pid in pids()]


def zombies() -> list[int]:
    """Dead children of this process and of its descendants."""
    stats = {pid: stat.rpartition(b") ")[2].split() for pid in pids() if (stat := proc(pid, "stat"))}
    ours = {os.getpid()}
    for _ in range(8):
        ours |= {pid for pid, words in stats.items() if int(words[1]) in ours}
    return [pid for pid in ours if pid in stats and stats[pid][0] == b"Z"]


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def proc(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
