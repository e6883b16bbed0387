"""The limits of a session, a turn and a sub-agent, each with the amount used."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from overt.core.history import History
from overt.core.settings import Limits
from overt.core.spending.cost import dollars
from overt.core.spending.spend import Spend, Totals
from overt.core.spending.worst_case import WorstCase, counted_dollars
from overt.lib.translations import say

WARN_SHARE = 0.8
"""Warn once this share of a limit is used."""

Unit = Literal["usd", "tokens", "seconds"]


class Cap(Struct, frozen=True, kw_only=True):
    """One limit. `key` is its name in `[limits]`; `reserved` is what running requests may add to `used`."""

    key: str
    unit: Unit
    most: float
    used: float
    reserved: float = 0.0

    @property
    def scope(self) -> str:
        return say(f"limits.scope.{'session' if self.key == 'budget_usd' else self.key.partition('_')[0]}")

    def amount(self, number: float) -> str:
        if self.unit == "usd":
            return dollars(number)
        return say(f"limits.{self.unit}", number=round(number))

    def output_for(self, worst: WorstCase) -> float:
        """Return how many output tokens the rest of the limit pays for; below 0 if not even the input."""
        rest = self.most - self.used - self.reserved
        return worst.tokens_for(rest) if self.unit == "usd" else rest - worst.input

    def describe_state(self) -> str:
        most, share = self.amount(self.most), f"{100 * self.used / self.most:.0f}"
        return say("limits.state", scope=self.scope, most=most, used=self.amount(self.used), share=share)

    def describe_end(self, worst: WorstCase) -> str:
        """Return the message that the next request does not fit."""
        least = worst.cost(worst.least) if self.unit == "usd" else worst.input + worst.least
        return say(
            "limits.over",
            scope=self.scope,
            most=self.amount(self.most),
            used=self.amount(self.used),
            next=self.amount(least),
        )

    def needed(self, worst: WorstCase) -> float:
        """Return the limit at which the next request would fit."""
        return self.used + (worst.cost(worst.least) if self.unit == "usd" else worst.input + worst.least)


def spend_limit(history: History, configured: float) -> float:
    """Return the limit that the user set in the session, else the configured one; 0 is no limit."""
    return configured if history.spend_limit is None else history.spend_limit


def session_caps(limits: Limits, history: History, spend: Spend) -> Iterator[Cap]:
    """Yield the limits in dollars and tokens that are set for a session and its turn."""
    tokens = limits.session_tokens if history.token_limit is None else history.token_limit
    yield from _caps("budget_usd", spend_limit(history, limits.budget_usd), "session_tokens", tokens, spend.session)
    yield from _caps("turn_usd", limits.turn_usd, "turn_tokens", limits.turn_tokens, spend.turn)


def agent_caps(limits: Limits, spend: Spend) -> Iterator[Cap]:
    """Yield the limits in dollars and tokens that are set for each sub-agent."""
    yield from _caps("agent_usd", limits.agent_usd, "agent_tokens", limits.agent_tokens, spend.session)


def _caps(usd_key: str, usd: float, tokens_key: str, tokens: int, spent: Totals) -> Iterator[Cap]:
    if usd:
        yield Cap(key=usd_key, unit="usd", most=usd, used=counted_dollars(spent))
    if tokens:
        yield Cap(key=tokens_key, unit="tokens", most=tokens, used=spent.usage.uncached)


def time_cap(limits: Limits, spend: Spend, *, elapsed: float, is_agent: bool) -> Cap | None:
    """Return the time limit that the running turn reaches first, or None. The turn has taken `elapsed` seconds.

    The time of a session is the sum of its turns.
    """
    before = spend.ms / 1000
    rows = (
        (("agent_seconds", limits.agent_seconds, 0.0),)
        if is_agent
        else (("session_seconds", limits.session_seconds, before), ("turn_seconds", limits.turn_seconds, 0.0))
    )
    caps = [Cap(key=key, unit="seconds", most=most, used=used + elapsed) for key, most, used in rows if most]
    return min(caps, key=lambda cap: cap.most - cap.used, default=None)
