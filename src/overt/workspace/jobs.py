"""The background commands of one session: their output by offset, when they are up, how they end."""

import asyncio
import re
import subprocess
import time
from typing import Literal

from overt.core.capabilities import EndedJob, JobOutput, JobState
from overt.core.errors import ToolError
from overt.core.protocols import Child
from overt.lib.logs.background import log_failure
from overt.lib.result_limit import current_limit
from overt.sandbox.launch.supervisor_process import PYTHON
from overt.workspace.output_text import Spool, complete_length, plain_text, read_pipe

HEAD = 64 * 1024
TAIL = 1024 * 1024
MOST_RUNNING = 32
MOST_KEPT = 64
LONGEST_WAIT = 30_000
SILENCE = 1.0
STOP_GRACE = 2.0
LONGEST_LINE = 2000
LAST_LINE = 200
SEARCHED = 256 * 1024
HINT = "ask with since, tail or filter for the rest"
READY = (
    r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])"
    r"|\blistening (?:on|at|for)\b|\bready (?:in|on|for|to)\b|\bstarted server\b|\bwatching (?:for|\S+ for|files)\b"
    r"|\bserver (?:is )?(?:now )?(?:running|started|ready|up|listening)\b|\brunning (?:on|at) (?:port|http)"
    r"|\baccepting connections\b|\bcompiled successfully\b|\bserving (?:http )?(?:on|at)\b|\bon port \d+"
)

FILTER_WITHIN = 5.0
FILTER = """import re, sys
wanted = re.compile(sys.argv[1])
lines = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\\n")
print(*(number for number, line in enumerate(lines) if wanted.search(line)))"""


class BackgroundJob:
    """One background command, started by `agent`; changed only by its own child and by `stop`.

    `given` counts the bytes of its output that the model of each agent has seen. `end_known`: the model of the agent
    that started it knows that it has ended.
    """

    def __init__(self, id: str, agent: str, command: str, child: Child) -> None:
        self.id = id
        self.agent = agent
        self.command = command
        self.child = child
        self.spool = Spool(head=HEAD, tail=TAIL)
        self.ready = ""
        self.code: int | None = None
        self.state: Literal["running", "exited", "stopped"] = "running"
        self.heard = 0.0
        self.given: dict[str, int] = {}
        self.end_known = False
        self.changed = asyncio.Event()
        self._begun = time.monotonic()
        self._seconds = 0.0
        self._searched = 0
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(child.output, self._read)
        self.ending = asyncio.create_task(self._await_end())
        self.ending.add_done_callback(log_failure("jobs"))

    def shown(self) -> JobState:
        running = self.state == "running"
        return JobState(
            id=self.id,
            command=self.command,
            state=self.state,
            code=self.code,
            size=self.spool.size,
            seconds=round(time.monotonic() - self._begun if running else self._seconds, 1),
            ready=self.ready,
        )

    async def stop(self, grace: float) -> None:
        if self.state == "running":
            self.state = "stopped"
            self._seconds = time.monotonic() - self._begun
            try:
                await self.child.kill(grace=grace)
                await asyncio.wait([self.ending], timeout=0.2)  # it takes the last output
            finally:
                self.child.close()
        await asyncio.wait([self.ending])

    async def _await_end(self) -> None:
        code = await self.child.wait()
        if self.state == "running":
            self.state = "exited"
            self.code = code if code >= 0 else 128 - code
            self._seconds = time.monotonic() - self._begun
        if self.child.output >= 0:
            self._loop.remove_reader(self.child.output)
            read_pipe(self.child.output, self.spool, steps=8)
            self._look()
        self.child.close()
        self.changed.set()

    def _read(self) -> None:
        if not read_pipe(self.child.output, self.spool):
            self._loop.remove_reader(self.child.output)
        self.heard = time.monotonic()
        self._look()
        self.changed.set()

    def _look(self) -> None:
        """Search the whole lines that have come since the last look, while they are still few."""
        if self.ready or self.spool.size > SEARCHED:
            return
        head, lost, tail = self.spool.since(self._searched)
        fresh = (head if lost else head + tail).rpartition(b"\n")[0]
        self._searched += len(fresh)
        for line in plain_text(fresh).split("\n"):
            if re.search(READY, line[:LONGEST_LINE], re.IGNORECASE):
                self.ready = line.strip()[:200]
                return


