"""`make bench-compare REF=…`: measure the working tree against another version, pair by pair.

Each row of each pair runs REF and then the working tree (A B A B …), so that a busy moment of the machine falls on
both. Both run from sibling folders below one temporary folder: REF from a git worktree, the working tree from a copy of
its `src`. They share the installed packages of this environment, and the bytecode of both is compiled beforehand.
"""

import argparse
import compileall
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from math import comb
from pathlib import Path
from statistics import median
from typing import Any, Literal

from msgspec import Struct, json

from bench.runs import PYTHON, ROOT, Run, Site
from bench.server import Server, calls, text, write_files
from bench.terminal import LIVE, MARK, chat, echoes, plain, settled
from bench.wholes import STEPS, mixed_step

PAIRS = 20
STEP_COUNT = 40
"""Steps of one run whose median is one measurement of a step."""
KEY_COUNT = 40
STARTS = 3
"""Starts of one measurement: the fastest counts, because noise only adds."""
WORSE_SHARE, WORSE_AMOUNT = 0.05, 1.0
"""A row is worse if its paired difference exceeds both: this share of REF's median, and one millisecond or token."""
CONFIDENCE = 0.95


class Comparison(Struct, frozen=True, kw_only=True):
    """One row: values of REF (`before`) and of the working tree (`after`), pair by pair, in `unit`."""

    name: str
    unit: str
    before: list[float]
    after: list[float]

    def differences(self) -> list[float]:
        return [after - before for before, after in zip(self.before, self.after, strict=True)]

    def verdict(self) -> Literal["ok", "unclear", "WORSE"]:
        """`unclear`: the median is beyond both limits, but the interval includes no difference at all."""
        difference = median(self.differences())
        if difference <= WORSE_AMOUNT or difference <= WORSE_SHARE * median(self.before):
            return "ok"
        return "WORSE" if confidence_interval(self.differences())[0] > 0 else "unclear"

    def cells(self) -> tuple[str, ...]:
        before, after, difference = median(self.before), median(self.after), median(self.differences())
        low, high = confidence_interval(self.differences())
        digits = 0 if self.unit == "tokens" else 2
        return (
            self.name,
            f"{before:.{digits}f} {self.unit}",
            f"{after:.{digits}f} {self.unit}",
            f"{difference:+.{digits}f} ({difference / before:+.1%})",
            f"{low:+.{digits}f} … {high:+.{digits}f}",
            self.verdict(),
        )


class Version(Site):
    """One version of the program, with a home and workspaces of its own."""

    def __init__(self, folder: Path, source: Path) -> None:
        self._source = source
        folder.mkdir()
        launcher = folder / "overt"
        launcher.write_text(f"#!{PYTHON}\nimport sys\nfrom overt.__main__ import main\nsys.exit(main())\n")
        launcher.chmod(0o755)
        super().__init__(folder, quick=False, program=str(launcher))
        compileall.compile_dir(source, quiet=2)
        self.check_source()

    def environment(self, port: int) -> dict[str, str]:
        return {**super().environment(port), "PYTHONPATH": str(self._source)}

    def check_source(self) -> None:
        """Refuse to measure if Python takes the package from elsewhere."""
        loaded = self.run([PYTHON, "-c", "import overt; print(overt.__file__)"]).out.decode().strip()
        if not loaded.startswith(f"{self._source}/"):
            raise SystemExit(f"bench: {self.program} would load {loaded}, not {self._source}")


class Bench:
    """The servers and workspaces of one version, and one measurement of each row. All times are milliseconds."""

    def __init__(self, version: Version, stack: ExitStack) -> None:
        self._version = version
        names = write_files(version.fresh("work"))
        reads = [calls("read", {"path": names[step % len(names)]}) for step in range(STEP_COUNT)]
        commands = [calls("bash", {"command": f"true {step % 10}"}) for step in range(STEP_COUNT)]
        mixed = [mixed_step(step, names) for step in range(STEPS)]
        self._start = stack.enter_context(Server(version, "start", [text()], record="bodies"))
        self._reads = stack.enter_context(Server(version, "reads", [*reads, text()], record="times"))
        self._commands = stack.enter_context(Server(version, "commands", [*commands, text()], record="times"))
        self._mixed = stack.enter_context(Server(version, "mixed", [*mixed, text()]))
        self._chat = stack.enter_context(Server(version, "chat", [plain("ok")]))
        settled(version, self._chat.port)

    def rows(self) -> dict[str, Callable[[], float]]:
        """Each row with the function that measures it once."""
        return {
            "--version": lambda: min(self._measure_version() for _ in range(STARTS)),
            "first request": lambda: min(self._measure_first_request() for _ in range(STARTS)),
            "read step": lambda: self._measure_step(self._reads),
            "bash step": lambda: self._measure_step(self._commands),
            "CPU of 20 steps": lambda: self._run(self._mixed).cpu * 1000,
            "composer painted": lambda: min(self._measure_paint() for _ in range(STARTS)),
            "key echo": self._measure_echo,
            "prefix tokens": self._count_prefix_tokens,
        }

    def _run(self, server: Server) -> Run:
        return self._version.overt(server.port, self._version.folder / "work", "--max-turns", "100")

    def _measure_version(self) -> float:
        return self._version.run([self._version.program, "--version"]).wall * 1000

    def _measure_first_request(self) -> float:
        run = self._run(self._start)
        return (self._start.arrivals()[0].at - run.began) * 1000

    def _measure_step(self, server: Server) -> float:
        self._run(server)
        return median(after.at - before.at for before, after in pairwise(server.arrivals())) * 1000

    def _measure_paint(self) -> float:
        with chat(self._version, self._chat.port) as pty:
            return (pty.until(MARK, 0) - pty.began) * 1000

    def _measure_echo(self) -> float:
        with chat(self._version, self._chat.port) as pty:
            pty.until(LIVE, 0)
            pty.quiet()
            return median(echoes(pty, KEY_COUNT)) * 1000

    def _count_prefix_tokens(self) -> float:
        """Bytes of the system prompt and the tool schemas of the last first request, divided by four."""
        request: dict[str, Any] = json.decode(self._start.body)
        system = sum(len(message["content"].encode()) for message in request["messages"] if message["role"] == "system")
        return (system + len(json.encode(request["tools"]))) / 4


