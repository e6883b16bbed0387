"""Look after background commands."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from overt.core.capabilities import JobState, RunPrograms
from overt.core.errors import ToolError
from overt.core.tool import Outcome, tool
from overt.core.views import Output, Plain

PATIENCE = 120_000
LONGEST = 600_000
OUTPUT = "BashOutput bash_output TaskOutput job_output get_terminal_output command_status"
STOP = "KillShell KillBash kill_shell kill_bash KillTask TaskStop stop_job"


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action: Literal["list", "output", "wait", "stop"]
    id: str = ""
    since: Annotated[int, Meta(description="byte offset", ge=0)] = 0
    tail: Annotated[int, Meta(description="last lines; 0: all", ge=0)] = 0
    filter: Annotated[str, Meta(description="regex for lines")] = ""
    timeout: Annotated[int, Meta(description="ms to wait")] = PATIENCE

    def subjects(self) -> tuple[str, ...]:
        return (self.action,)


@tool(
    order=100,
    aliases=f"{OUTPUT} {STOP} list_jobs write_stdin",
    implied={
        **{alias: {"action": "output"} for alias in OUTPUT.split()},
        **{alias: {"action": "stop"} for alias in STOP.split()},
        "list_jobs": {"action": "list"},
    },
    harmless=("list", "output", "wait"),
)
async def jobs(args: Args, programs: RunPrograms) -> Outcome:
    """List background commands, read the output of one, wait for its end, or stop it. They end with Overt."""
    if args.action == "list":
        text = "\n".join(line(job) for job in await programs.jobs()) or "no jobs"
        return Outcome(text=text, view=Plain(text=text))
    if not args.id:
        raise ToolError(f"{args.action} needs an id; action list shows them", code="invalid")
    if args.action == "stop":
        text = line(await programs.stop(args.id))
        return Outcome(text=text, view=Plain(text=text))
    if args.action == "wait":
        wait_ms = min(max(args.timeout, 1), LONGEST)
        output = await programs.wait(args.id, since=args.since, tail=args.tail, filter=args.filter, wait_ms=wait_ms)
    else:
        output = await programs.output(args.id, since=args.since, tail=args.tail, filter=args.filter)
    text = output.text or "(nothing new)"
    return Outcome(
        text=f"{text}\n[{line(output.job)}; next since={output.next}]",
        view=Output(command=output.job.command, text=output.text, code=output.job.code, note=line(output.job)),
    )


def line(job: JobState) -> str:
    state = job.state if job.code is None else f"{job.state} {job.code}"
    ready = f", ready: {job.ready}" if job.ready else ""
    return f"{job.id} {state}, {job.seconds:g} s, {job.size} bytes{ready}: {job.command}"
