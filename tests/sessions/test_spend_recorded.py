"""What recorded sessions cost: the fold over their entries gives the sums that their version wrote into its ledger."""

import tarfile
from pathlib import Path

from msgspec.structs import replace
from tests.journeys.previous_kit import ARCHIVE
from tests.sessions.samples import ROOT

from overt.core.spending.spend import Spend, Totals
from overt.sessions.fork import fork
from overt.sessions.index import find_path, paths
from overt.sessions.load import load
from overt.sessions.resume import resume, session_spend
from overt.sessions.stats import sum_usage
from overt.sessions.usage_ledger import read_ledger

FIRST_FORMAT = ROOT / "tests/golden/sessions/20261116T124032Z-d76e5910.jsonl"


def unpack(folder: Path) -> str:
    """Return the data folder of the previous version."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="tar")
    return str(folder / "home/.local/share/overt")


def test_sums_of_recorded_sessions_equal_their_ledger(tmp_path: Path) -> None:
    """Titles, summaries, several models, replies that broke off, and a fork, which pays for its own requests only."""
    data_dir = unpack(tmp_path)
    lines = list(read_ledger(data_dir))
    sessions = [load(path) for path in paths(data_dir)]
    folded = {loaded.id: session_spend(loaded.entries) for loaded in sessions}
    booked = {id: sum_usage([line for line in lines if line.session == id], now=0.0).windows["total"] for id in folded}
    assert {id: without_estimate(spend.session) for id, spend in folded.items()} == {
        id: without_estimate(totals) for id, totals in booked.items()
    }
    assert {id: spend.turn_number for id, spend in folded.items()} == {
        loaded.id: max(entry.turn for entry in loaded.entries) for loaded in sessions
    }
    assert (folded["forked"].session.requests, folded["forked"].agents["main"].model) == (1, "fake-model")
    assert {line.purpose for line in lines} == {"step", "summary", "title"}
    assert any(totals.unpriced for totals in booked.values())


def without_estimate(totals: Totals) -> Totals:
    """Leave out what a cache could have held: it was then estimated without the requests before a resume."""
    return replace(totals, possible=0)


def test_fork_has_spent_nothing_until_it_sends_a_request(tmp_path: Path) -> None:
    path = find_path(unpack(tmp_path), "chat")
    spent = session_spend(load(path).entries)
    copy = session_spend(load(fork(path)).entries)
    assert (copy.session, copy.agents) == (Totals(), spent.agents)
    assert spent.session.requests == 15


def test_session_without_recorded_prices_counts_as_unpriced() -> None:
    spent = resume(load(str(FIRST_FORMAT)).entries).spend.session
    assert spent.requests == spent.unpriced > 0
    assert spent.known_cost is None


def test_no_entries_cost_nothing() -> None:
    assert session_spend(()) == Spend()