class Jobs:
    """The job table of one session, shared by its agents. Everything in it ends with `close`."""

    def __init__(self) -> None:
        self._jobs: dict[str, BackgroundJob] = {}
        self._count = 0

    def check_room(self) -> None:
        running = [job.id for job in self._jobs.values() if job.state == "running"]
        if len(running) >= MOST_RUNNING:
            raise ToolError(f"{len(running)} jobs are running; stop one of them first: {', '.join(running)}")

    async def adopt(self, child: Child, command: str, *, wait_ms: int, agent: str = "main") -> JobOutput:
        """Take in a child that `agent` has started. Wait until it looks ready, ends, falls silent, or time is up."""
        self._count += 1
        job = BackgroundJob(f"job{self._count}", agent, command, child)
        self._jobs[job.id] = job
        self._forget_oldest()
        try:
            await _settled(job, min(wait_ms, LONGEST_WAIT) / 1000)
        except asyncio.CancelledError:
            del self._jobs[job.id]
            await job.stop(0.0)
            raise
        return await self.output(job.id, since=0, tail=0, filter="")

    def list(self) -> tuple[JobState, ...]:
        return tuple(job.shown() for job in self._jobs.values())

    def take_ended(self, agent: str = "main") -> tuple[EndedJob, ...]:
        """Return the jobs of an agent that have ended without its model knowing; each is returned once."""
        jobs = [job for job in self._jobs.values() if job.agent == agent]
        ended = [job for job in jobs if job.state != "running" and not job.end_known]
        for job in ended:
            job.end_known = True
        return tuple(EndedJob(job=job.shown(), last_line=_last_line(job.spool)) for job in ended)

    def mark_known(self, shown: JobState, agent: str, upto: int | None = None) -> None:
        """Note that the model of an agent has seen this state of a job, and its output up to byte `upto`."""
        if job := self._jobs.get(shown.id):
            job.end_known |= shown.state != "running" and job.agent == agent
            if upto is not None:
                job.given[agent] = upto

    def given_to(self, id: str, agent: str) -> int:
        """Return how many bytes of a job's output the model of an agent has seen."""
        return self._job(id).given.get(agent, 0)

    async def wait(self, id: str, *, since: int, tail: int, filter: str, wait_ms: int) -> JobOutput:
        """Wait for the end of a job, then return its output from `since` on."""
        job = self._job(id)
        deadline = asyncio.get_running_loop().time() + wait_ms / 1000
        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.wait([job.ending])
        except TimeoutError:
            pass  # what has come until now is given
        return await self.output(id, since=since, tail=tail, filter=filter)

    async def output(self, id: str, *, since: int, tail: int, filter: str) -> JobOutput:
        """Lines from byte `since` on that match `filter`, the last `tail` of them (0: all)."""
        job = self._job(id)
        before, lost, after = job.spool.since(since)
        end = job.spool.size
        if job.state == "running":
            last = after or before
            cut = len(last) - complete_length(last)
            end -= cut
            before, after = (before, after[: len(after) - cut]) if after else (before[: len(before) - cut], b"")
        if lost:
            upto, onward = before.rfind(b"\n") + 1, after.find(b"\n") + 1  # no half lines beside the gap
            lost += len(before) - upto + onward
            lines = [*_lines(before[:upto]), f"[... {lost} bytes are no longer kept ...]", *_lines(after[onward:])]
        else:
            lines = _lines(before + after)
        if filter:
            lines = await asyncio.to_thread(_matching, lines, filter)
        lines = lines[-tail:] if tail > 0 else lines
        return JobOutput(job=job.shown(), text=current_limit().body().clip("\n".join(lines), HINT), next=max(end, 0))

    async def stop(self, id: str) -> JobState:
        job = self._job(id)
        await job.stop(STOP_GRACE)
        return job.shown()

    async def close(self) -> None:
        jobs = tuple(self._jobs.values())
        await asyncio.gather(*(job.stop(0.0) for job in jobs))
        self._jobs.clear()

    def _job(self, id: str) -> BackgroundJob:
        if id not in self._jobs:
            known = ", ".join(self._jobs) or "there are none"
            raise ToolError(f"no job is called {id!r}; jobs: {known}", code="missing")
        return self._jobs[id]

    def _forget_oldest(self) -> None:
        ended = [id for id, job in self._jobs.items() if job.state != "running"]
        for id in ended[: max(len(self._jobs) - MOST_KEPT, 0)]:
            del self._jobs[id]


async def _settled(job: BackgroundJob, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while job.state == "running" and not job.ready:
        until = min(deadline, job.heard + SILENCE) if job.heard else deadline
        if loop.time() >= until:
            return
        job.changed.clear()
        try:
            async with asyncio.timeout_at(until):
                await job.changed.wait()
        except TimeoutError:
            pass  # looked at again above


def _last_line(spool: Spool) -> str:
    lines = plain_text(spool.last(LONGEST_LINE)).rstrip().split("\n")
    return lines[-1].strip()[:LAST_LINE]


def _lines(data: bytes) -> list[str]:
    return plain_text(data).removesuffix("\n").split("\n") if data else []


def _matching(lines: list[str], filter: str) -> list[str]:
    """In a process of its own, because some patterns take for ever and hold everything else up meanwhile."""
    try:
        re.compile(filter)
    except re.error as error:
        raise ToolError(f"filter is not a regular expression: {error}", code="invalid") from error
    shortened = "\n".join(line[:LONGEST_LINE].replace("\r", " ") for line in lines)
    try:
        done = subprocess.run(
            [PYTHON, "-I", "-S", "-c", FILTER, filter],
            input=shortened.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=FILTER_WITHIN,
        )
    except subprocess.TimeoutExpired:
        message = f"the filter took longer than {FILTER_WITHIN:g} s; use a simpler one"
        raise ToolError(message, code="invalid") from None
    return [lines[int(number)] for number in done.stdout.split()]
