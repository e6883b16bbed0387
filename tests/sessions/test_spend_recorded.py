"""What recorded sessions cost: the fold over their entries gives the sums that their version wrote into its ledger.

The files in `golden/spend` were recorded by commit e62c5f6 and must never be written anew: a session with steps, a
title, a summary, three models (one with half a price), a typed command and a reply that was interrupted, and its fork.
"""

import pytest
from msgspec.structs import replace
from tests.sessions.samples import ROOT

from overt.core.spend import Spend, Totals
from overt.sessions.ledger import read
from overt.sessions.load import load
from overt.sessions.resume import resume, session_spend
from overt.sessions.stats import stats

RECORDED = ROOT / "tests/golden/spend"
FIRST_FORMAT = ROOT / "tests/golden/sessions/20261116T124032Z-d76e5910.jsonl"


@pytest.mark.parametrize(
    ("name", "possible"),
    [("20261118T052205Z-recorded.jsonl", None), ("20261118T052206Z-ad35199c.jsonl", 4776)],
    ids=["session", "fork"],
)
def test_sums_of_a_recorded_session_equal_its_ledger(name: str, possible: int | None) -> None:
    """Only the cache estimate of a fork differs: then, the requests before it were not looked at."""
    loaded = load(str(RECORDED / name))
    lines = [line for line in read(str(RECORDED)) if line.session == loaded.id]
    booked = stats(lines, now=0.0).windows["total"]
    spend = session_spend(loaded.entries)
    assert spend.session == replace(booked, possible=possible or booked.possible)
    assert (spend.turn_number, spend.turn.requests, loaded.damage) == (lines[-1].turn, 1, ())


def test_fork_has_spent_nothing_until_it_asks_for_something_itself() -> None:
    (path,) = [path for path in RECORDED.glob("2*.jsonl") if not path.stem.endswith("recorded")]
    entries = load(str(path)).entries
    copied = next(at for at, entry in enumerate(entries) if entry.turn == 9)
    assert session_spend(entries[:copied]).session == Totals()
    assert session_spend(entries).agents["main"].model == "priced"


def test_session_without_recorded_prices_counts_as_unpriced() -> None:
    spent = resume(load(str(FIRST_FORMAT)).entries).spend.session
    assert (spent.requests, spent.unpriced, spent.known_cost) == (spent.requests, spent.requests, None)
    assert spent.requests > 0


def test_no_entries_cost_nothing() -> None:
    assert session_spend(()) == Spend()
