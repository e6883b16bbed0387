"""The tools a text may call, and how much may still be spent on looking for calls to them."""

from collections.abc import Mapping
from functools import cached_property

from overt.core.tool import Tool

STARTS, CHARACTERS = 200, 1_000_000
"""Places of one reply that are looked at for a call, and characters read there in all: ten times what the longest
replies need, and what keeps a text made of nothing but beginnings from stopping everything else."""


class ScanLimitError(Exception):
    """Enough was read: what remains is text."""


class ScannedTools(dict[str, Tool]):
    """One for a whole reply."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        super().__init__(tools)
        self._starts = STARTS
        self._characters = CHARACTERS

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the tools by all their names: ours and those of other agents."""
        own = {name: name for name in self}
        return own | {alias: name for name, tool in self.items() for alias in tool.aliases} | own

    @cached_property
    def spelled(self) -> dict[str, str]:
        """Return the tools by the letters of their names, to know them in another spelling: `ReadFile`, `read-file`."""
        return {letters(name): ours for name, ours in reversed(self.names.items())}

    def start(self) -> None:
        """Another place is looked at."""
        self._starts -= 1
        if self._starts < 0:
            raise ScanLimitError

    def spend(self, characters: int) -> None:
        """So many characters were read, or are about to be."""
        self._characters -= characters
        if self._characters < 0:
            raise ScanLimitError


def letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
