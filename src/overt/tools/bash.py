"""Run a shell command."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import FinishedCommand, JobOutput, RunPrograms
from overt.core.tool import Outcome, tool
from overt.core.views import Output

PATIENCE = 120_000
READY_WAIT = 3_000


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    command: str
    timeout: Annotated[int, Meta(description="ms; not for background", ge=1, le=600_000)] = PATIENCE
    workdir: str = ""
    run_in_background: Annotated[bool, Meta(description="servers, watchers; then see jobs")] = False
    description: Annotated[str, Meta(description="Why, in a few words")] = ""
    network: Annotated[str, Meta(description="Why it needs the network")] = ""

    def subjects(self) -> tuple[str, ...]:
        return (self.command, self.workdir) if self.workdir else (self.command,)


@tool(
    order=90,
    aliases="Bash shell run_command run_shell_command execute_command run_terminal_cmd exec exec_command terminal "
    "local_shell execute_bash run_bash Shell run_in_terminal execute_shell shell_exec shell_command bash_command "
    "run_shell runCommand run_terminal_command command container.exec exec_shell sh cmd execute run_commands",
    permission="bash",
    advice="put a long script into a file with write, then run it",
)
async def bash(args: Args, programs: RunPrograms) -> Outcome:
    """Run a shell command in the workspace root; each starts afresh. Prefer read, grep, glob and edit to cat,
    grep, find and sed. Nothing can be typed in: no editors, pagers or prompts. Long output is cut in the
    middle. What a command leaves running is ended with it."""
    if args.run_in_background:
        return _started(await programs.start(args.command, wait_ms=READY_WAIT, workdir=args.workdir))
    return _finished(args, await programs.run(args.command, timeout_ms=args.timeout, workdir=args.workdir))


def _finished(args: Args, finished: FinishedCommand) -> Outcome:
    note = ""
    if finished.timed_out:
        note = f"timed out after {args.timeout / 1000:g} s and was killed"
    elif finished.code:
        note = f"exit code {finished.code}"
    text = finished.text.rstrip("\n")
    blocked = f"[overt] {finished.blocked.advise()}" if finished.blocked else ""
    remark = f"[{finished.remark}]" if finished.remark else ""
    lines = [line for line in (text, f"[{note}]" if note else "", blocked, remark) if line]
    shown = finished.blocked.describe() if finished.blocked else note
    return Outcome(
        text="\n".join(lines) or "(no output)",
        view=Output(command=args.command, text=text, code=finished.code, note=shown, hint=finished.hint),
        blocked=finished.blocked,
        ended=note,
    )


def _started(begun: JobOutput) -> Outcome:
    job = begun.job
    if job.state == "running":
        note = f"{job.id} runs in the background" + (f", ready: {job.ready}" if job.ready else "")
    else:
        note = f"{job.id} ended with exit code {job.code} after {job.seconds:g} s"
    text = begun.text.rstrip("\n")
    later = f"; jobs output since={begun.next} shows what comes" if job.state == "running" else ""
    return Outcome(
        text="\n".join(line for line in (text, f"[{note}{later}]") if line),
        view=Output(command=job.command, text=text, code=job.code, note=note),
    )
