"""Hooks as a file has them, one table for each group, with its line."""

from collections.abc import Callable

from overt.core.codec import compact
from overt.core.settings import HookTable
from overt.lib.jsonc import Path


def read_hook_tables(events: dict[str, object], place: Callable[[Path], str]) -> tuple[HookTable, ...]:
    """Return the groups of every event. What is in them is checked when hooks are used."""
    tables: list[HookTable] = []
    for event, groups in events.items():
        for index, group in enumerate(groups if isinstance(groups, list) else [groups]):
            tables.append(HookTable(event=event, text=compact(group), origin=place((event, index))))
    return tuple(tables)
