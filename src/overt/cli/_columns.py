"""Tables and bars for a terminal, measured in the columns that characters really take."""

import shutil
import sys
from collections.abc import Iterator, Sequence

from overt.lib.text import visible, wide

EIGHTHS = " ▏▎▍▌▋▊▉"
LEAST = 20


def screen_width() -> int:
    """Columns of the terminal; a pipe has as many as a wide one."""
    return max(LEAST, shutil.get_terminal_size((100, 24)).columns) if sys.stdout.isatty() else 100


def cut(text: str, width: int) -> str:
    """One line of at most so many columns; what is missing is marked."""
    text = " ".join(visible(text.replace("\t", " ").replace("\n", " ⏎ ")).split(" "))
    if wide(text) <= width:
        return text
    taken = ""
    for char in text:
        if wide(taken + char) >= width:
            break
        taken += char
    return taken + "…"


def padded(text: str, width: int, *, right: bool = False) -> str:
    space = " " * max(0, width - wide(text))
    return space + text if right else text + space


def table(rows: Sequence[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """Columns as wide as they need to be; all but the first `left` of them end at the right."""
    widths = [max(map(wide, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        made = (
            padded(cell, width, right=number >= left)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        yield "  ".join(made).rstrip()


def bar(share: float, width: int) -> str:
    """A bar of blocks, to an eighth of a column; what is not nothing shows."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    eighths = max(eighths, 1) if share > 0 else eighths
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (EIGHTHS[rest] if rest else "")


def count(number: float) -> str:
    """A number of tokens in a few characters: 950, 12.3k, 4.56M."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{sign}" if number < size * 999.5 else f"{number / size:.0f}{sign}"
    return str(round(number))


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.0f} %"
