"""`make bench-compare`: when a row counts as worse, how sure the figures are, and one whole comparison."""

import subprocess
import sys
from pathlib import Path

import pytest
from bench.compare import Comparison, confidence_interval, main

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([10.0, 10.0, 10.0], [11.2, 11.2, 11.2], "WORSE"),
        ([10.0, 10.0, 10.0], [10.9, 10.9, 10.9], "ok"),  # 9 %, but less than a millisecond
        ([100.0, 100.0, 100.0], [104.0, 104.0, 104.0], "ok"),  # 4 ms, but less than 5 %
        ([10.0, 10.0, 10.0], [5.0, 5.0, 5.0], "ok"),
        ([10.0, 50.0, 10.0], [10.1, 50.1, 90.0], "ok"),  # one busy moment of the machine
        ([10.0, 10.0, 10.0], [8.0, 12.0, 13.0], "unclear"),
    ],
)
def test_a_row_is_worse_beyond_five_per_cent_and_one_millisecond(
    before: list[float], after: list[float], verdict: str
) -> None:
    row = Comparison(name="a row", unit="ms", before=before, after=after)
    assert (row.verdict(), row.cells()[-1]) == (verdict, verdict)


def test_the_interval_of_twenty_differences_runs_from_the_sixth_to_the_fifteenth() -> None:
    assert confidence_interval([float(number) for number in range(20, 0, -1)]) == (6.0, 15.0)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_differences_have_their_whole_range_as_interval(count: int) -> None:
    values = [float(number) for number in range(count)]
    assert confidence_interval(values) == (values[0], values[-1])


def test_an_unknown_version_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(SystemExit, match="git rev-parse failed"):
        main(["no-such-version"])


@pytest.mark.soak
def test_a_version_compared_with_itself_prints_eight_rows_and_leaves_no_worktree() -> None:
    def worktrees() -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), "worktree", "list"], capture_output=True, text=True, check=True, timeout=30
        ).stdout

    before = worktrees()
    done = subprocess.run(
        [sys.executable, "-m", "bench.compare", "HEAD", "--pairs", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr  # one pair on a busy machine proves nothing about speed
    rows = [line for line in done.stdout.splitlines() if line.endswith((" ok", " unclear", " WORSE"))]
    assert len(rows) == 8 and rows[-1].startswith("prefix tokens "), done.stdout
    assert worktrees() == before
