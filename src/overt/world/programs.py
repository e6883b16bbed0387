"""What one call may do with programs: run a command and wait for it, or look after background ones."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext

from overt.core.effects import JobOutput, JobState, Ran
from overt.core.errors import ToolError
from overt.core.interrupted import Interrupted
from overt.core.late import late
from overt.core.ports import Child, Profile, Spawner
from overt.world._child import PIPE, Started
from overt.world._output import STEP, Spool, plain, pour, rendered, uncut
from overt.world._spawner import Supervised
from overt.world.command_output import NOT_KEPT, KeepingSpool, OutputFiles
from overt.world.jobs import Jobs
from overt.world.keeping import CommandWatch

__all__ = ["NoPrograms", "Programs", "Supervised"]

KEPT = 256 * 1024
HINT = "to see all, redirect the output to a file and read parts of it"
SAVED_AT_ONCE = 2 * KEPT
"""Bytes of output that are saved even when a command is interrupted: it takes no time that anybody notices."""
CANCEL_GRACE = 0.05
TIMEOUT_GRACE = 0.5
PROGRESS = 0.1

Keeping = Callable[[], AbstractAsyncContextManager[CommandWatch | None]]


class Programs:
    """RunPrograms for one call: commands in the workspace, their progress told to `report`.

    `keeping` is given by whoever wants to undo what they change: what goes around a command that may write.
    `outputs` keeps what the model is not shown of their output.
    """

    def __init__(
        self,
        spawner: Spawner,
        jobs: Jobs,
        *,
        cwd: str,
        env: Mapping[str, str],
        report: Callable[[str], None] | None = None,
        profile: Profile,
    ) -> None:
        self._spawner = spawner
        self._jobs = jobs
        self._cwd = cwd
        self._env = env
        self._report = report
        self._profile = profile
        self.keeping: Keeping | None = None
        self.outputs: OutputFiles | None = None

    async def run(self, command: str, *, timeout_ms: int) -> Ran:
        async with self._kept() as watch:
            return await self._run(command, timeout_ms=timeout_ms, watch=watch)

    def _kept(self) -> AbstractAsyncContextManager[CommandWatch | None]:
        """Around a command that may write: how the files stood before it and after."""
        writes = self._profile.outside or (self._profile.write and not self._profile.reading)
        return self.keeping() if self.keeping and writes else nullcontext()

    async def _run(self, command: str, *, timeout_ms: int, watch: CommandWatch | None) -> Ran:
        begun = time.monotonic()
        child = await self._spawn(command, watch)
        spool = self.outputs.spool(head=KEPT, tail=KEPT) if self.outputs else Spool(head=KEPT, tail=KEPT)
        reading = Reading(child, spool, self._report)
        code: int | None = None
        interrupted = False
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                code = await child.wait()
        except TimeoutError:
            await child.kill(grace=TIMEOUT_GRACE)
        except asyncio.CancelledError:
            interrupted = True
            await child.kill(grace=CANCEL_GRACE)
        finally:
            reading.end()
            if watch:
                watch.record = await child.write_record()
            found = self._found(child)
            child.close()
        if interrupted:
            raise Interrupted(self._shown_at_once(spool))
        text = await self._shown(spool)
        if code is not None and child.left:
            text = f"{text}{_newline(text)}{_left(child.left)}"
        return Ran(
            text=text,
            code=code if code is None or code >= 0 else 128 - code,
            size=spool.size,
            timed_out=code is None,
            ms=round((time.monotonic() - begun) * 1000),
            blocked=self._blocked(child, code, text),
            found=found,
        )

    async def _shown(self, spool: Spool) -> str:
        """What the model is shown of a command's output; where that is not all, the rest is kept."""
        text = uncut(spool)
        if text is not None:
            spool.close()
            return text
        return rendered(spool, hint=await asyncio.to_thread(self._save, spool))

    def _shown_at_once(self, spool: Spool) -> str:
        """The same for a command that was interrupted, without waiting for a large output to be saved."""
        text = uncut(spool)
        if text is None:
            text = rendered(spool, hint=self._save(spool) if spool.size <= SAVED_AT_ONCE else NOT_KEPT)
        spool.close()
        return text

    def _save(self, spool: Spool) -> str:
        """Keep the whole output; return for the model where it is."""
        if self.outputs is None or not isinstance(spool, KeepingSpool):
            return HINT
        try:
            return self.outputs.save(spool)
        finally:
            spool.close()

    def _found(self, child: Child) -> str:
        """What the command left that its box had to put away."""
        return (
            self._spawner.findings(child)
            if isinstance(self._spawner, Supervised) and isinstance(child, Started)
            else ""
        )

    def _blocked(self, child: Child, code: int | None, text: str) -> str:
        """What its box refused a command that failed."""
        walls = child.walls if isinstance(child, Started) else None
        if walls is None or code == 0:
            return ""
        found: str = late("denial")(text, walls, cwd=self._cwd)
        return found

    async def start(self, command: str, *, wait_ms: int) -> JobOutput:
        self._jobs.check_room()
        async with self._kept() as watch:
            child = await self._spawn(command, watch, linger=True)
            job = await self._jobs.adopt(child, command, wait_ms=wait_ms)
            if watch:
                watch.record = await child.write_record()
            return job

    async def _spawn(self, command: str, watch: CommandWatch | None, *, linger: bool = False) -> Child:
        return await self._spawner.spawn(
            shell(command, self._env),
            cwd=self._cwd,
            env=self._env,
            profile=self._profile,
            linger=linger,
            track=watch.tracking if watch else None,
        )

    async def jobs(self) -> tuple[JobState, ...]:
        return self._jobs.list()

    async def output(self, id: str, *, since: int, tail: int, filter: str) -> JobOutput:
        return await self._jobs.output(id, since=since, tail=tail, filter=filter)

    async def stop(self, id: str) -> JobState:
        return await self._jobs.stop(id)


