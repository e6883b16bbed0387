"""The most that a request can cost: its input as if nothing of it were cached, and its output up to its limit."""

from math import floor, inf
from typing import TypeGuard

from msgspec import Struct

from overt.core.settings import Price
from overt.core.spending.cost import MILLION
from overt.core.spending.spend import Totals

LEAST_OUTPUT = 1000
"""Tokens of a reply below which a request is not worth sending."""
UNKNOWN_OUTPUT = 16_384
"""The assumed output limit of a model whose own limit is unknown."""
STAND_IN = 5.0
"""The assumed US dollars per million uncached tokens of a model without a known price."""


class WorstCase(Struct, frozen=True, kw_only=True):
    """`input` is the most that the request can take, `output` the most that its reply can. The request is
    not sent if fewer than `least` tokens are left for the reply. Without a known price, `STAND_IN` is used."""

    input: int
    output: int
    least: int
    price: Price | None = None

    @property
    def input_cost(self) -> float:
        price = self.price
        if not is_known(price):
            return self.input * STAND_IN / MILLION
        return self.input * max(price.input or 0.0, price.cache_write or 0.0) / MILLION

    @property
    def output_price(self) -> float:
        """US dollars for one token."""
        return ((self.price.output or 0.0) if is_known(self.price) else STAND_IN) / MILLION

    def cost(self, output: int) -> float:
        return self.input_cost + output * self.output_price

    def tokens_for(self, dollars: float) -> float:
        """Return how many output tokens this amount pays for; below 0 if not even the input."""
        left = dollars - self.input_cost
        if self.output_price == 0.0:
            return inf if left >= 0 or not self.input_cost else -1
        return floor(left / self.output_price - 1e-6)


def is_known(price: Price | None) -> TypeGuard[Price]:
    return price is not None and price.input is not None and price.output is not None


def counted_dollars(spent: Totals) -> float:
    """Return what counts against a limit in dollars: the known cost, and `STAND_IN` for requests without a price."""
    return spent.cost + spent.unpriced_tokens * STAND_IN / MILLION
