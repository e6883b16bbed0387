"""Foreign names of tools and arguments become ours, where ours exist."""

from collections.abc import Collection
from typing import Any

from overt.core.foreign import OUR_ARGUMENTS, our_tool


def tool_name(name: str, tools: Collection[str]) -> str:
    """The tool that was meant, or the name as it came when no tool of ours fits."""
    if name in tools:
        return name
    for candidate in (our_tool(name), our_tool(name.strip()), name.strip().lower(), name.rpartition(".")[2]):
        if candidate in tools:
            return candidate
    return name


def argument_names(given: dict[str, Any], known: Collection[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Arguments under our names, and what was renamed; a name of ours that is given is never overwritten."""
    renamed: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in given.items():
        ours = OUR_ARGUMENTS.get(name, name)
        if name not in known and ours in known and ours not in given and ours not in renamed:
            renamed[ours] = value
            notes.append(f"{name} → {ours}")
        else:
            renamed[name] = value
    return renamed, tuple(notes)
