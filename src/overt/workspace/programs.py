"""What one call may do with programs: run a command and wait for it, or look after background ones."""

import asyncio
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext

from msgspec import Struct
from msgspec.structs import replace

from overt.core.capabilities import Blocked, FinishedCommand, JobOutput, JobState
from overt.core.errors import ToolError
from overt.core.interruption import Interrupted
from overt.core.protocols import Child, Profile, Spawner
from overt.sandbox.launch.spawner import SupervisorSpawner
from overt.sandbox.launch.started_program import PIPE, StartedProgram
from overt.sandbox.profile import PRIVATE
from overt.workspace.command_output import HINT, NOT_KEPT, FileSpool, OutputFiles
from overt.workspace.contained_path import Workspace, lies_below, open_path
from overt.workspace.jobs import Jobs
from overt.workspace.output_text import STEP, Spool, plain_text, read_pipe, render_if_whole, render_output
from overt.workspace.undo.snapshot_keeper import CommandWatch

__all__ = ["NoPrograms", "ProgramServices", "Programs", "SupervisorSpawner"]

KEPT = 256 * 1024
PLACE_OF_HINT = "\ue000" * 40
SAVED_AT_ONCE = 2 * KEPT
"""Bytes of output that are saved even when a command is interrupted: it takes no time that anybody notices."""
CANCEL_GRACE = 0.05
TIMEOUT_GRACE = 0.5
PROGRESS = 0.1

Keeping = Callable[[], AbstractAsyncContextManager[CommandWatch | None]]


class ProgramServices(Struct, frozen=True, kw_only=True):
    """What the commands of one session share. Commands run in `workspace`, and `workdir` must lie in it.

    `outputs` keeps what the model is not shown of their output.
    """

    spawner: Spawner
    jobs: Jobs
    workspace: Workspace
    env: Mapping[str, str]
    outputs: OutputFiles | None = None


