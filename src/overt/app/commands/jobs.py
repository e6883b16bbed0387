"""`/jobs`: the background commands of this session, what they print, and stopping one."""

from collections.abc import Sequence

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import JobListing
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.core.capabilities import JobOutput, JobState
from overt.lib.translations import say

TAIL, PANEL_TAIL = 40, 2000
"""Lines of a job's output that are shown, in the chat and in the inspector."""


async def jobs(conversation: Conversation, argument: str) -> CommandOutcome:
    workspace = conversation.session_workspace
    match argument.split():
        case []:
            return CommandOutcome(lines=tuple(map(_line, workspace.list_jobs())) or (say("jobs.none"),))
        case ["stop", id]:
            return CommandOutcome(lines=(_line(await workspace.jobs.stop(id)),))
        case [id]:
            output = await workspace.jobs.output(id, since=0, tail=TAIL, filter="")
            return CommandOutcome(lines=(_line(output.job), *(output.text.splitlines() or (say("jobs.silent"),))))
        case _:
            raise COMMAND.usage_error()


def _line(job: JobState) -> str:
    state = say(f"jobs.{job.state}") + ("" if job.code is None else f" {job.code}")
    return f"{job.id}  {state}, {job.seconds:g} s  {' '.join(job.command.split())}" + (
        f"  → {job.ready}" if job.ready else ""
    )


async def offers(facts: CompletionFacts, argument: str) -> Sequence[Offer]:
    known = facts.conversation.session_workspace.list_jobs()
    if argument.startswith("stop "):
        return [Offer(f"stop {job.id}", job.command, job.id) for job in known if job.state == "running"]
    stop = [Offer("stop", say("tui.complete.stop"), more=True)] if any(job.state == "running" for job in known) else []
    return [*(Offer(job.id, job.command, also=job.command) for job in known), *stop]


async def list_jobs(conversation: Conversation, _text: str, _number: int) -> JobListing:
    newest = conversation.session_workspace.list_jobs()[::-1]
    running = (job for job in newest if job.state == "running")
    return JobListing((*running, *(job for job in newest if job.state != "running")))


async def show_job(conversation: Conversation, id: str, _number: int) -> JobOutput:
    return await conversation.session_workspace.jobs.output(id, since=0, tail=PANEL_TAIL, filter="")


async def stop_job(conversation: Conversation, id: str, _number: int) -> JobState:
    return await conversation.session_workspace.jobs.stop(id)


COMMAND = Command(
    name="jobs",
    run=jobs,
    usage="[ID | stop ID]",
    aliases=("tasks",),
    order=170,
    anytime=True,
    panel="jobs",
    complete=offers,
    queries={"jobs": list_jobs, "job": show_job, "stop": stop_job},
)
