"""An agent as one of several that write in the same workspace."""

from typing import NamedTuple


class Writer(NamedTuple):
    """`path` is its place in the tree of agents, and `parent` the agent that started it."""

    path: str
    description: str = ""
    parent: "Writer | None" = None

    @property
    def label(self) -> str:
        return f"{self.path} ({self.description})" if self.description else self.path

    def is_below(self, other: "Writer") -> bool:
        """True if it was started by another agent, or by one that this other agent has started."""
        above = self.parent
        while above is not None and above is not other:
            above = above.parent
        return above is not None
