"""Whole runs: twenty steps, eight commands at once, a long answer."""

from collections.abc import Iterator

from bench.runs import Run, Site, interleaved
from bench.server import Server, Turn, calls, text, write_files
from bench.table import Row, Series

STEPS = 20
STEPS_CPU, STEPS_MIB = 0.5, 60
AT_ONCE, ALONE = 8, 2.0
CHARACTERS, CHUNKS = 200_000, 20_000
STREAM_WALL, STREAM_CPU = 0.2, 0.45


def twenty(site: Site) -> Iterator[Row]:
    workspace = site.fresh("twenty")
    names = write_files(workspace)
    script = [mixed_step(step, names) for step in range(STEPS)]
    with Server(site, "twenty", [*script, text()], record="bodies") as server:
        site.overt(server.port, workspace)
        heard = server.arrivals()
        body = site.keep("twenty.body", server.body)
        sizes = site.sizes("twenty.sizes", [arrival.size for arrival in heard])
        ours, bare = interleaved(
            site.times(9),
            lambda: site.overt(server.port, workspace),
            lambda: site.yardstick("exchange.py", server.port, body, sizes),
        )
    cpu, their_cpu = Series([run.cpu for run in ours]), Series([run.cpu for run in bare])
    yield Row(
        name="20 steps (read, grep, glob, bash), CPU (exchanges)",
        ours=cpu.s(),
        yardstick=their_cpu.s(),
        ratio=cpu.median / their_cpu.median,
        budget=f"{STEPS_CPU:g} s",
        ok=cpu.median <= STEPS_CPU,
    )
    mib, their_mib = Series([run.mib for run in ours]), Series([run.mib for run in bare])
    yield Row(
        name="20 steps, peak memory (exchanges)",
        ours=mib.mib(),
        yardstick=their_mib.mib(),
        ratio=mib.median / their_mib.median,
        budget=f"{STEPS_MIB} MiB",
        ok=mib.median <= STEPS_MIB,
    )


def parallel(site: Site) -> Iterator[Row]:
    workspace = site.fresh("parallel")
    sleep = {"command": "sleep 0.5"}
    with (
        Server(site, "eight", [calls("bash", *[sleep] * AT_ONCE), text()], record="bodies") as eight,
        Server(site, "one", [calls("bash", sleep), text()], record="bodies") as one,
    ):

        def gap(server: Server) -> float:
            site.overt(server.port, workspace)
            before, after = server.arrivals()
            return after.at - before.at

        ours, alone = interleaved(site.times(5), lambda: gap(eight), lambda: gap(one))
    mine, theirs = Series(ours), Series(alone)
    ratio = mine.median / theirs.median
    yield Row(
        name="eight `sleep 0.5` in one reply (one)",
        ours=mine.s(),
        yardstick=theirs.s(),
        ratio=ratio,
        budget=f"{ALONE:g} x",
        ok=ratio < ALONE,
    )


def stream(site: Site) -> Iterator[Row]:
    workspace = site.fresh("stream")
    said = ("The quick brown fox jumps over the lazy dog. " * (CHARACTERS // 45 + 1))[:CHARACTERS]
    answer = text(said, chunk=CHARACTERS // CHUNKS, framing="event")
    with Server(site, "stream", [answer], record="bodies") as server:
        site.overt(server.port, workspace)
        server.arrivals()
        body = site.keep("stream.body", server.body)

        def after_request(run: Run) -> tuple[float, float]:
            return run.ended - server.arrivals()[0].at, run.cpu

        ours, script = interleaved(
            site.times(12),
            lambda: after_request(site.overt(server.port, workspace)),
            lambda: after_request(site.yardstick("post.py", server.port, body)),
        )
    for name, index, limit in (
        ("200 000 characters, first request to exit (script)", 0, STREAM_WALL),
        ("200 000 characters, whole CPU (script)", 1, STREAM_CPU),
    ):
        mine, theirs = Series([pair[index] for pair in ours]), Series([pair[index] for pair in script])
        yield Row(
            name=name,
            ours=mine.s(),
            yardstick=theirs.s(),
            ratio=mine.median / theirs.median,
            budget=f"{limit:g} s",
            ok=mine.median <= limit,
        )


def mixed_step(step: int, names: list[str]) -> Turn:
    match step % 4:
        case 0:
            return calls("read", {"path": names[step % len(names)]})
        case 1:
            return calls("grep", {"pattern": f"{step} lorem"})
        case 2:
            return calls("glob", {"pattern": f"*{step % 10}.txt"})
        case _:
            return calls("bash", {"command": f"echo {step}"})
