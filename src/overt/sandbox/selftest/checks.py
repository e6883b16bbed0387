"""Whether the walls of a box stand: twelve of them, each tried for real from inside and judged from outside too.

Nothing is taken for granted. An attempt that could not be made counts as one that went through, and a box in
which nothing works at all has no say: it would hold every wall.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from overt.core.errors import ToolError
from overt.core.protocols import BOXED, Child, Profile, Spawner
from overt.sandbox.selftest.fixture import HostObserver, SelfTestFolders, marked, staged, threads

__all__ = ["EscapeAttempt", "SelfTestFolders", "SelfTestResult", "Wall", "check"]

NAMES = "outside hooks gitconfig agent secrets tcp udp unix processes privileges limit lifetime".split()
"""The walls in their order; the first is number 1."""
ATTEMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attempts.py")
FEW = 64
"""The limit on processes that is tried."""
MOST_FORKS = 2000
PATIENCE = 30.0
GONE = 2.0


class EscapeAttempt(Struct, frozen=True, kw_only=True):
    """`note` is what the kernel answered, or why it could not be tried."""

    wall: str
    name: str
    through: bool
    note: str


class Wall(Struct, frozen=True, kw_only=True):
    """`name` is a stable word; `detail` lists what went through."""

    number: int
    name: str
    held: bool
    detail: str
    attempts: tuple[EscapeAttempt, ...]


class SelfTestResult(Struct, frozen=True, kw_only=True):
    """`void` says why nothing can be concluded; `loopback` whether a server inside can be reached from inside."""

    walls: tuple[Wall, ...]
    void: str = ""
    loopback: bool = False

    @property
    def held(self) -> int:
        return sum(wall.held for wall in self.walls)


OpenBox = Callable[[SelfTestFolders, int], Spawner]
"""Gives a spawner whose programs live in the box for a stage, with at most so many processes."""


async def check(open_box: OpenBox, *, base: str, env: Mapping[str, str], profile: Profile = BOXED) -> SelfTestResult:
    """Try all walls on a stage made below `base`. `env` is what a program in the box gets; nothing is left behind."""
    with staged(base) as (stage, outside):
        env = {**env, "HOME": stage.home}
        reports = await _try_all(open_box, outside, env=env, profile=profile)
        noticed = outside.noticed()
        reports += await _try_limit(open_box, stage, env=env, profile=profile)
        worked = outside.worked()
    found = tuple(_judged(report, noticed) for report in reports)
    failed = [f"{each.name} ({each.note})" for each in found if each.wall == "allowed" and not each.through]
    if not worked and not failed:
        failed = ["write in the workspace (nothing arrived)"]
    return SelfTestResult(
        walls=tuple(_wall(number, name, found) for number, name in enumerate(NAMES, 1)),
        void=", ".join(failed),
        loopback=any(each.wall == "loopback" and each.through for each in found),
    )


async def _try_all(
    open_box: OpenBox, outside: HostObserver, *, env: Mapping[str, str], profile: Profile
) -> list[Sequence[str]]:
    marks = {orphan: f"{outside.secret}-{orphan}" for orphan in (False, True)}
    spawner = open_box(outside.stage, 4096)
    inside = _Inside(spawner, cwd=outside.stage.workspace, env=env, profile=profile)
    try:
        reports = await inside.run("allowed", outside.told())
        for orphan, mark in marks.items():
            started = await inside.run("lifetime", {"mark": mark, "orphan": orphan}, linger=True)
            reports += [row for row in started if row[2] != "done"]
    finally:
        inside.close()
        await spawner.close()
    return [*reports, *[await _outlived(mark, orphan=orphan) for orphan, mark in marks.items()]]


async def _outlived(mark: str, *, orphan: bool) -> Sequence[str]:
    """What is still there after the box was closed; it is ended here."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + GONE
    while (left := marked(mark)) and loop.time() < deadline:  # noqa: ASYNC110 - nothing tells of their end
        await asyncio.sleep(0.01)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it went by itself after all
    name = "outlive it by killing its keepers" if orphan else "outlive it by detaching"
    return ("lifetime", name, "done", "") if left else ("lifetime", name, "refused", "ESRCH")


async def _try_limit(
    open_box: OpenBox, stage: SelfTestFolders, *, env: Mapping[str, str], profile: Profile
) -> list[Sequence[str]]:
    spawner = open_box(stage, FEW)
    inside = _Inside(spawner, cwd=stage.workspace, env=env, profile=profile)
    try:
        return await inside.run("limit", {"forks": min(FEW + threads() + FEW, MOST_FORKS)})
    finally:
        inside.close()
        await spawner.close()


class _Inside:
    """Runs the attempts in a box and reads what they report."""

    def __init__(self, spawner: Spawner, *, cwd: str, env: Mapping[str, str], profile: Profile) -> None:
        self._spawner = spawner
        self._cwd = cwd
        self._env = env
        self._profile = profile
        self._children: list[Child] = []

    async def run(self, wall: str, told: Mapping[str, object], *, linger: bool = False) -> list[Sequence[str]]:
        argv = (sys.executable, "-I", "-S", ATTEMPTS, json.dumps(told))
        try:
            async with asyncio.timeout(PATIENCE):
                child = await self._spawner.spawn(
                    argv, cwd=self._cwd, env=self._env, profile=self._profile, linger=linger
                )
                self._children.append(child)
                return await self._reports(child, wall, until_end=not linger)
        except (ToolError, TimeoutError) as error:
            return [(wall, "start a program", "unmade", str(error))]

    async def _reports(self, child: Child, wall: str, *, until_end: bool) -> list[Sequence[str]]:
        """What lingers is not waited for: its one line is enough, or the end of its keeper."""
        data = b""
        ending = asyncio.ensure_future(child.wait())
        while not ending.done() and (until_end or b"\n" not in data):
            await asyncio.wait([ending], timeout=None if until_end else 0.02)
            data += _available(child.output)
        ending.cancel()
        data += _available(child.output)
        reports = [row for line in data.splitlines() if (row := _row(line))]
        if not reports and until_end:
            reports = [(wall, "start a program", "unmade", data[-200:].decode("utf-8", "replace"))]
        return reports

    def close(self) -> None:
        for child in self._children:
            child.close()


def _available(fd: int) -> bytes:
    data = b""
    try:
        while piece := os.read(fd, 65536):
            data += piece
    except BlockingIOError:
        pass  # that was all for now
    return data


def _row(line: bytes) -> Sequence[str] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None  # what an interpreter says when it fails
    return row if isinstance(row, list) and len(row) == 4 and all(isinstance(word, str) for word in row) else None


def _judged(report: Sequence[str], noticed: Mapping[tuple[str, str], bool]) -> EscapeAttempt:
    wall, name, outcome, note = report
    through = noticed.get((wall, name), outcome == "done")
    if wall in ("allowed", "loopback"):
        through = outcome == "done"
    elif outcome == "unmade":
        through, note = True, f"could not be tried: {note}"
    return EscapeAttempt(wall=wall, name=name, through=through, note=note)


def _wall(number: int, name: str, found: Sequence[EscapeAttempt]) -> Wall:
    """A wall of which nothing was tried does not stand."""
    mine = tuple(each for each in found if each.wall == name)
    through = [f"{each.name} ({each.note})" if each.note else each.name for each in mine if each.through]
    return Wall(
        number=number,
        name=name,
        held=bool(mine) and not through,
        detail=", ".join(through) if mine else "nothing could be tried",
        attempts=mine,
    )
