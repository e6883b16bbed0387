"""The prompts whose screens are worth a picture: a long answer, an edit, a dangerous command, three agents at work."""

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


def _task(agent: str, description: str, prompt: str) -> FakeCall:
    return FakeCall(name="task", arguments={"agent": agent, "description": description, "prompt": prompt})


def _read(*paths: str) -> tuple[FakeCall, ...]:
    return tuple(FakeCall(name="read", arguments={"path": path}) for path in paths)


def _used(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": tokens, "completion_tokens": tokens // 20, "total_tokens": tokens + tokens // 20}


ROUNDING = "Find every place where money is rounded or turned into a float. Answer with path:line and what is wrong."
TESTS = "Run the tests and say which modules have none."
DOCS = "Compare README.md with the code 代码. Name what is not true any more."
DELEGATE = Exchange(
    "Check the shop from three sides before the release",
    (
        Turn(
            text="Three agents look at it at the same time.",
            calls=(
                _task("explore", "Find wrong rounding", ROUNDING),
                _task("general", "Run the tests", TESTS),
                _task("explore", "检查文档 README", DOCS),
            ),
        ),
        Turn(text="All three are back: one rounding error, no failing test."),
    ),
)
AGENTS = {
    ROUNDING: (
        Turn(
            text="First the modules that hold prices.",
            calls=(FakeCall(name="grep", arguments={"pattern": "float|round", "path": "shop"}),),
            usage=_used(5400),
        ),
        Turn(calls=_read("shop/orders.py", "shop/cart.py"), usage=_used(6100)),
        Turn(
            reasoning="The cart is exact. The invoice goes through float.",
            text="""## Rounding

- `shop/orders.py:9` turns the sum into a `float` before the tax is added, so cents are lost.
- `shop/cart.py:25` is **exact**: it adds `Decimal` values and rounds nothing.

| place | type | exact |
|---|---|---|
| `shop/cart.py:25` | `Decimal` | yes |
| `shop/orders.py:9` | `float` | no |

The tax itself is a `float` as well: `shop/orders.py:5`. It would have to become a `Decimal` before the sum
can be exact, and the result be rounded once, at the end of `invoice`, half up as invoices are.
"""
            + "\n\nNothing else in the shop handles money." * 60,
            chunk=40,
            delay=0.6,
        ),
    ),
    TESTS: (
        Turn(calls=_read("tests/test_cart.py"), usage=_used(5200)),
        Turn(
            calls=(FakeCall(name="bash", arguments={"command": "python -m unittest -q; sleep 60"}),),
            usage=_used(5900),
        ),
        Turn(text="All tests pass."),
    ),
    DOCS: (
        Turn(calls=_read("README.md"), usage=_used(5100)),
        Turn(reasoning="The README says that there are no dependencies. " * 200, chunk=20, delay=0.3),
    ),
}
"""The task of each agent → its turns. The last one takes longer than it takes to look at the tree."""
