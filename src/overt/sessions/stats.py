"""Sums over the ledger: rolling windows, and groups by day, model, session, project or agent."""

import time
from collections.abc import Iterable
from math import inf
from typing import Literal

from msgspec import Struct

from overt.core.spending.spend import Totals
from overt.sessions.usage_ledger import LedgerLine

By = Literal["day", "model", "session", "project", "agent"]
DAY = 86400.0
WINDOWS: dict[str, float] = {"24 h": DAY, "7 d": 7 * DAY, "30 d": 30 * DAY, "total": inf}
AHEAD = DAY
"""A line from further in the future than this was booked by a clock that was wrong: only the total has it."""
NO_DAY = "?"
SUMMED = ("input", "cached", "cache_write", "output", "reasoning", "possible")


class UsageGroup(Struct, frozen=True, kw_only=True):
    name: str
    totals: Totals


class Stats(Struct, frozen=True, kw_only=True):
    """`groups` are of the last `days` days: days in order, anything else the largest first."""

    windows: dict[str, Totals]
    by: By
    days: int
    groups: tuple[UsageGroup, ...]


def sum_usage(ledger: Iterable[LedgerLine], *, now: float, by: By = "day", days: int = 30, project: str = "") -> Stats:
    """Of one project, or of all when none is named. The clock may have jumped: no line is left out of the total."""
    lines = [line for line in ledger if not project or line.project == project]
    recent = [line for line in lines if line.ts <= now + AHEAD]
    windows = {
        name: _total(lines if span == inf else [line for line in recent if now - line.ts <= span])
        for name, span in WINDOWS.items()
    }
    members: dict[str, list[LedgerLine]] = {}
    for line in recent:
        if now - line.ts <= days * DAY:
            members.setdefault(_group_name(line, by), []).append(line)
    groups = [UsageGroup(name=name, totals=_total(members[name])) for name in sorted(members)]
    if by != "day":
        groups.sort(key=lambda group: -group.totals.input - group.totals.output)
    return Stats(windows=windows, by=by, days=days, groups=tuple(groups))


def _total(lines: list[LedgerLine]) -> Totals:
    return Totals(
        requests=len(lines),
        cost=sum((line.cost or 0.0 for line in lines), 0.0),
        saved=sum((line.saved or 0.0 for line in lines), 0.0),
        unpriced=sum(line.cost is None for line in lines),
        unpriced_tokens=sum(max(0, line.input - line.cached) + line.output for line in lines if line.cost is None),
        estimated=sum(line.estimated for line in lines),
        **{name: sum(getattr(line, name) for line in lines) for name in SUMMED},
    )


def _group_name(line: LedgerLine, by: By) -> str:
    match by:
        case "day":
            return _day(line.ts)
        case "model":
            return f"{line.provider}/{line.model}" if line.provider else line.model
        case "session" | "project" | "agent":
            return str(getattr(line, by))


def _day(ts: float) -> str:
    """The day where the reader is."""
    try:
        return time.strftime("%Y-%m-%d", time.localtime(ts))
    except (OverflowError, ValueError, OSError):
        return NO_DAY
