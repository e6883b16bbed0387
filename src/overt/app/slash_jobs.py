"""`/jobs`: the background commands of this conversation, what they print, and stopping one."""

from overt.app.command_table import Done, misused
from overt.app.conversation import Conversation
from overt.core.effects import JobState, RunPrograms
from overt.lib.catalogue import say

TAIL = 40
"""Lines of its output that are shown."""


async def jobs(conversation: Conversation, argument: str) -> Done:
    programs: RunPrograms = conversation.agent.hands.lend("", {"programs": "run"}).capabilities["programs"]
    match argument.split():
        case []:
            return Done(lines=tuple(map(_line, await programs.jobs())) or (say("jobs.none"),))
        case ["stop", id]:
            return Done(lines=(_line(await programs.stop(id)),))
        case [id]:
            found = await programs.output(id, since=0, tail=TAIL, filter="")
            return Done(lines=(_line(found.job), *(found.text.splitlines() or (say("jobs.silent"),))))
        case _:
            raise misused("jobs")


def _line(job: JobState) -> str:
    state = say(f"jobs.{job.state}") + ("" if job.code is None else f" {job.code}")
    return f"{job.id}  {state}, {job.seconds:g} s  {' '.join(job.command.split())}" + (
        f"  → {job.ready}" if job.ready else ""
    )
