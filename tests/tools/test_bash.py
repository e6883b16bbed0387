"""What the model and a person are told of a command."""

import asyncio
from typing import Any

import msgspec
import pytest

from overt.core.capabilities import Blocked, FinishedCommand, JobOutput, JobState
from overt.core.tool import Outcome
from overt.core.views import Output
from overt.tools.bash import Args, bash
from overt.workspace.programs import NoPrograms


class Recorded(NoPrograms):
    """Programs with one answer, which remember what they were asked."""

    def __init__(self, ran: FinishedCommand | None = None, begun: JobOutput | None = None) -> None:
        self.ran = ran
        self.begun = begun
        self.asked: list[tuple[str, int]] = []
        self.workdir = ""

    async def run(self, command: str, *, timeout_ms: int, workdir: str = "") -> FinishedCommand:
        assert self.ran
        self.asked.append((command, timeout_ms))
        self.workdir = workdir
        return self.ran

    async def start(self, command: str, *, wait_ms: int, workdir: str = "") -> JobOutput:
        assert self.begun
        self.asked.append((command, wait_ms))
        self.workdir = workdir
        return self.begun


def ran(text: str, *, code: int | None = 0, timed_out: bool = False) -> FinishedCommand:
    return FinishedCommand(text=text, code=code, size=len(text), timed_out=timed_out)


def outcome(programs: Recorded, **args: Any) -> Outcome:
    async def main() -> Outcome:
        return await bash.run(Args(**args), programs)

    return asyncio.run(main())


def test_a_command_that_went_well_is_only_its_output() -> None:
    programs = Recorded(ran("hello\n"))

    assert outcome(programs, command="greet") == Outcome(
        text="hello", view=Output(command="greet", text="hello", code=0)
    )
    assert programs.asked == [("greet", 120_000)]


def test_silence_is_said() -> None:
    assert outcome(Recorded(ran("")), command="true").text == "(no output)"


def test_a_failure_ends_with_its_exit_code() -> None:
    assert outcome(Recorded(ran("no such file\n", code=2)), command="ls x") == Outcome(
        text="no such file\n[exit code 2]",
        view=Output(command="ls x", text="no such file", code=2, note="exit code 2"),
        ended="exit code 2",
    )


def test_a_timeout_is_named_with_its_length() -> None:
    found = outcome(Recorded(ran("half", code=None, timed_out=True)), command="make", timeout=1500)

    assert found.text == "half\n[timed out after 1.5 s and was killed]"


def job(**fields: Any) -> JobState:
    return JobState(id="job1", command="serve", **fields)


def test_a_background_command_names_its_job_and_what_showed_it_was_up() -> None:
    begun = JobOutput(job=job(state="running", ready="listening on 80"), text="listening on 80\n", next=16)
    programs = Recorded(begun=begun)

    found = outcome(programs, command="serve", run_in_background=True)

    assert found.text == (
        "listening on 80\n[job1 runs in the background, ready: listening on 80; jobs output since=16 shows what comes]"
    )
    assert programs.asked == [("serve", 3000)]


def test_a_background_command_returns_within_three_seconds_whatever_timeout_says() -> None:
    programs = Recorded(begun=JobOutput(job=job(state="exited", code=1, seconds=0.2), text="", next=0))

    found = outcome(programs, command="serve", run_in_background=True, timeout=600_000)

    assert (found.text, programs.asked) == ("[job1 ended with exit code 1 after 0.2 s]", [("serve", 3_000)])


def test_rules_match_the_command_and_the_reason_is_kept_apart() -> None:
    args = Args(command="rm -r build", description="make room")

    assert args.subjects() == ("rm -r build",)
    assert Args(command="rm -r build", workdir="web").subjects() == ("rm -r build", "web")


@pytest.mark.parametrize("background", [False, True])
def test_a_workdir_reaches_the_command(background: bool) -> None:
    programs = Recorded(ran(""), JobOutput(job=job(state="running"), text="", next=0))

    outcome(programs, command="ls", workdir="web", run_in_background=background)

    assert programs.workdir == "web"


def test_what_the_sandbox_blocked_is_said_by_overt() -> None:
    blocked = FinishedCommand(text="x", code=6, size=1, timed_out=False, blocked=Blocked(kind="git", path="a;b"))

    found = outcome(Recorded(blocked), command="curl")

    clause = "write to a;b was blocked by the sandbox: git's configuration and hooks can only be changed by the user"
    assert found.text == f"x\n[exit code 6]\n[overt] {clause}; tell them what to run"
    assert found.view == Output(command="curl", text="x", code=6, note=clause)


def test_the_tool_is_said_in_few_bytes_and_declares_that_it_runs_programs() -> None:
    said = msgspec.json.encode([bash.spec.name, bash.spec.description, bash.spec.schema])

    assert len(said) <= 760
    assert bash.effects == frozenset({"run"})