UNITS = {"prefix tokens": "tokens"}
"""Rows that are not in milliseconds."""


def compare(before: Version, after: Version, pairs: int) -> list[Comparison]:
    """Measure each row `pairs` times in both versions, one right after the other; a first pair is not counted."""
    with ExitStack() as stack:
        old_rows, new_rows = Bench(before, stack).rows(), Bench(after, stack).rows()
        measured: dict[str, list[tuple[float, float]]] = {name: [] for name in old_rows}
        for number in range(pairs + 1):
            print(f"bench: pair {number} of {pairs} …", file=sys.stderr, flush=True)
            for name, values in measured.items():
                values.append((old_rows[name](), new_rows[name]()))
    return [
        Comparison(
            name=name,
            unit=UNITS.get(name, "ms"),
            before=[old for old, _ in values[1:]],
            after=[new for _, new in values[1:]],
        )
        for name, values in measured.items()
    ]


def confidence_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return bounds of the median that hold with at least 95 % confidence, by order statistics; no shape is assumed."""
    ordered, count = sorted(values), len(values)
    outside, rank = 0.0, 0
    while rank < count // 2 and 2 * (outside + comb(count, rank) / 2**count) <= 1 - CONFIDENCE:
        outside += comb(count, rank) / 2**count
        rank += 1
    rank = max(rank, 1)
    return ordered[rank - 1], ordered[count - rank]


@contextmanager
def checked_out(ref: str, folder: Path) -> Iterator[Path]:
    """The source of a git ref in a temporary worktree."""
    _git("worktree", "add", "--detach", "--quiet", str(folder), ref)
    try:
        yield folder
    finally:
        _git("worktree", "remove", "--force", str(folder))


def read_requirements(root: Path) -> tuple[object, ...]:
    """The run-time dependencies of a checkout, and the versions it pins."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    constraints = root / "constraints.txt"
    return project["dependencies"], constraints.read_text() if constraints.exists() else ""


def format_table(rows: Sequence[Comparison], ref: str) -> str:
    table: list[tuple[str, ...]] = [("what", ref, "working tree", "paired difference", "95 % interval", "verdict")]
    table += [row.cells() for row in rows]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) for cells in table]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise SystemExit(f"bench: git {words[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, got {text!r}")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.compare", description="Compare the working tree with a git ref.")
    parser.add_argument("ref", help="a commit, tag or branch")
    parser.add_argument("--pairs", type=_positive, default=PAIRS, help=f"measurements of each version (usual: {PAIRS})")
    given = parser.parse_args(argv)
    commit = _git("rev-parse", "--short", "--verify", "--end-of-options", f"{given.ref}^{{commit}}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="overt-compare-")))
        old = stack.enter_context(checked_out(commit, folder / "before"))
        new = folder / "after"
        new.mkdir()
        shutil.copytree(ROOT / "src", new / "src", ignore=shutil.ignore_patterns("__pycache__"))
        rows = compare(Version(folder / "a", old / "src"), Version(folder / "b", new / "src"), given.pairs)
        same = read_requirements(old) == read_requirements(ROOT)
    print(f"{commit} against the working tree, {given.pairs} interleaved pairs; medians\n")
    print(format_table(rows, commit))
    if not same:
        print("\nNote: the dependencies differ; both versions ran with the packages that are installed now.")
    if unclear := [row.name for row in rows if row.verdict() == "unclear"]:
        print(f"\nunclear: {', '.join(unclear)}. The machine was too busy; compare again when it is quiet.")
    worse = [row.name for row in rows if row.verdict() == "WORSE"]
    print(f"\nworse by more than {WORSE_SHARE:.0%} and {WORSE_AMOUNT:g} ms (or token): {', '.join(worse) or 'none'}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
