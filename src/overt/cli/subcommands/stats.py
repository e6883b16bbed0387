"""`overt stats`: what was spent, in rolling windows and as bars."""

import sys
from collections.abc import Iterator
from time import localtime, mktime, strftime, strptime
from typing import get_args

from msgspec import to_builtins

from overt.app.inspect.queries import colour_wanted
from overt.app.records.statistics import By, Group, Stats, Totals, dollars, usage_stats
from overt.app.registries import Registries
from overt.cli._columns import bar, count, cut, padded, percent, screen_width, table
from overt.cli.parse import CommandLine, Flag, parse
from overt.cli.setting import read_setting_for
from overt.core.codec import printable
from overt.core.errors import UsageError
from overt.lib.text import wide

KINDS: tuple[By, ...] = get_args(By)
MOST_DAYS = 36_500
FILLED = 31
"""Days without a request are drawn too, up to this many rows."""
SHOWN = 40
NARROW = 72

COMMAND = CommandLine(
    name="overt stats",
    about="Tokens, cost and cache of the last 24 hours, 7 and 30 days, and in all; then bars by day or as you say.",
    flags=(
        Flag(names=("--by",), key="by", value="WHAT", choices=KINDS, help=", ".join(KINDS)),
        Flag(names=("--days",), key="days", value="N", help="bars of the last N days (30)"),
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--all",), key="all", help="of every project"),
        Flag(names=("--json",), key="json", help="machine-readable"),
    ),
    most=0,
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    by: By = next((kind for kind in KINDS if kind == given.text("by")), "day")
    days = _days(given.text("days") or "30")
    found = usage_stats(read_setting_for(given, registries), everywhere=given.switch("all"), by=by, days=days)
    if given.switch("json"):
        print(printable(_object(found)))
        return 0
    if not found.windows["total"].requests:
        where = "" if given.switch("all") else " in this project (--all looks at every one)"
        print(f"No request has been booked yet{where}.")
        return 0
    for line in _lines(found, screen_width()):
        print(line)
    return 0


def _days(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
    if not 0 < number <= MOST_DAYS:
        raise UsageError(f"--days must be a whole number from 1 to {MOST_DAYS}, got {text!r}")
    return number


def _object(found: Stats) -> dict[str, object]:
    return {
        "windows": {name: _totals(totals) for name, totals in found.windows.items()},
        "by": found.by,
        "days": found.days,
        "groups": [{"name": group.name, **_totals(group.totals)} for group in found.groups],
    }


def _totals(totals: Totals) -> dict[str, object]:
    whole: dict[str, object] = to_builtins(totals)
    return whole | {"kept": totals.kept}


def _lines(found: Stats, width: int) -> Iterator[str]:
    windows = found.windows
    if width < NARROW:
        for name, totals in windows.items():
            yield from _narrow(name, totals)
    else:
        head = ("", "requests", "in", "cached", "out", "cost", "saved", "cache kept")
        yield from table([head, *(_row(name, totals) for name, totals in windows.items())])
    unpriced = windows["total"].unpriced
    if unpriced:
        yield cut(f"The cost of {unpriced} requests is not known: their models have no price.", max(width, 60))
    yield ""
    yield from _bars(found, width)


def _row(name: str, totals: Totals) -> tuple[str, ...]:
    return (
        name,
        str(totals.requests),
        count(totals.input),
        count(totals.cached),
        count(totals.output),
        _cost(totals),
        dollars(totals.saved) if totals.saved else "–",
        percent(totals.kept),
    )


def _narrow(name: str, totals: Totals) -> Iterator[str]:
    yield f"{padded(name, 6)} {totals.requests} requests  {_cost(totals)}"
    yield f"  in {count(totals.input)}  cached {count(totals.cached)}  out {count(totals.output)}"
    yield f"  cache kept {percent(totals.kept)}" + (f", saved {dollars(totals.saved)}" if totals.saved else "")


def _cost(totals: Totals) -> str:
    """What is known of it; a plus where there is more."""
    if totals.unpriced and totals.unpriced == totals.requests:
        return "?"
    return dollars(totals.cost) + ("+" if totals.unpriced else "")


def _bars(found: Stats, width: int) -> Iterator[str]:
    groups = _filled(found.groups) if found.by == "day" else found.groups
    shown = groups[-SHOWN:] if found.by == "day" else groups[:SHOWN]
    yield cut(f"Tokens in and out by {found.by}, last {found.days} days", width)
    if not shown:
        yield "  none"
        return
    most = max(group.totals.input + group.totals.output for group in shown)
    room = max(8, min(36, width // 3))
    names = [cut(group.name, room) for group in shown]
    figures = [f"{count(group.totals.input + group.totals.output)}  {_cost(group.totals)}" for group in shown]
    first, last = max(map(wide, names)), max(map(wide, figures))
    space = max(4, width - first - last - 4)
    colour = sys.stdout.isatty() and colour_wanted()
    for name, figure, group in zip(names, figures, shown, strict=True):
        drawn = bar((group.totals.input + group.totals.output) / most if most else 0.0, space)
        drawn = padded(drawn, space)
        drawn = f"\x1b[36m{drawn}\x1b[0m" if colour else drawn
        yield f"{padded(name, first)}  {drawn}  {padded(figure, last, right=True)}".rstrip()
    if len(groups) > len(shown):
        yield f"  … and {len(groups) - len(shown)} more; --json has all of them"


def _filled(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """With the days between the first and the last on which nothing was asked, where there are not many."""
    known = {group.name: group for group in groups}
    dated = [name for name in known if len(name) == 10]
    if len(dated) < 2:
        return groups
    day, last = min(dated), max(dated)
    names: list[str] = []
    while day <= last and len(names) <= FILLED:
        names.append(day)
        noon = mktime(strptime(f"{day} 12", "%Y-%m-%d %H"))
        day = strftime("%Y-%m-%d", localtime(noon + 86400))
    if len(names) > FILLED:
        return groups
    rest = tuple(group for group in groups if group.name not in names)
    return (*(known.get(name) or Group(name=name, totals=Totals()) for name in names), *rest)
