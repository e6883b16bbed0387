"""grep and glob over many files, against ripgrep itself."""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import Struct

from bench.runs import PYTHON, Site
from bench.server import Server, Turn, calls, text
from bench.table import Row, Series

FOLDERS, EACH = 470, 100
TIMES, PLUS = 1.2, 0.020
REPEATS = 3


class Search(Struct, frozen=True, kw_only=True):
    """What the model asks, and what a person would type. `turn` makes each call a little different, because
    the same one three times over would be refused."""

    name: str
    tool: str
    arguments: dict[str, Any]
    rg: tuple[str, ...]

    def turn(self, number: int) -> Turn:
        return calls(self.tool, {**self.arguments, "limit": 100 + number})


PLAIN = ("--no-config", "--hidden", "--no-require-git", "--glob=!.git", "--color=never")
LINES = (*PLAIN, "--line-number", "--no-heading", "--with-filename", "--null", "--max-columns=500")
SEARCHES = (
    Search(
        name="grep, 47 matches",
        tool="grep",
        arguments={"pattern": "needle_[0-9]+"},
        rg=(*LINES, "--max-count=100", "--regexp=needle_[0-9]+", "./"),
    ),
    Search(
        name="grep, a match in every file",
        tool="grep",
        arguments={"pattern": "return value"},
        rg=(*LINES, "--max-count=100", "--regexp=return value", "./"),
    ),
    Search(
        name="glob, 470 names",
        tool="glob",
        arguments={"pattern": "*_77.py"},
        rg=(*PLAIN, "--files", "--null", "--type-add=wanted:*_77.py", "--type=wanted", "./"),
    ),
    Search(
        name="glob, every name",
        tool="glob",
        arguments={"pattern": "**/*.py"},
        rg=(*PLAIN, "--files", "--null", "--type-add=wanted:*.py", "--type=wanted", "./"),
    ),
)


def search(site: Site) -> Iterator[Row]:
    tree = site.fresh("tree")
    grow(tree)
    rg = str(Path(PYTHON).with_name("rg"))
    for each in SEARCHES:
        # A plain step before each search tells what a step costs without it.
        turns = [
            turn
            for number in range(REPEATS)
            for turn in (calls("read", {"path": f"pkg{number}/module_0.py"}), each.turn(number))
        ]
        tool: list[float] = []
        raw: list[float] = []
        with Server(site, "search", [*turns, text()], record="times") as server:
            for round in range(site.times(5) + 1):
                site.overt(server.port, tree)
                at = [arrival.at for arrival in server.arrivals()]
                gaps = [after - before for before, after in pairwise(at)]
                step = median(gaps[0::2])
                typed = [site.run([rg, *each.rg], cwd=tree).wall for _ in range(REPEATS)]
                if round:  # the first warms the cache
                    tool += [gap - step for gap in gaps[1::2]]
                    raw += typed
        mine, theirs = Series(tool), Series(raw)
        yield Row(
            name=f"{each.name} in {FOLDERS * EACH} files (rg)",
            ours=mine.ms(),
            yardstick=theirs.ms(),
            ratio=mine.median / theirs.median,
            budget=f"{TIMES:g} x + {PLUS * 1000:g} ms",
            ok=mine.median <= TIMES * theirs.median + PLUS,
        )


def grow(tree: Path) -> None:
    """Many small files; one in a thousand holds the needle."""
    body = "".join(f"def work_{n}(value):\n    value = value + {n}\n    return value\n\n\n" for n in range(8))
    for folder in range(FOLDERS):
        below = tree / f"pkg{folder % 47}" / f"part{folder // 47}" if folder >= 47 else tree / f"pkg{folder}"
        below.mkdir(parents=True, exist_ok=True)
        for number in range(EACH):
            needle = f"# needle_{folder}\n" if number == 13 and folder % 10 == 3 else ""
            descriptor = os.open(below / f"module_{number}.py", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.write(descriptor, (needle + body).encode())
            os.close(descriptor)
