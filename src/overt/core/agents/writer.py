"""Identifies an agent among several that write in the same workspace."""

from msgspec import Struct


class Writer(Struct, frozen=True, eq=False):
    """`path` is its place in the tree of agents, and `parent` the agent that started it. Compared by identity, as two
    sessions may have an agent with the same path."""

    path: str
    description: str = ""
    parent: "Writer | None" = None

    @property
    def label(self) -> str:
        return f"{self.path} ({self.description})" if self.description else self.path

    def is_below(self, other: "Writer") -> bool:
        """True if it was started by this other agent, or by one that the other has started."""
        above = self.parent
        while above is not None and above is not other:
            above = above.parent
        return above is not None
