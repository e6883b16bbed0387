"""What a command costs more in its box than started plainly by the same program, and how long a box takes to stand."""

import asyncio
import os
import time
from collections.abc import Iterator

from bench.runs import Site
from bench.table import Row, Series
from overt.core.protocols import Profile
from overt.sandbox.profile import SandboxPlace
from overt.workspace.environment import child_environment
from overt.workspace.programs import SupervisorSpawner

ARGV = ("bash", "-c", "true")
MORE = 0.002
ROUNDS = 300
STARTS = 9


def box(site: Site) -> Iterator[Row]:
    boxed, plain, stood = asyncio.run(_measured(site))
    over = [ours - theirs for ours, theirs in zip(boxed, plain, strict=True)]
    yield Row(
        name="a command in its box, more than posix_spawn",
        ours=f"+ {Series(over).ms()}",
        yardstick=Series(plain).ms(),
        budget=f"+ {MORE * 1000:g} ms",
        ok=Series(over).median < MORE,
    )
    yield Row(name="a box, from nothing to its first command", ours=Series(stood).ms())


async def _measured(site: Site) -> tuple[list[float], list[float], list[float]]:
    workspace, home = str(site.fresh("box")), str(site.home)
    own = f"{home}/own"
    place = SandboxPlace(
        workspace=workspace,
        project=workspace,
        home=home,
        config_dir=own,
        data_dir=own,
        cache_dir=own,
        temp=str(site.folder),
    )
    env = child_environment(os.environ, ())
    boxed: list[float] = []
    plain: list[float] = []
    stood: list[float] = []
    for _ in range(site.times(STARTS)):
        begun = time.perf_counter()
        spawner = SupervisorSpawner(place=place)
        try:
            await _command(spawner, workspace, env)
            stood.append(time.perf_counter() - begun)
            for _ in range(site.times(ROUNDS) // STARTS):
                plain.append(_plain(env))
                begun = time.perf_counter()
                await _command(spawner, workspace, env)
                boxed.append(time.perf_counter() - begun)
        finally:
            await spawner.close()
    return boxed, plain, stood


async def _command(spawner: SupervisorSpawner, workspace: str, env: dict[str, str]) -> None:
    child = await spawner.spawn(ARGV, cwd=workspace, env=env, profile=Profile())
    try:
        await child.wait()
    finally:
        child.close()


def _plain(env: dict[str, str]) -> float:
    begun = time.perf_counter()
    reader, writer = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_DUP2, writer, 2)]
    pid = os.posix_spawnp(ARGV[0], ARGV, env, file_actions=actions)
    os.close(writer)
    os.read(reader, 1)
    os.waitpid(pid, 0)
    os.close(reader)
    return time.perf_counter() - begun
