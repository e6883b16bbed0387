"""What tokens cost in US dollars, and what a cache took off: from reported usage and a price list."""

from overt.core.settings import Price
from overt.core.spending.usage import Usage

MILLION = 1_000_000
SMALLEST = 0.0001


def cost(usage: Usage, price: Price | None) -> float | None:
    """None when a price is missing for tokens that were used.

    Tokens read from a cache or written to one cost what others do where the list has no price of their own for them.
    """
    if price is None:
        return None
    fresh, cached, written = _apart(usage)
    read = price.input if price.cached is None else price.cached
    write = price.input if price.cache_write is None else price.cache_write
    charged = ((fresh, price.input), (cached, read), (written, write), (usage.output, price.output))
    total = 0.0
    for tokens, each in charged:
        if tokens and each is None:
            return None
        total += tokens * (each or 0.0)
    return total / MILLION


def savings(usage: Usage, price: Price | None) -> float | None:
    """What the request would have cost more without a cache, less what writing to it cost; None if unknown."""
    if price is None:
        return None
    _, cached, written = _apart(usage)
    full = price.input or 0.0
    if (cached and price.cached is None and price.input != 0) or ((cached or written) and price.input is None):
        return None
    write = full if price.cache_write is None else price.cache_write
    return (cached * (full - (price.cached or 0.0)) - written * (write - full)) / MILLION


def dollars(amount: float | None) -> str:
    """An amount as people read it: `$0.0123`, `$12.30`, `<$0.0001`; `?` if it is not known."""
    if amount is None:
        return "?"
    sign, size = ("-" if amount < 0 else ""), abs(amount)
    if size == 0:
        return "$0"
    if size < SMALLEST:
        return f"{sign}<${SMALLEST}"
    return f"{sign}${size:,.4f}" if size < 1 else f"{sign}${size:,.2f}"


def _apart(usage: Usage) -> tuple[int, int, int]:
    """Fresh, cached and written tokens of the prompt; no part is larger than the whole."""
    cached = min(max(0, usage.cached), max(0, usage.input))
    written = min(max(0, usage.cache_write), max(0, usage.input) - cached)
    return max(0, usage.input) - cached - written, cached, written
