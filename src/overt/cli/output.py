"""What subcommands share: reading the configuration, and printing lines, JSON, tables and bars for a terminal."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence

from overt.app.options import Options
from overt.app.setting import Setting, read_setting, read_setting_or_defaults
from overt.cli.parse import ParsedCommandLine
from overt.core.codec import printable
from overt.lib.text import visible, wide

EIGHTHS = " ▏▎▍▌▋▊▉"
NARROWEST = 20


def setting_of(args: ParsedCommandLine) -> Setting:
    """Read the configuration of the folder that `-C` names, with the flags that a chat has as well."""
    return read_setting(_options(args))


def setting_or_defaults_of(args: ParsedCommandLine) -> tuple[Setting, str]:
    """Do the same for a subcommand that works without one. The text says why it could not be read."""
    return read_setting_or_defaults(_options(args))


def _options(args: ParsedCommandLine) -> Options:
    return Options(
        directory=args.text("cd"),
        model=args.text("model"),
        add_dirs=args.texts("add-dir"),
        registries=args.registries,
    )


def print_result(args: ParsedCommandLine, value: object, lines: Iterable[str]) -> None:
    """Print the value with `--json`, else its lines for people."""
    if args.switch("json"):
        print(printable(value))
    else:
        print_lines(lines)


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(visible(line))


def warn(text: str) -> None:
    print(f"overt: {visible(text)}", file=sys.stderr)


def plural(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def screen_width() -> int:
    """Return the columns of the terminal; a pipe has as many as a wide one."""
    return max(NARROWEST, shutil.get_terminal_size((100, 24)).columns) if sys.stdout.isatty() else 100


def cut_to_width(text: str, width: int) -> str:
    """Return one line of at most so many columns; what is missing is marked."""
    text = visible(text.replace("\t", " ").replace("\n", " ⏎ "))
    if wide(text) <= width:
        return text
    start = ""
    for char in text:
        if wide(start + char) >= width:
            break
        start += char
    return start + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    space = " " * max(0, width - wide(text))
    return space + text if right else text + space


def table(rows: Sequence[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """Yield lines with columns as wide as they need to be; all but the first `left` of them end at the right."""
    widths = [max(map(wide, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (pad(cell, widths[number], right=number >= left) for number, cell in enumerate(row))
        yield "  ".join(cells).rstrip()


def bar(share: float, width: int) -> str:
    """Draw a bar of blocks, to an eighth of a column; a share above 0 shows at least an eighth."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    eighths = max(eighths, 1) if share > 0 else eighths
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (EIGHTHS[rest] if rest else "")


def count(number: float) -> str:
    """Write a number of tokens in a few characters: 950, 12.3k, 4.56M."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{sign}" if number < size * 999.5 else f"{number / size:.0f}{sign}"
    return str(round(number))


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.0f} %"
