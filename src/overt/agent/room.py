"""When room must be made for the next request: asked before each, so it stays apart from how it is made."""

from overt.context.budget import Budget

SHARE = 0.1
"""Of the window: after an attempt, so much must be added before the next."""


class Room:
    """What one agent remembers of its attempts, so that one which did not help is not made again at every step."""

    def __init__(self) -> None:
        self._not_below = 0

    def due(self, budget: Budget, counted: int) -> bool:
        return bool(budget.due_above) and counted > max(budget.due_above, self._not_below)

    def short(self, budget: Budget, counted: int) -> bool:
        """Whether a request of this size must not go out as it is."""
        return budget.window > 0 and (self.due(budget, counted) or counted > budget.cap)

    def tried(self, budget: Budget, counted: int) -> None:
        self._not_below = counted + round(budget.window * SHARE)


def by_itself(budget: Budget | None) -> bool:
    """Whether room may be made without being asked: nobody has switched it off."""
    return budget is not None and budget.threshold > 0
