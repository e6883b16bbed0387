"""What a status line can show of a conversation: plain values, measured where the conversation lives.

Nothing heavy is imported here: the first screen waits for it.
"""

from typing import NamedTuple

PLACEHOLDERS = (
    *("model", "provider", "mode", "sandbox", "used", "limit", "percent", "cost", "session_cost", "budget"),
    *("cache", "session_cache", "jobs", "agents", "branch", "offline", "title", "turn"),
)
"""What a person's own status line may name, each in braces."""


class Gauges(NamedTuple):
    """`used` and `limit` are tokens; a limit of 0 is not known. `lacking` are walls that the sandbox does not have.

    `cost` is of the last turn and `session_cost` of the whole session in US dollars, None where no price is known;
    with `unpriced`, requests without a price came on top, and with `estimated` some broke off before the server had
    counted them. `spend_limit` is in dollars too, 0 if there is none. `cache` and `session_cache` are the shares of the
    prompt tokens that came from the server's cache. `offline` says why nothing leaves the machine. `agents` counts the
    sub-agents that run.
    """

    model: str
    mode: str
    provider: str = ""
    sandbox: str = "none"
    lacking: tuple[str, ...] = ()
    used: int = 0
    limit: int = 0
    cost: float | None = 0.0
    session_cost: float | None = 0.0
    unpriced: bool = False
    estimated: bool = False
    spend_limit: float = 0.0
    cache: float | None = None
    session_cache: float | None = None
    jobs: int = 0
    agents: int = 0
    branch: str = ""
    offline: str = ""
    title: str = ""
    turn: int = 0

    @property
    def share(self) -> float | None:
        """Return the used share of the window, or None if the window is not known."""
        return self.used / self.limit if self.limit else None


def template_parts(template: str) -> tuple[tuple[str, str], ...]:
    """Texts and the name of the placeholder after each, empty at the end; ValueError for a brace without its other."""
    found: list[tuple[str, str]] = []
    while True:
        text, opened, rest = template.partition("{")
        name, closed, template = rest.partition("}")
        if "}" in text or bool(opened) != bool(closed) or "{" in name:
            raise ValueError
        found.append((text, name.strip()))
        if not opened:
            return tuple(found)
