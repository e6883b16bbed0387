"""A background command that ends is announced once: to the model in a message, to the person in a notice."""

from collections.abc import Iterable

from overt.agent.agent import Agent
from overt.core.capabilities import EndedJob, JobState
from overt.core.events import Noticed, UserSpoke
from overt.core.messages import own_message
from overt.lib.translations import say

LONGEST_COMMAND = 120


def announce_ended_jobs(agent: Agent, *, steered: bool) -> list[UserSpoke | Noticed]:
    """Two events for each job that has ended since the last call. If `steered`, a turn is under way."""
    events: list[UserSpoke | Noticed] = []
    for ended in agent.runtime.hands.ended_jobs():
        job, command = ended.job, _one_line(ended.job.command)
        message = own_message(_describe(ended), "job")
        events.append(UserSpoke(agent=agent.spec.path, message=message, steered=steered))
        if job.state == "stopped":
            notice = say("jobs.was_stopped", id=job.id, command=command)
        else:
            notice = say("jobs.has_ended", id=job.id, command=command, code=job.code)
        events.append(Noticed(agent=agent.spec.path, text=notice, level="warning"))
    return events


def name_lasting_jobs(jobs: Iterable[JobState]) -> list[Noticed]:
    """Say which background commands go on although the user has interrupted the turn."""
    names = ", ".join(f"{job.id} ({_one_line(job.command)})" for job in jobs)
    return [Noticed(text=say("jobs.go_on", jobs=names))] if names else []


def _describe(ended: EndedJob) -> str:
    job = ended.job
    how = "was stopped by the user" if job.state == "stopped" else f"ended with exit code {job.code}"
    last = f"; last line: {ended.last_line}" if ended.last_line else "; it printed nothing"
    return f"{job.id} ({_one_line(job.command)}) {how} after {job.seconds:g} s{last}"


def _one_line(command: str) -> str:
    words = " ".join(command.split())
    return words if len(words) <= LONGEST_COMMAND else f"{words[:LONGEST_COMMAND]}…"
