"""What a step costs, and whether it stays so cheap."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

from msgspec import Struct, json

from bench.runs import Run, Site, interleaved
from bench.server import Server, Turn, calls, text, write_files
from bench.table import Row, Series

SHORT, LONG, APART = 20, 220, 200
"""Steps of two runs; their difference is the cost of steps without start and end."""
MANY = 500
EARLY, LATE = slice(10, 50), slice(480, 500)
WALL, CPU = 0.005, 0.004
GROWTH = 1.1


class Cost(Struct, frozen=True):
    """Of one step, in seconds."""

    wall: float
    cpu: float


def reading(site: Site) -> Iterator[Row]:
    workspace = site.fresh("reading")
    names = write_files(workspace)
    script = [calls("read", {"path": names[step % len(names)]}) for step in range(LONG)]
    ours, bare = _per_step(site, "reading", script)
    for name, mine, theirs, budget in (
        ("a step (read), wall (bare exchange)", _walls(ours), _walls(bare), WALL),
        ("a step (read), CPU (bare exchange)", _cpus(ours), _cpus(bare), CPU),
    ):
        yield _within(name, mine, theirs, budget, f"{budget * 1000:g} ms")


def shell(site: Site) -> Iterator[Row]:
    site.fresh("shell")
    script = [calls("bash", {"command": f"true {step % 10}"}) for step in range(LONG)]
    ours, bare = _per_step(site, "shell", script)
    spawned = [site.yardstick("spawn.py", LONG) for _ in range(site.times(6))]
    none = [site.yardstick("spawn.py", SHORT) for _ in range(site.times(6))]
    spawn = _differences(spawned, none)
    walls, cpus = median(_walls(spawn)), median(_cpus(spawn))
    yield _within(
        "a step (bash true), wall (posix_spawn)", _walls(ours), _walls(spawn), WALL + walls, "5 ms + yardstick"
    )
    yield _within("a step (bash true), CPU (posix_spawn)", _cpus(ours), _cpus(spawn), CPU + cpus, "4 ms + yardstick")
    over = [mine.wall - theirs.wall - walls for mine, theirs in zip(ours, bare, strict=True)]
    yield Row(
        name="bash over posix_spawn and exchange, wall",
        ours=Series(over).ms(),
        yardstick=Series(_walls(spawn)).ms(),
        ratio=median(over) / walls,
    )


def growth(site: Site) -> Iterator[Row]:
    workspace = site.fresh("growth")
    names = write_files(workspace, size=1000)
    turns = [calls("read", {"path": names[step % len(names)]}) for step in range(MANY)]
    early: list[float] = []
    late: list[float] = []
    sending: list[float] = []
    sizes, body = _heard(site, "growth", turns)
    listed = site.sizes("growth.sizes", sizes)
    with Server(site, "growth", [*turns, text()], record="times") as server:
        for _ in range(site.times(6)):
            site.overt(server.port, workspace, "--max-turns", "600")
            gaps = [after.at - before.at for before, after in pairwise(server.arrivals())]
            sent = json.decode(site.yardstick("exchange.py", server.port, body, listed).out, type=list[float])
            server.arrivals()
            early.append(median(gaps[EARLY]))
            late.append(median(gaps[LATE]))
            sending.append(median(sent[LATE]) - median(sent[EARLY]))
    own = [there - bytes_sent for there, bytes_sent in zip(late, sending, strict=True)]
    ratio = median(own) / median(early)
    yield Row(
        name=f"step 500 without sending (steps 10-50), {sizes[-1] // 1024} KiB",
        ours=Series(own).ms(),
        yardstick=Series(early).ms(),
        ratio=ratio,
        budget=f"{GROWTH:g} x",
        ok=ratio <= GROWTH,
    )
    yield Row(
        name="step 500 as it is (sending more bytes)",
        ours=Series(late).ms(),
        yardstick=f"+ {Series(sending).ms()}",
        ratio=median(late) / median(early),
    )


def _per_step(site: Site, name: str, script: list[Turn]) -> tuple[list[Cost], list[Cost]]:
    """The cost of a step, and of a bare exchange of the same bytes."""
    workspace = site.fresh(name)
    heard, body = _heard(site, name, script)
    many, few = site.sizes(f"{name}.many", heard), site.sizes(f"{name}.few", heard[: SHORT + 1])
    with (
        Server(site, f"{name}.long", [*script, text()]) as long,
        Server(site, f"{name}.short", [*script[:SHORT], text()]) as short,
    ):
        ours, bare = interleaved(
            site.times(9),
            lambda: (
                site.overt(long.port, workspace, "--max-turns", "600"),
                site.overt(short.port, workspace, "--max-turns", "600"),
            ),
            lambda: (
                site.yardstick("exchange.py", long.port, body, many),
                site.yardstick("exchange.py", short.port, body, few),
            ),
        )
    return (
        _differences([run for run, _ in ours], [run for _, run in ours]),
        _differences([run for run, _ in bare], [run for _, run in bare]),
    )


def _heard(site: Site, name: str, script: list[Turn]) -> tuple[list[int], Path]:
    """The sizes of all requests of a run, and the last of them."""
    with Server(site, f"{name}.heard", [*script, text()], record="bodies") as server:
        site.overt(server.port, site.fresh(name), "--max-turns", "600")
        sizes = [arrival.size for arrival in server.arrivals()]
        return sizes, site.keep(f"{name}.body", server.body)


def _differences(many: list[Run], few: list[Run]) -> list[Cost]:
    return [
        Cost((long.wall - short.wall) / APART, (long.cpu - short.cpu) / APART)
        for long, short in zip(many, few, strict=True)
    ]


def _within(name: str, ours: list[float], yardstick: list[float], limit: float, budget: str) -> Row:
    mine, theirs = Series(ours), Series(yardstick)
    return Row(
        name=name,
        ours=mine.ms(),
        yardstick=theirs.ms(),
        ratio=mine.median / theirs.median,
        budget=budget,
        ok=mine.median <= limit,
    )


def _walls(costs: list[Cost]) -> list[float]:
    return [cost.wall for cost in costs]


def _cpus(costs: list[Cost]) -> list[float]:
    return [cost.cpu for cost in costs]
