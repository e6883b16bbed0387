"""What to tell at the end of a run whose session could not be written completely."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from overt.core.protocols import UnsavedEntry
from overt.lib.translations import say


def describe_unsaved(entries: Sequence[UnsavedEntry], path: str) -> Iterator[str]:
    """Yield the lines for the person: how many entries are missing, then every turn with its missing entries."""
    yield say("session.unsaved", count=len(entries), path=path)
    turns: dict[int, list[str]] = {}
    for entry in entries:
        turns.setdefault(entry.turn, []).append(entry.type)
    for turn, types in sorted(turns.items()):
        entries_text = ", ".join(_count_runs(types))
        yield say("session.unsaved_turn", turn=turn, entries=entries_text) if turn else f"  {entries_text}"


def _count_runs(types: Iterable[str]) -> Iterator[str]:
    """Yield each type once per run of equal ones, with their number: `request`, `2 × outcome`."""
    for name, run in groupby(types):
        count = sum(1 for _ in run)
        yield name if count == 1 else f"{count} × {name}"
