"""Format durations, counts, sizes and money in a few characters, as a status line needs them."""

CENTS = 0.1
"""Below this amount, dollars are shown with four decimals."""


def duration(seconds: float) -> str:
    """`0.4s`, `12s`, `2m 05s`, `1h 02m`."""
    tenths = round(max(seconds, 0) * 10)
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02d}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02d}m"


def clock(seconds: float) -> str:
    """Time that still runs, in whole seconds, so that it is redrawn once per second: `3s`, `2m 05s`."""
    whole = int(max(seconds, 0))
    return f"{whole}s" if whole < 10 else duration(whole)


def count(number: int) -> str:
    """`320`, `1.2k`, `45k`, `1.3M`."""
    return _scaled(number, 1000, ("", "k", "M", "G"))


def size(number: int) -> str:
    """`12 B`, `4.2 KB`, `18 MB`."""
    return _scaled(number, 1024, (" B", " KB", " MB", " GB"))


def money(dollars: float | None) -> str:
    """`$0.0042`, `$0.50`, `$12.30`; `?` for an unknown amount."""
    if dollars is None:
        return "?"
    if dollars <= 0:
        return "$0"
    if dollars < 0.0001:
        return "<$0.0001"
    if dollars >= CENTS:
        return f"${dollars:,.2f}"
    whole, _, fraction = f"{dollars:.4f}".partition(".")
    return f"${whole}.{fraction.rstrip('0').ljust(2, '0')}"


def _scaled(number: int, step: int, units: tuple[str, ...]) -> str:
    value, unit = float(number), 0
    while round(value) >= step and unit < len(units) - 1:
        value, unit = value / step, unit + 1
    figure = f"{value:.1f}".removesuffix(".0") if unit and value < 9.95 else f"{value:.0f}"
    return figure + units[unit]
