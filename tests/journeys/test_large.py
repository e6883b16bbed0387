"""A repository of a hundred thousand files, and a model that never stops failing the same way."""

import os
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
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


def look_around(place: Place, count: int) -> None:
    fill(place.work, count)
    turns = [
        calls(call("glob", pattern="**/*.txt", limit=10)),
        calls(call("grep", pattern="needle")),
        calls(call("list", path=".")),
        Turn(text="seen"),
    ]
    with ModelServer(turns) as server, place.started("run", "look", server=server) as child:
        assert child.stdout is not None and child.stdout.read() == b"seen\n"
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert (child.returncode, used.ru_maxrss < MOST_MEMORY) == (0, True)
        found, matched, listed = results(server)
    assert len(found.splitlines()) == 11
    assert matched == "d000/f7.txt:1:needle"
    assert "d000/" in listed


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
