"""Sums over the ledger: rolling windows, and groups by day, model, session, project or agent."""

import time
from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from overt.core.spending.spend import Totals
from overt.sessions.ledger import Booked

By = Literal["day", "model", "session", "project", "agent"]
DAY = 86400.0
WINDOWS: dict[str, float] = {"24 h": DAY, "7 d": 7 * DAY, "30 d": 30 * DAY, "total": float("inf")}
AHEAD = DAY
"""A line from further in the future than this was booked by a clock that was wrong: only the total has it."""
QUARTER = 900
"""Seconds; days begin at one of these in every time zone there is."""
NO_DAY = "?"


class Group(Struct, frozen=True, kw_only=True):
    name: str
    totals: Totals


class Stats(Struct, frozen=True, kw_only=True):
    """`groups` are of the last `days` days: days in order, anything else the largest first."""

    windows: dict[str, Totals]
    by: By
    days: int
    groups: tuple[Group, ...]


class _Sum:
    """Totals in the making."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        self._all: list[float] = [0] * 10

    def add(self, line: Booked) -> None:
        found = self._all
        found[0] += 1
        found[1] += line.input
        found[2] += line.cached
        found[3] += line.cache_write
        found[4] += line.output
        found[5] += line.reasoning
        found[6] += line.possible
        if line.cost is None:
            found[9] += 1
        else:
            found[7] += line.cost
        if line.saved is not None:
            found[8] += line.saved

    def totals(self) -> Totals:
        requests, given, cached, written, output, reasoning, possible, cost, saved, unpriced = self._all
        return Totals(
            requests=int(requests),
            input=int(given),
            cached=int(cached),
            cache_write=int(written),
            output=int(output),
            reasoning=int(reasoning),
            possible=int(possible),
            cost=cost,
            saved=saved,
            unpriced=int(unpriced),
        )


def stats(lines: Iterable[Booked], *, now: float, by: By = "day", days: int = 30, project: str = "") -> Stats:
    """Of one project, or of all when none is named. The clock may have jumped: no line is left out of the total."""
    windows = {name: _Sum() for name in WINDOWS}
    spans = [(span, windows[name].add) for name, span in WINDOWS.items() if span != float("inf")]
    groups: dict[str, _Sum] = {}
    name_of, whole = _naming(by), windows["total"]
    latest = now + AHEAD
    for line in lines:
        if project and line.project != project:
            continue
        whole.add(line)
        if not line.ts <= latest:
            continue
        age = now - line.ts
        for span, add in spans:
            if age <= span:
                add(line)
        if age <= days * DAY:
            name = name_of(line)
            found = groups.get(name)
            if found is None:
                found = groups[name] = _Sum()
            found.add(line)
    made = [Group(name=name, totals=found.totals()) for name, found in groups.items()]
    if by == "day":
        made.sort(key=lambda group: group.name)
    else:
        made.sort(key=lambda group: (-group.totals.input - group.totals.output, group.name))
    return Stats(
        windows={name: found.totals() for name, found in windows.items()}, by=by, days=days, groups=tuple(made)
    )


def _naming(by: By) -> Callable[[Booked], str]:
    match by:
        case "day":
            return _Days().of
        case "model":
            return lambda line: f"{line.provider}/{line.model}" if line.provider else line.model
        case "session":
            return lambda line: line.session
        case "project":
            return lambda line: line.project
        case "agent":
            return lambda line: line.agent


class _Days:
    """The day of a moment where the reader is; most lines lie close to the one before."""

    def __init__(self) -> None:
        self._known: dict[float, str] = {}

    def of(self, line: Booked) -> str:
        quarter = line.ts // QUARTER
        found = self._known.get(quarter)
        if found is None:
            found = self._known[quarter] = _day(line.ts)
        return found


def _day(ts: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.localtime(ts))
    except (OverflowError, ValueError, OSError):
        return NO_DAY