class Programs:
    """RunPrograms for one call of `agent`: commands in the workspace, their progress told to `report`.

    `keeping` returns the context in which a command that may write runs, so that its changes can be undone.
    """

    def __init__(
        self,
        services: ProgramServices,
        *,
        profile: Profile,
        agent: str = "main",
        report: Callable[[str], None] | None = None,
        keeping: Keeping | None = None,
    ) -> None:
        self._spawner = services.spawner
        self._jobs = services.jobs
        self._workspace = services.workspace
        self._env = services.env
        self._outputs = services.outputs
        self._profile = profile
        self._agent = agent
        self._report = report
        self._keeping = keeping

    async def run(self, command: str, *, timeout_ms: int, workdir: str = "") -> FinishedCommand:
        cwd = self._folder(workdir)
        async with self._kept() as watch:
            finished = await self._run(command, timeout_ms=timeout_ms, watch=watch, cwd=cwd)
        if watch and watch.conflict:
            finished = replace(finished, remark="; ".join(filter(None, (finished.remark, watch.conflict))))
        return finished

    def _folder(self, workdir: str) -> str:
        """Where a command runs: the workspace, or a folder in it or in another one that the user opened."""
        if not workdir:
            return self._workspace.root
        with open_path(self._workspace, workdir) as spot:
            if spot.stat is None:
                raise ToolError(
                    f"workdir {spot.path} does not exist; make it first, or look with list.", code="missing"
                )
            if not stat.S_ISDIR(spot.stat.st_mode):
                raise ToolError(f"workdir {spot.path} is not a folder.", code="invalid")
            place = os.path.join(spot.root, *spot.parts)
        if not any(lies_below(place, root) is not None for root in (*self._workspace.roots(writing=False), *PRIVATE)):
            raise ToolError(
                f"workdir {spot.path} is outside the workspace {self._workspace.root}. Use a folder inside it; the "
                f"user can allow more with --add-dir {spot.path}.",
                code="outside",
            )
        return place

    def _kept(self) -> AbstractAsyncContextManager[CommandWatch | None]:
        """Around a command that may write: how the files stood before it and after."""
        writes = self._profile.outside or (self._profile.write and not self._profile.reading)
        return self._keeping() if self._keeping and writes else nullcontext()

    async def _run(self, command: str, *, timeout_ms: int, watch: CommandWatch | None, cwd: str) -> FinishedCommand:
        child = await self._spawn(command, watch, cwd=cwd)
        spool = self._outputs.spool(head=KEPT, tail=KEPT) if self._outputs else Spool(head=KEPT, tail=KEPT)
        reader = OutputReader(child, spool, self._report)
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
            reader.end()
            if watch:
                watch.writes = await child.write_record()
            found = self._found(child)
            child.close()
        if interrupted:
            raise Interrupted(self._shown_at_once(spool))
        text, hint = await self._shown(spool)
        if code is not None and child.left:
            what = "1 process it had" if child.left == 1 else f"{child.left} processes it had"
            text += "" if text.endswith("\n") or not text else "\n"
            text += f"[ended {what} left running; use run_in_background to keep one]"
        return FinishedCommand(
            text=text,
            code=code if code is None or code >= 0 else 128 - code,
            size=spool.size,
            timed_out=code is None,
            hint=hint,
            blocked=self._blocked(child, command, code, text, cwd=cwd),
            remark=found,
        )

    async def _shown(self, spool: Spool) -> tuple[str, str]:
        """Return what the model is shown of a command's output and, if that is not all, the words for the rest."""
        text = render_if_whole(spool)
        if text is not None:
            spool.close()
            return text, ""
        hint = await asyncio.to_thread(self._save, spool)
        return self._cut(spool, hint), hint

    def _shown_at_once(self, spool: Spool) -> str:
        """The same for a command that was interrupted, without waiting for a large output to be saved."""
        text = render_if_whole(spool)
        if text is None:
            text = self._cut(spool, self._save(spool) if spool.size <= SAVED_AT_ONCE else NOT_KEPT)
        spool.close()
        return text

    def _cut(self, spool: Spool, hint: str) -> str:
        """Where the text is cut does not depend on the length of a path, so a replay cuts it in the same place."""
        return render_output(spool, hint=PLACE_OF_HINT).replace(PLACE_OF_HINT, hint)

    def _save(self, spool: Spool) -> str:
        """Keep the whole output; return for the model where it is."""
        if self._outputs is None or not isinstance(spool, FileSpool):
            return HINT
        try:
            return self._outputs.save(spool)
        finally:
            spool.close()

    def _found(self, child: Child) -> str:
        """What the command left that its sandbox had to put away."""
        if isinstance(self._spawner, SupervisorSpawner) and isinstance(child, StartedProgram):
            return self._spawner.findings(child)
        return ""

    def _blocked(self, child: Child, command: str, code: int | None, text: str, *, cwd: str) -> Blocked | None:
        """What its box refused a command that failed, or a part of a pipe that cannot tell by its exit code."""
        rules = child.rules if isinstance(child, StartedProgram) else None
        if rules is None or self._workspace.copy or (code == 0 and ("|" not in command or self._profile.reading)):
            return None
        from overt.sandbox.refused_access import find_refusal  # late: 2 ms

        return find_refusal(text, rules, cwd=cwd, failed=code != 0)

    async def start(self, command: str, *, wait_ms: int, workdir: str = "") -> JobOutput:
        self._jobs.check_room()
        cwd = self._folder(workdir)
        async with self._kept() as watch:
            child = await self._spawn(command, watch, cwd=cwd, linger=True)
            output = await self._jobs.adopt(child, command, wait_ms=wait_ms, agent=self._agent)
            if watch:
                watch.writes = await child.write_record()
        if watch and watch.conflict:
            output = replace(output, text="\n".join(filter(None, (output.text.rstrip("\n"), f"[{watch.conflict}]"))))
        return self._mark_given(output)

    async def _spawn(self, command: str, watch: CommandWatch | None, *, cwd: str, linger: bool = False) -> Child:
        return await self._spawner.spawn(
            shell_words(command, self._env),
            cwd=cwd,
            env=self._env,
            profile=self._profile,
            linger=linger,
            track=watch.tracking if watch else None,
        )

    async def jobs(self) -> tuple[JobState, ...]:
        states = self._jobs.list()
        for state in states:
            self._jobs.mark_known(state, self._agent)
        return states

    async def output(self, id: str, *, since: int, tail: int, filter: str) -> JobOutput:
        return self._mark_given(await self._jobs.output(id, since=since, tail=tail, filter=filter))

    async def stop(self, id: str) -> JobState:
        state = await self._jobs.stop(id)
        self._jobs.mark_known(state, self._agent)
        return state

    async def wait(self, id: str, *, since: int, tail: int, filter: str, wait_ms: int) -> JobOutput:
        since = since or self._jobs.given_to(id, self._agent)
        return self._mark_given(await self._jobs.wait(id, since=since, tail=tail, filter=filter, wait_ms=wait_ms))

    def _mark_given(self, output: JobOutput) -> JobOutput:
        self._jobs.mark_known(output.job, self._agent, output.next)
        return output


class NoPrograms:
    """RunPrograms while a call is only being previewed."""

    async def run(self, command: str, *, timeout_ms: int, workdir: str = "") -> FinishedCommand:
        raise _refused()

    async def start(self, command: str, *, wait_ms: int, workdir: str = "") -> JobOutput:
        raise _refused()

    async def jobs(self) -> tuple[JobState, ...]:
        raise _refused()

    async def output(self, id: str, *, since: int, tail: int, filter: str) -> JobOutput:
        raise _refused()

    async def stop(self, id: str) -> JobState:
        raise _refused()

    async def wait(self, id: str, *, since: int, tail: int, filter: str, wait_ms: int) -> JobOutput:
        raise _refused()


class OutputReader:
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
        read_pipe(self._output, self._spool, steps=2 * PIPE // STEP)
        if self._timer:
            self._timer.cancel()

    def _read(self) -> None:
        if not read_pipe(self._output, self._spool):
            self._loop.remove_reader(self._output)
        if self._report and not self._timer:
            self._timer = self._loop.call_later(PROGRESS, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._report:
            self._report("\n".join(plain_text(self._spool.last(2000)).rstrip().split("\n")[-5:]))


def shell_words(command: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Looked for every time, first in the folder that had it the last time."""
    path = env.get("PATH", os.defpath)
    last = _had_bash.get(path)
    for folder in path.split(":") if last is None else (last, *path.split(":")):
        if os.access(f"{folder}/bash", os.X_OK):
            _had_bash[path] = folder
            return ("bash", "-c", command)
    return ("sh", "-c", command)


_had_bash: dict[str, str] = {}


def _refused() -> ToolError:
    return ToolError("programs do not run in a preview", code="denied")
