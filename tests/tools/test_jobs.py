"""What the model and a person are told of background jobs."""

import asyncio
from typing import Any

import msgspec
import pytest

from overt.core.capabilities import JobOutput, JobState
from overt.core.errors import ToolError
from overt.core.tool import Outcome
from overt.core.views import Output, Plain
from overt.tools.jobs import Args, jobs
from overt.workspace.programs import NoPrograms

SERVER = JobState(id="job1", command="serve", state="running", size=16, seconds=2.5, ready="listening on 80")
FAILED = JobState(id="job2", command="make", state="exited", code=2, size=9, seconds=1.0)


class Table(NoPrograms):
    def __init__(self, *states: JobState) -> None:
        self.states = states
        self.asked: list[tuple[str, int, int, str]] = []
        self.waited = 0

    async def jobs(self) -> tuple[JobState, ...]:
        return self.states

    async def output(self, id: str, *, since: int, tail: int, filter: str) -> JobOutput:
        self.asked.append((id, since, tail, filter))
        return JobOutput(job=SERVER, text="" if since else "listening on 80", next=16)

    async def wait(self, id: str, *, since: int, tail: int, filter: str, wait_ms: int) -> JobOutput:
        self.waited = wait_ms
        return JobOutput(job=FAILED, text="no rule", next=9)

    async def stop(self, id: str) -> JobState:
        return JobState(id=id, command="serve", state="stopped", size=16, seconds=3.0)


def outcome(programs: Table, **args: Any) -> Outcome:
    async def main() -> Outcome:
        return await jobs.run(Args(**args), programs)

    return asyncio.run(main())


def test_jobs_are_listed_one_to_a_line() -> None:
    text = "job1 running, 2.5 s, 16 bytes, ready: listening on 80: serve\njob2 exited 2, 1 s, 9 bytes: make"

    assert outcome(Table(SERVER, FAILED), action="list") == Outcome(text=text, view=Plain(text=text))


def test_an_empty_list_says_so() -> None:
    assert outcome(Table(), action="list").text == "no jobs"


def test_output_ends_with_how_the_job_stands_and_where_to_read_on() -> None:
    programs = Table(SERVER)
    state = "job1 running, 2.5 s, 16 bytes, ready: listening on 80: serve"

    found = outcome(programs, action="output", id="job1", tail=5, filter="on")

    assert found == Outcome(
        text=f"listening on 80\n[{state}; next since=16]",
        view=Output(command="serve", text="listening on 80", note=state),
    )
    assert programs.asked == [("job1", 0, 5, "on")]


def test_nothing_new_is_said() -> None:
    assert outcome(Table(SERVER), action="output", id="job1", since=16).text.startswith("(nothing new)\n[job1 running")


def test_stopping_tells_how_the_job_stands() -> None:
    assert outcome(Table(SERVER), action="stop", id="job1").text == "job1 stopped, 3 s, 16 bytes: serve"


@pytest.mark.parametrize(("asked", "waited"), [({}, 120_000), ({"timeout": 50}, 50), ({"timeout": 10**9}, 600_000)])
def test_waiting_ends_with_how_the_job_stands(asked: dict[str, int], waited: int) -> None:
    programs = Table(FAILED)

    found = outcome(programs, action="wait", id="job2", **asked)

    assert found.text == "no rule\n[job2 exited 2, 1 s, 9 bytes: make; next since=9]"
    assert programs.waited == waited


@pytest.mark.parametrize("action", ["output", "wait", "stop"])
def test_an_action_on_no_job_says_what_is_missing(action: str) -> None:
    with pytest.raises(ToolError) as caught:
        outcome(Table(), action=action)

    assert (caught.value.message, caught.value.code) == (f"{action} needs an id; action list shows them", "invalid")


def test_the_tool_is_said_in_few_bytes() -> None:
    said = msgspec.json.encode([jobs.spec.name, jobs.spec.description, jobs.spec.schema])

    assert len(said) <= 560
    assert Args(action="stop", id="job1").subjects() == ("stop",)
