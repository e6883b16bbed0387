"""`/jobs`: the background commands of this session, what they print, and stopping one."""

from overt.app.command_table import Done, misused
from overt.app.conversation import Conversation
from overt.core.effects import JobState
from overt.lib.catalogue import say

TAIL = 40
"""Lines of its output that are shown."""


async def jobs(conversation: Conversation, argument: str) -> Done:
    workspace = conversation.session_workspace
    match argument.split():
        case []:
            return Done(lines=tuple(map(_line, workspace.list_jobs())) or (say("jobs.none"),))
        case ["stop", id]:
            return Done(lines=(_line(await workspace.jobs.stop(id)),))
        case [id]:
            output = await workspace.jobs.output(id, since=0, tail=TAIL, filter="")
            return Done(lines=(_line(output.job), *(output.text.splitlines() or (say("jobs.silent"),))))
        case _:
            raise misused("jobs")


def _line(job: JobState) -> str:
    state = say(f"jobs.{job.state}") + ("" if job.code is None else f" {job.code}")
    return f"{job.id}  {state}, {job.seconds:g} s  {' '.join(job.command.split())}" + (
        f"  → {job.ready}" if job.ready else ""
    )
