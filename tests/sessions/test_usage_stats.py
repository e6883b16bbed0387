"""Sums over the ledger: what falls into which window and group, and what a wrong clock cannot break."""

import time

import pytest

from overt.core.spending.spend import Totals
from overt.sessions.stats import Stats, UsageGroup, sum_usage
from overt.sessions.usage_ledger import LedgerLine

NOW = 1_800_000_000.0
HOUR, DAY = 3600.0, 86400.0


def line(age: float, **more: object) -> LedgerLine:
    given: dict[str, object] = {"session": "s", "project": "p", "model": "m", "input": 100, "output": 10} | more
    return LedgerLine(ts=NOW - age, **given)  # type: ignore[arg-type]


def counted(found: Stats) -> dict[str, int]:
    return {name: totals.requests for name, totals in found.windows.items()}


def test_a_request_counts_in_every_window_that_reaches_back_to_it() -> None:
    lines = [line(HOUR), line(23 * HOUR), line(25 * HOUR), line(8 * DAY), line(31 * DAY), line(4000 * DAY)]
    assert counted(sum_usage(lines, now=NOW)) == {"24 h": 2, "7 d": 3, "30 d": 4, "total": 6}


def test_every_figure_is_summed() -> None:
    known = line(0, cached=80, cache_write=5, reasoning=4, possible=90, cost=0.5, saved=0.25)
    unknown = line(0, cached=10, possible=10, cost=None)
    assert sum_usage([known, unknown], now=NOW).windows["total"] == Totals(
        requests=2,
        input=200,
        cached=90,
        cache_write=5,
        output=20,
        reasoning=4,
        possible=100,
        cost=0.5,
        saved=0.25,
        unpriced=1,
        unpriced_tokens=100,
    )


@pytest.mark.parametrize(
    ("totals", "kept"),
    [(Totals(), None), (Totals(possible=100, cached=75), 0.75), (Totals(possible=100, cached=130), 1.0)],
)
def test_what_the_cache_kept_is_measured_on_what_was_possible(totals: Totals, kept: float | None) -> None:
    assert totals.kept == kept


def test_groups_are_named_after_what_was_asked_for_and_the_largest_comes_first() -> None:
    lines = [
        line(0, model="a", provider="x", session="s1", project="p1", agent="main"),
        line(0, model="b", provider="x", session="s2", project="p1", agent="main/explore-1"),
        line(0, model="b", provider="x", session="s2", project="p2", agent="main/explore-1"),
    ]
    one, two = (
        Totals(requests=1, input=100, output=10, unpriced=1, unpriced_tokens=110),
        Totals(requests=2, input=200, output=20, unpriced=2, unpriced_tokens=220),
    )
    expected = {
        "model": (UsageGroup(name="x/b", totals=two), UsageGroup(name="x/a", totals=one)),
        "session": (UsageGroup(name="s2", totals=two), UsageGroup(name="s1", totals=one)),
        "project": (UsageGroup(name="p1", totals=two), UsageGroup(name="p2", totals=one)),
        "agent": (UsageGroup(name="main/explore-1", totals=two), UsageGroup(name="main", totals=one)),
    }
    assert {by: sum_usage(lines, now=NOW, by=by).groups for by in expected} == expected  # type: ignore[arg-type]


def test_days_are_those_of_the_reader_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")  # 5:45 ahead: no whole number of hours
    time.tzset()
    try:
        noon = time.mktime((2027, 1, 15, 0, 0, 0, 0, 0, -1))
        lines = [LedgerLine(ts=noon + each, session="s", project="p") for each in (DAY, 1.0, -1.0)]
        found = sum_usage(lines, now=noon + DAY)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [group.name for group in found.groups] == ["2027-01-14", "2027-01-15", "2027-01-16"]


def test_a_project_sees_its_own_requests_only() -> None:
    lines = [line(0, project="p1"), line(0, project="p2"), line(0, project="p2")]
    assert counted(sum_usage(lines, now=NOW, project="p2"))["total"] == 2
    assert counted(sum_usage(lines, now=NOW))["total"] == 3


def test_days_bound_the_groups() -> None:
    lines = [line(HOUR), line(3 * DAY), line(40 * DAY)]
    assert sum(group.totals.requests for group in sum_usage(lines, now=NOW, by="model", days=2).groups) == 1
    assert sum(group.totals.requests for group in sum_usage(lines, now=NOW, by="model", days=365).groups) == 3


@pytest.mark.parametrize("ts", [0.0, -1e18, 1e18, 1e300, NOW + 400 * DAY])
def test_a_clock_that_was_wrong_breaks_nothing_and_loses_nothing(ts: float) -> None:
    found = sum_usage([LedgerLine(ts=ts, session="s", project="p"), line(HOUR)], now=NOW, days=10**8)
    assert counted(found) == {"24 h": 1, "7 d": 1, "30 d": 1, "total": 2}


def test_a_clock_that_is_a_little_ahead_still_counts_as_now() -> None:
    assert counted(sum_usage([line(-HOUR)], now=NOW)) == {"24 h": 1, "7 d": 1, "30 d": 1, "total": 1}
