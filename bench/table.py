"""Rows and how they are printed."""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

HEADINGS = ("what", "ours", "yardstick", "ratio", "budget", "verdict")


class Row(Struct, frozen=True, kw_only=True):
    """`ok` is None where nothing was promised."""

    name: str
    ours: str
    yardstick: str = ""
    ratio: float | None = None
    budget: str = ""
    ok: bool | None = None

    def cells(self) -> tuple[str, ...]:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} x"
        verdict = {True: "ok", False: "OVER", None: "-"}[self.ok]
        return (self.name, self.ours, self.yardstick, ratio, self.budget or "-", verdict)


class Series:
    """Measurements of one thing; noise only ever adds, so the smallest is shown beside the median."""

    def __init__(self, values: Sequence[float]) -> None:
        self.median = median(values)
        self.best = min(values)

    def ms(self) -> str:
        return f"{self.median * 1000:.{_digits(self.median)}f} ms ({self.best * 1000:.{_digits(self.best)}f})"

    def s(self) -> str:
        return f"{self.median:.3f} s ({self.best:.3f})"

    def mib(self) -> str:
        return f"{self.median:.1f} MiB ({self.best:.1f})"


def compared(name: str, ours: Sequence[float], yardstick: Sequence[float], *, at_most: float) -> Row:
    """A budget that is a multiple of the yardstick."""
    mine, theirs = Series(ours), Series(yardstick)
    ratio = mine.median / theirs.median
    return Row(
        name=name,
        ours=mine.ms(),
        yardstick=theirs.ms(),
        ratio=ratio,
        budget=f"{at_most:g} x",
        ok=ratio <= at_most,
    )


def printed(rows: Sequence[Row]) -> str:
    table = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) for cells in table]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _digits(seconds: float) -> int:
    return 0 if seconds >= 0.1 else 1 if seconds >= 0.01 else 2
