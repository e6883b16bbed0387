"""What `overt stats` and `overt diff` ask: sums over the ledger, and two sessions side by side."""

from time import time

from msgspec import Struct

from overt.app.setting import Setting
from overt.config.paths import read_environment
from overt.context.changes import describe_prefix_change
from overt.core.events import Event, PrefixSet
from overt.core.spending.cost import dollars
from overt.core.spending.spend import Totals
from overt.lib.paths import slug
from overt.sessions.diff import (
    ComparedCall,
    ComparedTurn,
    Divergence,
    SessionDifference,
    TurnPair,
    compare_turns,
    read_turns,
)
from overt.sessions.entries import Entry
from overt.sessions.index import find_path
from overt.sessions.load import load
from overt.sessions.stats import By, Stats, UsageGroup, sum_usage
from overt.sessions.usage_ledger import read_ledger

__all__ = [
    "By",
    "ComparedCall",
    "ComparedTurn",
    "Divergence",
    "SessionComparison",
    "Stats",
    "Totals",
    "TurnPair",
    "UsageGroup",
    "compare_sessions",
    "dollars",
    "usage_stats",
]


class SessionComparison(Struct, frozen=True, kw_only=True):
    """Two sessions. `prefixes` says what differs in what every request begins with, empty when nothing does."""

    left: str
    right: str
    difference: SessionDifference
    prefixes: str = ""
    damage: tuple[str, ...] = ()


def usage_stats(setting: Setting, *, everywhere: bool, by: By = "day", days: int = 30) -> Stats:
    """What was spent in the project of a folder, or everywhere."""
    project = "" if everywhere else slug(setting.roots.project)
    return sum_usage(read_ledger(setting.environment.data_dir), now=time(), by=by, days=days, project=project)


def compare_sessions(left: str, right: str) -> SessionComparison:
    data_dir = read_environment().data_dir
    one, other = load(find_path(data_dir, left, None)), load(find_path(data_dir, right, None))
    first, second = _first_prefix(one.entries), _first_prefix(other.entries)
    return SessionComparison(
        left=one.id,
        right=other.id,
        difference=compare_turns(read_turns(one.entries), read_turns(other.entries)),
        prefixes=describe_prefix_change(first, second)
        if first and second and first.fingerprint != second.fingerprint
        else "",
        damage=(*(f"{one.id}: {line}" for line in one.damage), *(f"{other.id}: {line}" for line in other.damage)),
    )


def _first_prefix(entries: tuple[Entry[Event], ...]) -> PrefixSet | None:
    return next((entry.data for entry in entries if isinstance(entry.data, PrefixSet)), None)
