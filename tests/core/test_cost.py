"""Prices of tokens: what is unknown stays unknown, and a cache is priced apart."""

import pytest

from overt.core.settings import Price
from overt.core.spending.cost import cost, dollars, savings
from overt.core.spending.usage import Usage

SONNET = Price(input=2.0, output=10.0, cached=0.2, cache_write=2.5)
PLAIN = Price(input=1.0, output=4.0)
FREE = Price(input=0.0, output=0.0, cached=0.0, cache_write=0.0)
USAGE = Usage(input=1_000_000, output=100_000, cached=600_000, cache_write=100_000, reasoning=50_000)


@pytest.mark.parametrize(
    ("usage", "price", "spent", "saved"),
    [
        (USAGE, SONNET, 0.3 * 2 + 0.6 * 0.2 + 0.1 * 2.5 + 0.1 * 10, 0.6 * 1.8 - 0.1 * 0.5),
        (USAGE, PLAIN, 1.0 + 0.4, None),
        (Usage(input=500_000, output=500_000), PLAIN, 2.5, 0.0),
        (USAGE, FREE, 0.0, 0.0),
        (USAGE, None, None, None),
        (USAGE, Price(), None, None),
        (Usage(), Price(), 0.0, 0.0),
        (Usage(input=10, output=1), Price(input=1.0), None, 0.0),
        (Usage(input=10), Price(input=1.0), 0.00001, 0.0),
        (Usage(cached=10, input=10), Price(cached=1.0), 0.00001, None),
    ],
)
def test_a_request_costs_what_its_parts_do(
    usage: Usage, price: Price | None, spent: float | None, saved: float | None
) -> None:
    assert cost(usage, price) == (None if spent is None else pytest.approx(spent))
    assert savings(usage, price) == (None if saved is None else pytest.approx(saved))


def test_parts_that_are_larger_than_the_whole_are_not_charged_twice() -> None:
    assert cost(Usage(input=100, cached=500, cache_write=500), SONNET) == pytest.approx(100 * 0.2 / 1e6)
    assert cost(Usage(input=-5, output=0), SONNET) == 0.0


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, "?"),
        (0.0, "$0"),
        (0.00001, "<$0.0001"),
        (0.0001, "$0.0001"),
        (0.01234, "$0.0123"),
        (0.5, "$0.5000"),
        (1.0, "$1.00"),
        (1234.5, "$1,234.50"),
        (-0.002, "-$0.0020"),
        (-0.00001, "-<$0.0001"),
    ],
)
def test_an_amount_is_written_as_people_read_it(amount: float | None, shown: str) -> None:
    assert dollars(amount) == shown
