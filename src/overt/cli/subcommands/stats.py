"""`overt stats`: what was spent, in rolling windows and as bars."""

import sys
from collections.abc import Iterator
from time import localtime, mktime, strftime, strptime
from typing import get_args

from msgspec.structs import asdict

from overt.app.inspect.queries import colour_wanted
from overt.app.records.statistics import By, Stats, Totals, UsageGroup, dollars, usage_stats
from overt.app.registries import Registries
from overt.cli.output import bar, count, cut_to_width, pad, percent, screen_width, setting_of, table
from overt.cli.parse import FOLDER, JSON, CommandLine, Flag, parse
from overt.core.codec import printable
from overt.lib.text import wide

KINDS: tuple[By, ...] = get_args(By)
MOST_DAYS = 36_500
MOST_EMPTY_DAYS = 31
"""Days without a request are drawn too, up to this many rows."""
SHOWN = 40
NARROW = 72

COMMAND = CommandLine(
    name="overt stats",
    about="Tokens, cost and cache of the last 24 hours, 7 and 30 days, and in all; then bars by day or as you say.",
    flags=(
        Flag("--by WHAT", ", ".join(KINDS), choices=KINDS),
        Flag("--days N", "bars of the last N days (30)"),
        FOLDER,
        Flag("--all", "of every project"),
        JSON,
    ),
    most=0,
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    by: By = next((kind for kind in KINDS if kind == args.text("by")), "day")
    days = args.number("days", MOST_DAYS) or 30
    usage = usage_stats(setting_of(args), everywhere=args.switch("all"), by=by, days=days)
    if args.switch("json"):
        windows = {name: _with_kept(totals) for name, totals in usage.windows.items()}
        groups = [{"name": group.name, **_with_kept(group.totals)} for group in usage.groups]
        print(printable({"windows": windows, "by": by, "days": days, "groups": groups}))
    elif not usage.windows["total"].requests:
        where = "" if args.switch("all") else " in this project (--all looks at every one)"
        print(f"No request has been booked yet{where}.")
    else:
        print("\n".join(_lines(usage, screen_width())))
    return 0


def _with_kept(totals: Totals) -> dict[str, object]:
    return asdict(totals) | {"kept": totals.kept}


def _lines(usage: Stats, width: int) -> Iterator[str]:
    windows = usage.windows
    if width < NARROW:
        for name, totals in windows.items():
            yield from _narrow(name, totals)
    else:
        head = ("", "requests", "in", "cached", "out", "cost", "saved", "cache kept")
        yield from table([head, *(_row(name, totals) for name, totals in windows.items())])
    unpriced = windows["total"].unpriced
    if unpriced:
        yield cut_to_width(f"The cost of {unpriced} requests is not known: their models have no price.", max(width, 60))
    yield ""
    yield from _bars(usage, width)


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
    yield f"{pad(name, 6)} {totals.requests} requests  {_cost(totals)}"
    yield f"  in {count(totals.input)}  cached {count(totals.cached)}  out {count(totals.output)}"
    yield f"  cache kept {percent(totals.kept)}" + (f", saved {dollars(totals.saved)}" if totals.saved else "")


def _cost(totals: Totals) -> str:
    """Write the known cost, with a plus if requests without a price come on top, and `~` if some are estimated."""
    if totals.unpriced and totals.unpriced == totals.requests:
        return "?"
    return ("~" if totals.estimated and totals.cost else "") + dollars(totals.cost) + ("+" if totals.unpriced else "")


def _bars(usage: Stats, width: int) -> Iterator[str]:
    groups = _with_empty_days(usage.groups) if usage.by == "day" else usage.groups
    shown = groups[-SHOWN:] if usage.by == "day" else groups[:SHOWN]
    yield cut_to_width(f"Tokens in and out by {usage.by}, last {usage.days} days", width)
    if not shown:
        yield "  none"
        return
    tokens = [group.totals.input + group.totals.output for group in shown]
    names = [cut_to_width(group.name, max(8, min(36, width // 3))) for group in shown]
    figures = [f"{count(number)}  {_cost(group.totals)}" for number, group in zip(tokens, shown, strict=True)]
    first, last = max(map(wide, names)), max(map(wide, figures))
    space = max(4, width - first - last - 4)
    before, behind = ("\x1b[36m", "\x1b[0m") if sys.stdout.isatty() and colour_wanted() else ("", "")
    for name, figure, number in zip(names, figures, tokens, strict=True):
        drawn = f"{before}{pad(bar(number / (max(tokens) or 1), space), space)}{behind}"
        yield f"{pad(name, first)}  {drawn}  {pad(figure, last, right=True)}".rstrip()
    if len(groups) > len(shown):
        yield f"  … and {len(groups) - len(shown)} more; --json has all of them"


def _with_empty_days(groups: tuple[UsageGroup, ...]) -> tuple[UsageGroup, ...]:
    """Add the days between the first and the last on which nothing was asked, if there are not many."""
    by_name = {group.name: group for group in groups}
    days = [name for name in by_name if len(name) == 10]
    if len(days) < 2:
        return groups
    noon = mktime(strptime(f"{min(days)} 12", "%Y-%m-%d %H"))
    names = [strftime("%Y-%m-%d", localtime(noon + number * 86400)) for number in range(MOST_EMPTY_DAYS)]
    if max(days) not in names:
        return groups
    names = names[: names.index(max(days)) + 1]
    rest = tuple(group for group in groups if group.name not in names)
    return (*(by_name.get(name) or UsageGroup(name=name, totals=Totals()) for name in names), *rest)
