"""What a step costs, and whether it stays so cheap."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median

from msgspec import Struct

from bench.runs import Run, Site
from bench.server import Server, Turn, calls, text, write_files
from bench.table import Row, Series

SHORT, LONG, APART = 20, 220, 200
"""Steps of two runs; their difference is the cost of steps without start and end."""
MANY = 500
EARLY, LATE = slice(10, 50), slice(480, 500)
WALL, CPU = 0.005, 0.004
GROWTH = 1.1


Pair = Callable[[], tuple[Run, Run]]
"""A run with many steps and one with few."""


class Cost(Struct, frozen=True):
    """Of one step, in seconds."""

    wall: float
    cpu: float


def reading(site: Site) -> Iterator[Row]:
    names = write_files(site.fresh("reading"))
    script = [calls("read", {"path": names[step % len(names)]}) for step in range(LONG)]
    ours, bare = _per_step(site, "reading", script)
    yield _within("a step (read), wall (bare exchange)", _walls(ours), _walls(bare), limit=WALL, budget="5 ms")
    yield _within("a step (read), CPU (bare exchange)", _cpus(ours), _cpus(bare), limit=CPU, budget="4 ms")


def shell(site: Site) -> Iterator[Row]:
    """What the command itself costs is not ours: it comes on top of the budget."""
    script = [calls("bash", {"command": f"true {step % 10}"}) for step in range(LONG)]
    ours, bare, spawn = _per_step(
        site, "shell", script, lambda: (site.yardstick("spawn.py", LONG), site.yardstick("spawn.py", SHORT))
    )
    walls, cpus = _walls(spawn), _cpus(spawn)
    yield _within(
        "a step (bash true), wall (posix_spawn)",
        _walls(ours),
        walls,
        limit=WALL + median(walls),
        budget="5 ms + yardstick",
    )
    yield _within(
        "a step (bash true), CPU (posix_spawn)", _cpus(ours), cpus, limit=CPU + median(cpus), budget="4 ms + yardstick"
    )
    over = [mine.wall - sent.wall - made.wall for mine, sent, made in zip(ours, bare, spawn, strict=True)]
    yield Row(
        name="bash beyond posix_spawn and exchange, wall",
        ours=Series(over).ms(),
        yardstick=Series(walls).ms(),
        ratio=median(over) / median(walls),
    )


def growth(site: Site) -> Iterator[Row]:
    """What a step costs us between the last byte of a reply and the first of the next request: sending is left out.

    The yardstick does nothing in between, so it shows what the server and the memory of 2 MB cost by themselves.
    """
    with _roomy(site):
        yield from _growth(site)


def _growth(site: Site) -> Iterator[Row]:
    workspace = site.fresh("growth")
    names = write_files(workspace, size=4000)
    turns = [calls("read", {"path": names[step % len(names)]}) for step in range(MANY)]
    early: list[float] = []
    late: list[float] = []
    whole: list[float] = []
    idle: list[float] = []
    sizes, body = _heard(site, "growth", turns)
    listed = site.sizes("growth.sizes", sizes)
    with Server(site, "growth", [*turns, text()], record="times") as server:
        for _ in range(site.times(9)):
            site.overt(server.port, workspace, "--max-turns", "600")
            arrivals = server.arrivals()
            own = [arrival.own for arrival in arrivals]
            gaps = [after.at - before.at for before, after in pairwise(arrivals)]
            site.yardstick("exchange.py", server.port, body, listed)
            bare = [arrival.own for arrival in server.arrivals()]
            early.append(median(own[EARLY]))
            late.append(median(own[LATE]))
            whole.append(median(gaps[LATE]) - median(gaps[EARLY]))
            idle.append(median(bare[LATE]) - median(bare[EARLY]))
    ratio = median(late) / median(early)
    yield Row(
        name=f"step 500, reply to request (10-50), {sizes[-1] // 1024} KiB",
        ours=Series(late).ms(),
        yardstick=Series(early).ms(),
        ratio=ratio,
        budget=f"{GROWTH:g} x",
        ok=ratio <= GROWTH,
    )
    yield Row(
        name="step 500 more than that, sending included (idle)",
        ours=f"+ {Series(whole).ms()}",
        yardstick=f"+ {Series(idle).ms()}",
    )


@contextmanager
def _roomy(site: Site) -> Iterator[None]:
    """A window that nothing here fills: a history that is compacted does not grow."""
    config = site.home / ".config" / "overt" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[context]\ncontext_window = 10000000\n")
    try:
        yield
    finally:
        config.unlink()


def _per_step(site: Site, name: str, script: list[Turn], *others: Pair) -> list[list[Cost]]:
    """The cost of a step, of a bare exchange of the same bytes, and of what else is to be measured beside them."""
    workspace = site.fresh(name)
    with _roomy(site):
        heard, body = _heard(site, name, script)
    many, few = site.sizes(f"{name}.many", heard), site.sizes(f"{name}.few", heard[: SHORT + 1])
    with (
        _roomy(site),
        Server(site, f"{name}.long", [*script, text()]) as long,
        Server(site, f"{name}.short", [*script[:SHORT], text()]) as short,
    ):
        pairs: tuple[Pair, ...] = (
            lambda: (
                site.overt(long.port, workspace, "--max-turns", "600"),
                site.overt(short.port, workspace, "--max-turns", "600"),
            ),
            lambda: (
                site.yardstick("exchange.py", long.port, body, many),
                site.yardstick("exchange.py", short.port, body, few),
            ),
            *others,
        )
        rounds = [[_difference(*pair()) for pair in pairs] for _ in range(site.times(7) + 1)]
    return [list(costs) for costs in zip(*rounds[1:], strict=True)]


def _heard(site: Site, name: str, script: list[Turn]) -> tuple[list[int], Path]:
    """The sizes of all requests of a run, and the last of them."""
    with Server(site, f"{name}.heard", [*script, text()], record="bodies") as server:
        site.overt(server.port, site.fresh(name), "--max-turns", "600")
        sizes = [arrival.size for arrival in server.arrivals()]
        return sizes, site.keep(f"{name}.body", server.body)


def _difference(many: Run, few: Run) -> Cost:
    return Cost((many.wall - few.wall) / APART, (many.cpu - few.cpu) / APART)


def _within(name: str, ours: list[float], yardstick: list[float], *, limit: float, budget: str) -> Row:
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