class NoPrograms:
    """RunPrograms while a call is only being previewed."""

    async def run(self, command: str, *, timeout_ms: int) -> Ran:
        raise _refused()

    async def start(self, command: str, *, wait_ms: int) -> JobOutput:
        raise _refused()

    async def jobs(self) -> tuple[JobState, ...]:
        raise _refused()

    async def output(self, id: str, *, since: int, tail: int, filter: str) -> JobOutput:
        raise _refused()

    async def stop(self, id: str) -> JobState:
        raise _refused()


class Reading:
    """Moves a child's output into a spool as it comes, and tells the last lines at most ten times a second."""

    def __init__(self, child: Child, spool: Spool, report: Callable[[str], None] | None) -> None:
        self._output = child.output
        self._spool = spool
        self._report = report
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._output, self._read)

    def end(self) -> None:
        """Take what is still in the pipe. Whoever holds it open now is not ours, and not waited for."""
        self._loop.remove_reader(self._output)
        pour(self._output, self._spool, steps=2 * PIPE // STEP)
        if self._timer:
            self._timer.cancel()

    def _read(self) -> None:
        if not pour(self._output, self._spool):
            self._loop.remove_reader(self._output)
        if self._report and not self._timer:
            self._timer = self._loop.call_later(PROGRESS, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._report:
            self._report("\n".join(plain(self._spool.last(2000)).rstrip().split("\n")[-5:]))


def shell(command: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Looked for every time, first in the folder that had it the last time."""
    path = env.get("PATH", os.defpath)
    last = _had_bash.get(path)
    for folder in path.split(":") if last is None else (last, *path.split(":")):
        if os.access(f"{folder}/bash", os.X_OK):
            _had_bash[path] = folder
            return ("bash", "-c", command)
    return ("sh", "-c", command)


_had_bash: dict[str, str] = {}


def _newline(text: str) -> str:
    return "\n" if text and not text.endswith("\n") else ""


def _left(count: int) -> str:
    what = "1 process it had" if count == 1 else f"{count} processes it had"
    return f"[ended {what} left running; use run_in_background to keep one]"


def _refused() -> ToolError:
    return ToolError("programs do not run in a preview", code="denied")
