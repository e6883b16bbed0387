"""The most that a session may cost in US dollars, checked before each request."""

from collections.abc import Callable

from overt.agent.agent import SpendCheck
from overt.core.history import History
from overt.core.spending.cost import dollars
from overt.core.spending.spend import Spend
from overt.lib.translations import say

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

    def check(self, history: History) -> SpendCheck:
        limit = spend_limit(history, self._configured)
        if not limit:
            return SpendCheck()
        spent = self._spend().session
        paid, most = dollars(spent.cost), dollars(limit)
        if spent.cost >= limit:
            return SpendCheck(refusal=say("budget.over", spent=paid, bound=most))
        if spent.cost >= WARN_SHARE * limit:
            return self._warn_once(f"nearly {limit}", say("budget.nearly", spent=paid, bound=most))
        if spent.unpriced:
            return self._warn_once("unpriced", say("budget.unpriced", count=spent.unpriced))
        return SpendCheck()

    def _warn_once(self, key: str, text: str) -> SpendCheck:
        if key in self._warned:
            return SpendCheck()
        self._warned.add(key)
        return SpendCheck(warning=text)
