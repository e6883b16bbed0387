"""Background jobs: when they are up, what they print, how they end."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from tests.workspace.programs_kit import PROFILE, Bench, gone, opened

from overt.core.capabilities import JobOutput
from overt.core.errors import ToolError
from overt.workspace.programs import Programs

T = TypeVar("T")


def with_jobs(cwd: Path, act: Callable[[Bench], Awaitable[T]]) -> T:
    async def main() -> T:
        async with asyncio.timeout(60), opened(cwd) as bench:
            return await act(bench)

    return asyncio.run(main())


async def until_size(bench: Bench, size: int, id: str = "job1") -> JobOutput:
    while (found := await bench.programs.output(id, since=0, tail=0, filter="")).job.size < size:
        await asyncio.sleep(0.01)
    return found


READY = [
    "Server listening on port 8080",
    "  ➜  Local:   http://localhost:5173/",
    "ready in 250 ms",
    "started server on 0.0.0.0:3000, url: http://localhost:3000",
    "Watching for file changes",
    "database system is ready to accept connections",
    "Serving HTTP on 0.0.0.0 port 8000",
    "webpack compiled successfully",
]


@pytest.mark.parametrize("line", READY)
def test_a_job_is_ready_when_a_line_says_so(tmp_path: Path, line: str) -> None:
    async def act(bench: Bench) -> JobOutput:
        return await bench.programs.start(f"echo compiling; echo '{line}'; sleep 60", wait_ms=30_000)

    begun = with_jobs(tmp_path, act)

    assert (begun.job.id, begun.job.state, begun.job.code, begun.job.ready) == ("job1", "running", None, line.strip())
    assert begun.text == f"compiling\n{line}"
    assert begun.next == begun.job.size == len(f"compiling\n{line}\n".encode())


def test_a_real_server_is_ready_at_its_address(tmp_path: Path) -> None:
    async def act(bench: Bench) -> JobOutput:
        command = f"{sys.executable} -u -m http.server --bind 127.0.0.1 0"
        return await bench.programs.start(command, wait_ms=30_000)

    assert with_jobs(tmp_path, act).job.ready.startswith("Serving HTTP on 127.0.0.1 port ")


def test_starting_does_not_wait_for_a_job_that_ends_at_once(tmp_path: Path) -> None:
    async def act(bench: Bench) -> JobOutput:
        return await bench.programs.start("echo broken; exit 7", wait_ms=30_000)

    begun = with_jobs(tmp_path, act)

    assert (begun.text, begun.job.state, begun.job.code) == ("broken", "exited", 7)


def test_starting_stops_waiting_when_a_job_has_fallen_silent(tmp_path: Path) -> None:
    async def act(bench: Bench) -> JobOutput:
        return await bench.programs.start("echo working; sleep 60", wait_ms=30_000)

    begun = with_jobs(tmp_path, act)

    assert (begun.text, begun.job.state, begun.job.ready) == ("working", "running", "")
    assert begun.job.seconds < 20


def test_starting_waits_no_longer_than_it_was_told(tmp_path: Path) -> None:
    async def act(bench: Bench) -> JobOutput:
        return await bench.programs.start("sleep 60", wait_ms=100)

    begun = with_jobs(tmp_path, act)

    assert (begun.text, begun.next, begun.job.state) == ("", 0, "running")


def test_output_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    async def act(bench: Bench) -> list[tuple[str, int]]:
        command = "echo ready to go; while [ ! -e go ]; do sleep 0.01; done; printf 'käse\\nlast\\n'; sleep 60"
        first = await bench.programs.start(command, wait_ms=30_000)
        (tmp_path / "go").touch()
        await until_size(bench, len("ready to go\nkäse\nlast\n".encode()))
        second = await bench.programs.output("job1", since=first.next, tail=0, filter="")
        third = await bench.programs.output("job1", since=second.next, tail=0, filter="")
        return [(it.text, it.next) for it in (first, second, third)]

    assert with_jobs(tmp_path, act) == [("ready to go", 12), ("käse\nlast", 23), ("", 23)]


def test_half_a_character_is_left_for_the_next_time(tmp_path: Path) -> None:
    async def act(bench: Bench) -> tuple[str, int]:
        await bench.programs.start("printf 'ready to go\\nk\\xc3'; sleep 60", wait_ms=30_000)
        found = await until_size(bench, 14)
        return found.text, found.next

    assert with_jobs(tmp_path, act) == ("ready to go\nk", 13)


def test_tail_and_filter_choose_lines(tmp_path: Path) -> None:
    async def act(bench: Bench) -> list[str]:
        await bench.programs.start("seq 1 30; echo ready to go; sleep 60", wait_ms=30_000)
        asked = [(2, ""), (0, "^1[0-3]$"), (1, "^2"), (0, "absent")]
        found = [await bench.programs.output("job1", since=0, tail=tail, filter=it) for tail, it in asked]
        return [it.text for it in found]

    assert with_jobs(tmp_path, act) == ["30\nready to go", "10\n11\n12\n13", "29", ""]


def test_a_talkative_job_keeps_its_ends_and_says_what_it_dropped(tmp_path: Path) -> None:
    async def act(bench: Bench) -> tuple[JobOutput, JobOutput]:
        await bench.programs.start("seq 1 1000000; sleep 60", wait_ms=10)
        size = sum(len(f"{number}\n") for number in range(1, 1_000_001))
        whole = await until_size(bench, size)
        return whole, await bench.programs.output("job1", since=0, tail=0, filter=r"^1$|no longer kept|^1000000$")

    whole, chosen = with_jobs(tmp_path, act)
    first, dropped, last = chosen.text.split("\n")

    assert (first, last, chosen.next) == ("1", "1000000", whole.job.size)
    assert dropped.startswith("[... ") and dropped.endswith(" bytes are no longer kept ...]")
    assert whole.text.startswith("1\n2\n") and whole.text.endswith("\n1000000")
    assert len(whole.text.encode()) <= 32 * 1024


def test_a_bad_filter_and_an_unknown_job_are_explained(tmp_path: Path) -> None:
    async def act(bench: Bench) -> list[tuple[str, str]]:
        await bench.programs.start("sleep 60", wait_ms=10)
        said = []
        for id, filter in (("job1", "("), ("job9", "")):
            with pytest.raises(ToolError) as caught:
                await bench.programs.output(id, since=0, tail=0, filter=filter)
            said.append((caught.value.code, caught.value.message))
        return said

    assert with_jobs(tmp_path, act) == [
        ("invalid", "filter is not a regular expression: missing ), unterminated subpattern at position 0"),
        ("missing", "no job is called 'job9'; jobs: job1"),
    ]


def test_stopping_asks_first_and_then_kills(tmp_path: Path) -> None:
    async def act(bench: Bench) -> tuple[Sequence[str], list[str], list[str]]:
        await bench.programs.start(
            "trap 'echo bye; exit 0' TERM; echo ready to go; while :; do sleep 0.05; done", wait_ms=30_000
        )
        await bench.programs.start(
            "trap '' TERM; echo ready to go; setsid sleep 60 & while :; do sleep 0.05; done", wait_ms=30_000
        )
        stopped = [(await bench.programs.stop(id)).state for id in ("job1", "job2", "job2")]
        texts = [(await bench.programs.output(id, since=0, tail=0, filter="")).text for id in ("job1", "job2")]
        return stopped, texts, bench.alive()

    stopped, texts, left = with_jobs(tmp_path, act)

    assert (stopped, left) == (["stopped"] * 3, [])
    assert [text.split("\n")[-1] for text in texts] == ["bye", "ready to go"]


def test_a_declared_daemon_lives_on_after_its_shell_and_counts_as_running(tmp_path: Path) -> None:
    async def act(bench: Bench) -> tuple[Sequence[str], int, list[str]]:
        await bench.programs.start("setsid sleep 60 & echo ready to go", wait_ms=30_000)
        while len(bench.alive()) > 1:  # the shell
            await asyncio.sleep(0.01)
        states = [job.state for job in await bench.programs.jobs()]
        living = len(bench.alive())
        await bench.programs.stop("job1")
        return states, living, bench.alive()

    assert with_jobs(tmp_path, act) == (["running"], 1, [])


def test_jobs_are_listed_in_order_with_how_they_stand(tmp_path: Path) -> None:
    async def act(bench: Bench) -> list[tuple[str, str, str, int | None, int]]:
        for command in ("exit 3", "echo listening on 80; sleep 60", "echo listening on 81; sleep 60"):
            await bench.programs.start(command, wait_ms=30_000)
        await bench.programs.stop("job3")
        return [(it.id, it.state, it.ready, it.code, it.size) for it in await bench.programs.jobs()]

    assert with_jobs(tmp_path, act) == [
        ("job1", "exited", "", 3, 0),
        ("job2", "running", "listening on 80", None, 16),
        ("job3", "stopped", "listening on 81", None, 16),
    ]


def test_cancelling_a_start_ends_the_job(tmp_path: Path) -> None:
    async def act(bench: Bench) -> tuple[int, list[str]]:
        task = asyncio.create_task(bench.programs.start("touch up; sleep 60", wait_ms=30_000))
        while not (tmp_path / "up").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(await bench.programs.jobs()), bench.alive()

    assert with_jobs(tmp_path, act) == (0, [])


def test_closing_the_table_ends_every_job(tmp_path: Path) -> None:
    async def act(bench: Bench) -> list[str]:
        for _ in range(3):
            await bench.programs.start("trap '' TERM; setsid sleep 60 & sleep 60", wait_ms=10)
        await bench.jobs.close()
        return gone(bench.alive)

    assert with_jobs(tmp_path, act) == []


def test_too_many_jobs_are_refused_before_they_start(tmp_path: Path) -> None:
    async def act(bench: Bench) -> str:
        await asyncio.gather(*(bench.programs.start("sleep 60", wait_ms=10) for _ in range(32)))
        with pytest.raises(ToolError) as caught:
            await bench.programs.start("touch started", wait_ms=30_000)
        return caught.value.message.partition(":")[0]

    assert with_jobs(tmp_path, act) == "32 jobs are running; stop one of them first"
    assert list(tmp_path.iterdir()) == []


def test_waiting_returns_at_the_end_with_what_was_not_given_yet(tmp_path: Path) -> None:
    async def main() -> tuple[JobOutput, JobOutput]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            programs = bench.programs
            await programs.start(
                "echo listening on 80; while [ ! -e go ]; do sleep 0.01; done; echo done", wait_ms=30_000
            )
            short = await programs.wait("job1", since=0, tail=0, filter="", wait_ms=50)
            (tmp_path / "go").touch()
            return short, await programs.wait("job1", since=0, tail=0, filter="", wait_ms=30_000)

    short, whole = asyncio.run(main())
    assert (short.text, short.job.state) == ("", "running")
    assert (whole.text, whole.job.state, whole.job.code) == ("done", "exited", 0)


def test_an_interruption_ends_the_waiting_and_not_the_job(tmp_path: Path) -> None:
    async def main() -> str:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            await bench.programs.start("echo listening on 80; sleep 60", wait_ms=30_000)
            waiting = asyncio.create_task(bench.jobs.wait("job1", since=0, tail=0, filter="", wait_ms=600_000))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            return bench.jobs.list()[0].state

    assert asyncio.run(main()) == "running"


def test_an_end_is_news_once_and_only_if_the_model_has_not_seen_it(tmp_path: Path) -> None:
    async def main() -> list[tuple[str, int | None, str]]:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            programs = bench.programs
            await programs.start("echo gone at once", wait_ms=30_000)  # its result tells of the end
            waits = "echo listening on 80; while [ ! -e go ]; do sleep 0.01; done"
            for command in (f"{waits}; printf 'last\\n\\n'; exit 3", waits, waits, waits, "echo ready on 1; sleep 60"):
                await programs.start(command, wait_ms=30_000)
            assert bench.jobs.take_ended() == ()
            (tmp_path / "go").touch()
            await programs.wait("job3", since=0, tail=0, filter="", wait_ms=30_000)
            for id in ("job2", "job4", "job5"):
                await bench.jobs.wait(id, since=0, tail=0, filter="", wait_ms=30_000)
            await programs.output("job4", since=0, tail=0, filter="")
            await bench.jobs.output("job5", since=0, tail=0, filter="")  # the user looks, not the model
            await bench.jobs.stop("job6")
            news = bench.jobs.take_ended()
            assert bench.jobs.take_ended() == ()
            return [(ended.job.id, ended.job.code, ended.last_line) for ended in news]

    assert asyncio.run(main()) == [
        ("job2", 3, "last"),
        ("job5", 0, "listening on 80"),
        ("job6", None, "ready on 1"),
    ]


def test_agents_of_a_session_share_its_jobs_and_each_is_told_of_its_own(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            explorer = Programs(bench.services, profile=PROFILE, agent="main/explore-1")
            waits = "echo listening on 80; while [ ! -e go ]; do sleep 0.01; done; echo over"
            await bench.programs.start(waits, wait_ms=30_000)
            await explorer.start(waits, wait_ms=30_000)
            (tmp_path / "go").touch()
            for id in ("job1", "job2"):
                await bench.jobs.wait(id, since=0, tail=0, filter="", wait_ms=30_000)
            assert [job.id for job in await explorer.jobs()] == ["job1", "job2"]
            seen_by_other = await explorer.wait("job1", since=0, tail=0, filter="", wait_ms=30_000)
            rest = await bench.programs.wait("job1", since=0, tail=0, filter="", wait_ms=30_000)
            assert (seen_by_other.text, rest.text) == ("listening on 80\nover", "over")
            assert bench.jobs.take_ended("main/explore-1") == ()

    asyncio.run(main())


def test_a_job_that_another_agent_has_looked_at_is_still_news_for_its_own(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), opened(tmp_path) as bench:
            explorer = Programs(bench.services, profile=PROFILE, agent="main/explore-1")
            await bench.programs.start("echo listening on 80; while [ ! -e go ]; do sleep 0.01; done", wait_ms=30_000)
            (tmp_path / "go").touch()
            await explorer.wait("job1", since=0, tail=0, filter="", wait_ms=30_000)
            assert bench.jobs.take_ended("main/explore-1") == ()
            assert [ended.job.id for ended in bench.jobs.take_ended("main")] == ["job1"]

    asyncio.run(main())
