"""A repository of a hundred thousand files, a long turn, and a model that never stops failing the same way."""

import os
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place, call, calls, results

MOST_MEMORY = 200 * 1024
"""Kilobytes."""


def fill(folder: Path, count: int) -> None:
    for start in range(0, count, 1000):
        inner = folder / f"d{start // 1000:03}"
        inner.mkdir()
        for number in range(start, min(start + 1000, count)):
            os.close(os.open(inner / f"f{number}.txt", os.O_CREAT | os.O_WRONLY, 0o644))
    (folder / "d000" / "f7.txt").write_text("needle\n")


def peak(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def look_around(place: Place, count: int) -> None:
    fill(place.work, count)
    turns = [
        calls(call("glob", pattern="**/*.txt", limit=10)),
        calls(call("grep", pattern="needle")),
        calls(call("list", path=".")),
        Turn(text="seen"),
    ]
    running: list[int] = []
    peaks: list[int] = []

    def choose(_: Recorded, number: int) -> Turn:
        """The peak is asked of the kernel while the program waits for its reply: afterwards it would be gone, and what
        `wait4` tells includes the memory of whoever started it."""
        if running:
            peaks.append(peak(running[0]))
        return turns[number]

    with ModelServer(choose=choose) as server, place.started("run", "look", server=server) as child:
        running.append(child.pid)
        assert child.stdout is not None and child.stdout.read() == b"seen\n"
        assert child.wait() == 0
        found, matched, listed = results(server)
    assert 0 < peaks[-1] < MOST_MEMORY
    assert len(found.splitlines()) == 11
    assert matched == "d000/f7.txt:1:needle"
    assert "d000/" in listed


def test_a_headless_run_takes_three_hundred_steps_without_a_flag(place: Place) -> None:
    count = 300
    (place.work / "a.txt").write_text("".join(f"line {number}\n" for number in range(count)))

    def choose(_: Recorded, number: int) -> Turn:
        return calls(call("read", path="a.txt", offset=number + 1, limit=1)) if number < count else Turn(text="done")

    with ModelServer(choose=choose) as server:
        ran = place.run("run", "read it line by line", server=server)
        assert (ran.code, ran.out, len(server.posts)) == (0, "done\n", count + 1)
        assert results(server)[-1].split("\t")[-1].startswith(f"line {count - 1}")
    assert b"steps that this turn may take" not in server.posts[-1].body


def test_a_large_repository_costs_little_memory(place: Place) -> None:
    look_around(place, 5_000)


@pytest.mark.soak
def test_a_hundred_thousand_files_cost_little_memory(place: Place) -> None:
    look_around(place, 100_000)


def test_the_same_failing_call_for_ever_ends_the_run(place: Place) -> None:
    with ModelServer([calls(call("read", path="nothing"))], after="repeat") as server:
        done = place.run("run", "go", server=server)
        assert (done.code, done.out, len(server.posts)) == (1, "", 5)
    assert "the same failing call 5 times" in done.err


def test_empty_answers_for_ever_end_the_run(place: Place) -> None:
    with ModelServer([Turn(text="")], after="repeat") as server:
        done = place.run("run", "go", server=server)
        assert (done.code, len(server.posts)) == (1, 3)
