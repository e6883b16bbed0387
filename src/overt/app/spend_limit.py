"""The most that a session may cost in US dollars, checked before each request."""

from collections.abc import Callable

from overt.core.cost import dollars
from overt.core.history import History
from overt.core.spend import Spend
from overt.engine.purse import Looked
from overt.lib.catalogue import say

WARN_SHARE = 0.8
"""Warn once this share of the limit is spent."""


def spend_limit(history: History, configured: float) -> float:
    """Return the limit that a person set in the session, else the configured one; 0 is no limit."""
    return configured if history.spend_limit is None else history.spend_limit


class SessionSpendLimit:
    """Holds what a session has spent against its limit. Each warning is given once."""

    def __init__(self, configured: float, spend: Callable[[], Spend]) -> None:
        self._configured = configured
        self._spend = spend
        self._warned: set[str] = set()

    def look(self, history: History) -> Looked:
        limit = spend_limit(history, self._configured)
        if not limit:
            return Looked()
        spent = self._spend().session
        amounts = {"spent": dollars(spent.cost), "bound": dollars(limit)}
        if spent.cost >= limit:
            return Looked(refusal=say("budget.over", **amounts))
        if spent.cost >= WARN_SHARE * limit:
            return self._warn_once(f"nearly {limit}", say("budget.nearly", **amounts))
        if spent.unpriced:
            return self._warn_once("unpriced", say("budget.unpriced", count=spent.unpriced))
        return Looked()

    def _warn_once(self, key: str, text: str) -> Looked:
        if key in self._warned:
            return Looked()
        self._warned.add(key)
        return Looked(warning=text)
