"""The spawner: starts programs through a supervisor (see `sandbox/supervisor.py`), one per profile.

A supervisor is started at first use or by `warm`. One event loop serves a spawner for its whole life.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from overt.core.errors import ToolError
from overt.core.protocols import BOXED, Profile, SandboxState, Tracking
from overt.lib.logs.log import LOG
from overt.sandbox.launch.launch_plans import LaunchPlanner
from overt.sandbox.launch.started_program import OrderLedger, StartedProgram, payload
from overt.sandbox.launch.supervisor_process import SupervisorProcess
from overt.sandbox.profile import SandboxPlace

if TYPE_CHECKING:
    from overt.sandbox.overlay import Overlay

MOST_PROCESSES = 4096
MOST_KINDS = 4
CLOSE = 5.0
GONE = 1.0
WATCH = 0.5
ENDED = "what was still running in the sandbox was ended: {why}"


class SupervisorSpawner:
    """A Spawner. With a `place`, programs run in the best box that `mode` (`sandbox.mode`) allows; without one
    there are no boxes, and `before` gives the words to put before a profile's supervisor. With an `overlay`, programs
    see that instead of the workspace."""

    def __init__(
        self,
        *,
        place: SandboxPlace | None = None,
        mode: str = "auto",
        before: Callable[[Profile], Sequence[str]] = lambda profile: (),
        most_processes: int = MOST_PROCESSES,
        overlay: "Overlay | None" = None,
    ) -> None:
        self._planner = LaunchPlanner(place, mode, before, overlay)
        self._most = most_processes
        self._stations: dict[Profile, SupervisorProcess] = {}
        self._leaving: list[SupervisorProcess] = []
        self._children: dict[StartedProgram, SupervisorProcess] = {}
        self._looked: set[StartedProgram] = set()
        self._ledger = OrderLedger()
        self._watch: asyncio.TimerHandle | None = None

    def warm(self, profile: Profile) -> None:
        """Start the supervisor now, without waiting for it; what is wrong with it the first command says."""
        if not self._planner.refusal(profile):
            try:
                if not self._sweep(profile):
                    self._station(profile)
            except ToolError:
                pass

    def guess(self, profile: Profile = BOXED) -> SandboxState:
        """Which sandbox programs of this profile will run in, as far as is known without starting one."""
        return self._planner.state(profile)

    async def standing(self, profile: Profile = BOXED) -> SandboxState:
        """Which sandbox they do run in: it has come up."""
        try:
            await self._ready(profile)
        except (ToolError, ConnectionError):
            pass  # the state says why
        return self._planner.state(profile)

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        profile: Profile,
        linger: bool = False,
        track: Tracking | None = None,
    ) -> StartedProgram:
        return await self._spawn(argv, "linger" if linger else "", cwd=cwd, env=env, profile=profile, track=track)

    async def spawn_server(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        profile: Profile,
        track: Tracking | None = None,
    ) -> StartedProgram:
        return await self._spawn(argv, "stdio", cwd=cwd, env=env, profile=profile, track=track)

    async def _spawn(
        self,
        argv: Sequence[str],
        flags: str,
        *,
        cwd: str,
        env: Mapping[str, str],
        profile: Profile,
        track: Tracking | None = None,
    ) -> StartedProgram:
        reading, profile = profile.reading, replace(profile, reading=False)
        stdio = flags == "stdio"
        flags += ",reading" if reading else ""
        if track and not reading:
            flags += f",track:{track.since}"
        payload([flags, cwd, *argv, *env, *env.values()])  # what cannot be said is refused before anything is started
        for _ in range(2):
            try:
                station = await self._ready(profile)
                told = self._planner.environment(station.launch, env)
                places, more = self._planner.left_to_readers(station.launch) if reading else ((), {})
                places = track.roots if track and not reading else places
                before = [flags, cwd, str(len(places)), *places, str(len(argv)), *argv]
                order = payload([*before, *(f"{name}={value}" for name, value in {**told, **more}.items())])
                child = StartedProgram(self._ledger, self._forget, tracked=track is not None, stdio=stdio)
                await self._try(child, station, order, program=argv[0], cwd=cwd)
                if reading and child.rules:
                    child.rules = replace(child.rules, write=places, read=(*child.rules.read, *child.rules.write))
                return child
            except ConnectionError:
                self._drop(profile)  # it was killed before it took the order; one fresh start
        raise ToolError(f"could not start {argv[0]}: the supervisor of programs was killed twice", code="failed")

    def private_folders(self) -> Mapping[str, str]:
        """Temporary folders as programs see them, and where they lie; see `LaunchPlanner.private_folders`."""
        return self._planner.private_folders()

    def findings(self, child: StartedProgram) -> str:
        """What has to be said about a program that has ended, beside its output."""
        self._look_after(child)
        return self._planner.findings()

    def rest(self) -> None:
        """Take down the boxes that run nothing."""
        self._planner.look(busy=self._busy(), deep=True)
        for profile, station in tuple(self._stations.items()):
            if not station.children:
                self._drop(profile)
        self._end_unkept()
        asyncio.get_running_loop().call_later(GONE, self._collect)

    async def close(self) -> None:
        """End every program; returns when they are gone, or after five seconds."""
        busy = self._busy()
        for child in tuple(self._children):
            self._looked.add(child)
            child.close()
        self._looked.clear()
        self._ledger.close()
        if self._watch:
            self._watch.cancel()
        stations = [*self._stations.values(), *self._leaving]
        self._stations.clear()
        self._leaving.clear()
        self._planner.let_go()
        for station in stations:
            station.hang_up()
        await _reaped(stations)
        for station in stations:
            station.end()
        self._planner.look(busy=busy, deep=True)
        self._planner.tidy()

    async def _try(
        self, child: StartedProgram, station: SupervisorProcess, order: bytes, *, program: str, cwd: str
    ) -> None:
        child.rules = station.launch.rules
        self._children[child] = station
        station.children += 1
        if not self._watch and station.launch.wanted:
            self._watch = asyncio.get_running_loop().call_later(WATCH, self._look_round)
        up = False
        try:
            await child.send(station, order)
            await child.started(program, cwd)
            up = True
        except asyncio.CancelledError:
            await child.kill()
            raise
        except ConnectionError:
            raise
        except OSError as error:
            raise ToolError(f"could not start a program: {error.strerror}", code="failed") from error
        finally:
            if not up:
                child.close()

    async def _ready(self, profile: Profile) -> SupervisorProcess:
        """A supervisor that takes orders; where a kind of box does not come up, the next best one."""
        for _ in range(MOST_KINDS):
            if refusal := self._planner.refusal(profile):
                raise ToolError(refusal, code="failed")
            if ended := self._sweep(profile):
                await _reaped(ended)
                self._planner.look(busy=True)  # they had until now
            station = self._station(profile)
            lacking = await station.up()
            if lacking is None:
                first = self._stations.get(profile) is station  # of those who waited for it
                said = station.complaint()
                LOG.warning("sandbox", f"{station.launch.kind} did not start: {said}")
                self._drop(profile, station)
                if first and not await asyncio.to_thread(self._planner.failed, station.launch, said):
                    break
            elif station.greeted or station.launch.kind == "none":
                return station
            elif self._planner.look(busy=bool(ended) or self._busy()):
                self._drop(profile, station)  # something was moved away that it stands on
            else:
                station.greeted = True
                self._planner.came_up(station.launch, lacking)
                return station
        raise ConnectionResetError

    def _sweep(self, profile: Profile) -> list[SupervisorProcess]:
        """Before an order: no box that keeps too little takes it, or runs on; those that had to be ended."""
        self._planner.look(busy=self._busy())
        ended = self._end_unkept()
        for each, station in tuple(self._stations.items()):
            if station.ended or (each == profile and self._planner.stale(station.launch, each)):
                self._retire(self._stations.pop(each))
        return ended

    def _busy(self) -> bool:
        """Whether something runs in a box."""
        return any(station.launch.rules for station in self._children.values())

    def _end_unkept(self, *, patient: bool = False) -> list[SupervisorProcess]:
        """LaunchPlanner that keep too little go with everything in them."""
        ended = []
        for station in (*self._stations.values(), *self._leaving):
            if (
                station.children
                and not station.ended
                and (why := self._planner.protection_gap(station.launch, patient=patient))
            ):
                self._planner.tell(ENDED.format(why=why))
                station.hang_up()
                ended.append(station)
        return ended

    def _station(self, profile: Profile) -> SupervisorProcess:
        station = self._stations.get(profile)
        if not station:
            try:
                station = self._stations[profile] = SupervisorProcess(self._planner.launch(profile), self._most)
            except OSError as error:
                raise ToolError(f"could not start the supervisor of programs: {error.strerror}") from error
        return station

    def _look_round(self) -> None:
        """While programs run: a file that is replaced outside takes the protection of it away at once."""
        self._watch = None
        self._planner.look(busy=True)
        self._end_unkept(patient=True)
        if any(station.launch.wanted for station in self._children.values()):
            self._watch = asyncio.get_running_loop().call_later(WATCH, self._look_round)

    def _look_after(self, child: StartedProgram) -> None:
        """Once, when a program has ended: what did it leave?"""
        station = self._children.get(child)
        if station and child not in self._looked:
            self._looked.add(child)
            for path in child.breaches:
                self._planner.tell_breach(path)
            if child.is_monitor_lost:
                self._planner.take_away(station.launch)
            if station.launch.wanted:
                self._planner.look(busy=True)

    def _retire(self, station: SupervisorProcess) -> None:
        """No more orders for it; it ends with its last program."""
        self._collect()
        self._leaving.append(station)
        if not station.children:
            station.hang_up()

    def _collect(self) -> None:
        self._leaving = [each for each in self._leaving if not each.reaped()]

    def _drop(self, profile: Profile, station: SupervisorProcess | None = None) -> None:
        current = self._stations.get(profile)
        if current and station in (None, current):
            del self._stations[profile]
            self._retire(current)
            current.hang_up()

    def _forget(self, child: StartedProgram) -> None:
        self._look_after(child)
        self._looked.discard(child)
        station = self._children.pop(child, None)
        if station:
            station.children -= 1
            if not station.children and station in self._leaving:
                station.hang_up()


async def _reaped(stations: Sequence[SupervisorProcess]) -> None:
    """Wait for their end, but not for ever."""
    deadline = time.monotonic() + CLOSE
    for station in stations:
        while not station.reaped() and time.monotonic() < deadline:  # noqa: ASYNC110 - nothing tells of its end
            await asyncio.sleep(0.005)
