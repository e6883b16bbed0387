"""The three prompts whose screens are worth a picture: a long answer, an edit, a dangerous command."""

from tests.fakes.model_server import FakeCall, Turn

from bench._shop import Exchange

ANSWER = Exchange(
    "Compare the three ways to round money, with an example",
    (
        Turn(
            reasoning="Three modes of decimal matter for money: half up, half even, and to five cents for cash.",
            text="""## Rounding money

Three ways are common. `shop/rounding.py:6` does the third, `shop/cart.py:25` does not round at all.

| Way | 2.345 | 2.355 | Used for |
|---|---:|---:|---|
| half up | 2.35 | 2.36 | invoices 发票 |
| half even | 2.34 | 2.36 | sums of many lines |
| five cents | 2.35 | 2.35 | cash 现金 |

Half even keeps long sums **unbiased**; half up is what people *expect* on paper:

```python
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

def half_up(price: Decimal) -> Decimal:
    # as an invoice shows it
    return price.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
```

- Round **once**, at the end: `shop/orders.py:9` rounds too early.
- `shop/money.py:3` would be the place for it, but that file does not exist yet.
""",
            chunk=40,
            delay=0.03,
        ),
    ),
)

OLD = """\
    total = float(cart.total())
    tax = total * TAX
    return f"{customer}: {total + tax:.2f} EUR (tax {tax:.2f})"
"""
NEW = """\
    total = cart.total()
    tax = (total * TAX).quantize(CENT, rounding=ROUND_HALF_UP)
    return f"{customer}: {total + tax} EUR (tax {tax})"
"""
EDIT = Exchange(
    "Make the invoice exact: no float",
    (
        Turn(
            text="The tax becomes a `Decimal`, and the sum is rounded once.",
            calls=(FakeCall(name="read", arguments={"path": "shop/orders.py"}),),
        ),
        Turn(
            calls=(FakeCall(name="edit", arguments={"path": "shop/orders.py", "old_string": OLD, "new_string": NEW}),)
        ),
        Turn(text="The invoice is exact now: `shop/orders.py:9`."),
    ),
)

DANGER = Exchange(
    "Clean up what the tests left behind",
    (
        Turn(
            text="The build folder and the cache can go, and the branch is published again.",
            calls=(
                FakeCall(
                    name="bash",
                    arguments={
                        "command": "rm -rf build .cache && git push --force",
                        "description": "Remove caches and publish the branch",
                    },
                ),
            ),
        ),
        Turn(text="Then I leave both as they are."),
    ),
)
