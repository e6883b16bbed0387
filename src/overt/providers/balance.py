"""What is left on an account, read from the answers of the vendors that tell."""

from overt.core.codec import decode


def read_balance(body: bytes, currency: str = "") -> str:
    """An amount and its currency, like `12.34 USD`; empty when the answer does not hold one.

    `currency` is that of the account where the answer names none.
    """
    try:
        told: object = decode(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict):
        return ""
    if isinstance(told.get("balance_infos"), list):
        return _several(told["balance_infos"])
    data = told.get("data")
    told = data if isinstance(data, dict) else told
    if isinstance(bought := _number(told.get("total_credits")), float):
        used = _number(told.get("total_usage"))
        return _amount(bought - used, "USD") if used is not None else ""
    left = next(
        (_number(told[key]) for key in ("available_balance", "limit_remaining", "balance") if key in told), None
    )
    named = told.get("currency")
    return _amount(left, named if isinstance(named, str) else currency) if left is not None else ""


def _several(accounts: list[object]) -> str:
    """DeepSeek keeps an account in each currency."""
    found = []
    for account in accounts:
        if isinstance(account, dict) and (left := _number(account.get("total_balance"))) is not None:
            found.append(_amount(left, str(account.get("currency", ""))))
    return ", ".join(found)


def _amount(left: float, currency: str) -> str:
    return f"{left:.2f} {currency[:8]}".strip()


def _number(value: object) -> float | None:
    """Some vendors write their numbers as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None
