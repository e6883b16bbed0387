"""A believable project and a session of sixty turns in it: what is asked, and what the model does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.fakes.model_server import FakeCall, Turn

TURNS = 60

FILES = {
    "AGENTS.md": "# Rules\n- Money is `Decimal`, never `float`.\n- Every module has a test of the same name.\n"
    "- Run `python -m unittest -q` before you say that something is done.\n",
    "README.md": "# shop\n\nA small shop: carts, prices, orders. No dependencies.\n",
    "overt.toml": '[permissions]\nallow = ["bash(python -m unittest *)", "bash(git diff *)"]\ndeny = ["read(.env)"]\n',
    "shop/__init__.py": '"""A small shop."""\n',
    "shop/cart.py": '''"""What a customer wants to buy."""

from dataclasses import dataclass, field
from decimal import Decimal


@dataclass
class Line:
    name: str
    price: Decimal
    count: int = 1

    def total(self) -> Decimal:
        return self.price * self.count


@dataclass
class Cart:
    lines: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        self.lines.append(line)

    def total(self) -> Decimal:
        return sum((line.total() for line in self.lines), Decimal(0))
''',
    "shop/orders.py": '''"""Orders: a cart that somebody has paid for."""

from shop.cart import Cart

TAX = 0.19


def invoice(cart: Cart, customer: str) -> str:
    total = float(cart.total())
    tax = total * TAX
    return f"{customer}: {total + tax:.2f} EUR (tax {tax:.2f})"
''',
    ".gitignore": "build/\n.cache/\n__pycache__/\n",
    ".cache/prices.json": "{}\n",
    "build/shop-0.3.0.whl": "PK\n" * 400,
    "build/shop-0.3.0.tar": "shop\n" * 900,
    "tests/__init__.py": "",
    "tests/test_cart.py": """import unittest
from decimal import Decimal

from shop.cart import Cart, Line


class CartTest(unittest.TestCase):
    def test_a_cart_adds_up(self) -> None:
        cart = Cart([Line("pen", Decimal("1.20"), 3), Line("ink", Decimal("4.00"))])
        self.assertEqual(cart.total(), Decimal("7.60"))
""",
}


class Exchange(NamedTuple):
    prompt: str
    turns: tuple[Turn, ...]


class Feature(NamedTuple):
    """A module the session adds: `signature` and `body` of its one function."""

    module: str
    title: str
    chinese: str
    signature: str
    body: str


FEATURES = (
    Feature(
        "discounts",
        "discounts in per cent",
        "按百分比打折",
        "discounted(price: Decimal, percent: int)",
        "price * (100 - percent) / 100",
    ),
    Feature(
        "shipping",
        "shipping by weight",
        "按重量计算运费",
        "shipping(grams: int)",
        "Decimal('3.90') + Decimal('0.5') * (grams // 500)",
    ),
    Feature(
        "tax",
        "tax by country",
        "按国家计税",
        "taxed(price: Decimal, rate: Decimal)",
        "(price * (1 + rate)).quantize(Decimal('0.01'))",
    ),
    Feature(
        "coupons",
        "coupons that take off a fixed sum",
        "固定金额的优惠券",
        "reduced(price: Decimal, coupon: Decimal)",
        "max(price - coupon, Decimal(0))",
    ),
    Feature(
        "stock",
        "a check of what is in stock",
        "库存检查",
        "available(wanted: int, stock: int)",
        "Decimal(min(wanted, stock))",
    ),
    Feature(
        "rounding",
        "rounding to five cents",
        "四舍五入到五分",
        "rounded(price: Decimal)",
        "(price * 20).quantize(Decimal(1)) / 20",
    ),
    Feature(
        "currency",
        "prices in other currencies",
        "其他货币的价格",
        "converted(price: Decimal, rate: Decimal)",
        "(price * rate).quantize(Decimal('0.01'))",
    ),
    Feature("loyalty", "points for loyal customers", "会员积分", "points(total: Decimal)", "total // 10"),
    Feature(
        "refunds",
        "refunds of single lines",
        "单行退款",
        "refund(paid: Decimal, share: Decimal)",
        "(paid * share).quantize(Decimal('0.01'))",
    ),
    Feature(
        "bundles",
        "bundles that cost less",
        "套装优惠",
        "bundle(prices: list[Decimal])",
        "sum(prices, Decimal(0)) * Decimal('0.9')",
    ),
    Feature(
        "giftwrap",
        "gift wrapping",
        "礼品包装",
        "wrapped(price: Decimal, pieces: int)",
        "price + Decimal('1.50') * pieces",
    ),
    Feature("deposits", "deposits on bottles", "瓶子押金", "deposit(bottles: int)", "Decimal('0.25') * bottles"),
    Feature("express", "express delivery", "加急配送", "express(shipping: Decimal)", "shipping * 2"),
    Feature(
        "limits",
        "a limit for one order",
        "单笔订单上限",
        "allowed(total: Decimal, limit: Decimal)",
        "min(total, limit)",
    ),
    Feature(
        "interest",
        "interest for late payment",
        "逾期利息",
        "interest(total: Decimal, days: int)",
        "total * Decimal('0.0002') * days",
    ),
    Feature(
        "tips",
        "a tip at the counter",
        "小费",
        "with_tip(total: Decimal, percent: int)",
        "total + total * percent / 100",
    ),
)


CLEARER = (
    "Say in the module what it does not do",
    "Write down its limits",
    "Its docstring should say what is left out",
    "Document that nothing is rounded here",
    "What if there is a currency? Say that it knows none",
)
CLEARER_CHINESE = ("写得更清楚一些", "说明它不做什么", "补充一下文档")


def make_project(folder: Path) -> None:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def session() -> tuple[Exchange, ...]:
    """Sixty exchanges: questions first, then one feature after the other, every third of them in Chinese."""
    found = [*_beginning()]
    for number, feature in enumerate(FEATURES):
        found += _feature(feature, number)
    return tuple(found[:TURNS])


def others() -> tuple[tuple[str, Exchange], ...]:
    """Short sessions beside the long one, by their names."""
    return (
        (
            "why is the tax a float",
            _plain("Why is the tax a float?", "`shop/orders.py:5` says `TAX = 0.19`. It is a mistake."),
        ),
        ("发票的格式", _plain("发票的格式是什么？", "在 `shop/orders.py:8` 中：客户、总额、货币和税额。")),
        (
            "speed of the cart",
            _plain("Is the cart slow with 10 000 lines?", "No: 2 ms. `shop/cart.py:25` adds once per line."),
        ),
        (
            "release notes",
            _plain("Draft release notes for 0.4", "- Discounts, shipping, tax by country\n- `Decimal` everywhere"),
        ),
    )


def _beginning() -> Iterator[Exchange]:
    yield _plain(
        "What is this project?", "A small shop in plain Python: `shop/cart.py:20` is the cart, orders come from it."
    )
    yield Exchange(
        "Run the tests",
        (
            _does(_call("bash", command="python -m unittest -q", description="Run the tests")),
            Turn(text="One test, and it passes."),
        ),
    )
    yield Exchange(
        "Is money a Decimal everywhere?",
        (
            _does(_call("grep", pattern="float", path="shop")),
            _does(_call("read", path="shop/orders.py")),
            Turn(text="Not quite: `shop/orders.py:9` makes a `float` of the total, against the rule in AGENTS.md."),
        ),
    )
    yield Exchange(
        "Plan what we need for a first release",
        (
            _does(_call("todowrite", todos=_todos(1)), text="Sixteen small modules, each with a test."),
            Turn(text="The plan stands. I begin with discounts."),
        ),
    )
    yield _plain(
        "用中文说明一下计划",
        "计划如下：\n\n1. 先写**折扣**和**运费**\n2. 再写税和优惠券\n3. 每个模块都有同名测试，最后一起运行。",
    )
    yield _plain("How do I run one test only?", "```sh\npython -m unittest tests.test_cart.CartTest\n```")
    yield _plain("Which Python do we support?", "3.11 and later: nothing here needs more.")
    yield _plain("谢谢，开始吧", "好的，开始写折扣模块。")
    yield _plain("Keep every function pure, please", "Understood: no function reads a file, a clock or a variable.")
    yield _plain("And no dependencies", "None: the standard library is enough.")
    yield _plain("Who reads the invoices?", "Nobody in the code; `shop/orders.py:8` only returns the text.")
    yield _plain("订单里要不要保存时间？", "要，但时间作为参数传入，函数仍然是纯的。")


def _feature(feature: Feature, number: int) -> Iterator[Exchange]:
    chinese = number % 3 == 2
    name = feature.signature.partition("(")[0]
    path = f"shop/{feature.module}.py"
    code = (
        f'"""{feature.title.capitalize()}."""\n\nfrom decimal import Decimal\n\n\n'
        f"def {feature.signature} -> Decimal:\n    return {feature.body}\n"
    )
    test = (
        f"import unittest\n\nfrom shop import {feature.module}\n\n\n"
        f"class {feature.module.capitalize()}Test(unittest.TestCase):\n"
        f"    def test_it_is_there(self) -> None:\n        self.assertTrue(callable({feature.module}.{name}))\n"
    )
    yield Exchange(
        f"添加{feature.chinese}" if chinese else f"Add {feature.title}",
        (
            _does(
                _call("write", path=path, content=code),
                _call("write", path=f"tests/test_{feature.module}.py", content=test),
                text=f"先写 `{name}`，再写测试。" if chinese else f"First `{name}`, then its test.",
            ),
            _does(_call("bash", command="python -m unittest -q", description="Run the tests")),
            Turn(text=f"完成：{path}:6，测试通过。" if chinese else f"Done: `{path}:6`, and the tests pass."),
        ),
    )
    yield _plain(
        f"{name} 怎么用？" if chinese else f"How is {name} used?",
        f"`{path}:6`:\n\n```python\nfrom shop.{feature.module} import {name}\n```",
    )
    title = feature.title.capitalize()
    yield Exchange(
        _cycle(CLEARER_CHINESE if chinese else CLEARER, number),
        (
            _does(
                _call("read", path=path),
                _call(
                    "edit",
                    path=path,
                    old_string=f'"""{title}."""',
                    new_string=f'"""{title}. It rounds nothing and knows no currency."""',
                ),
            ),
            Turn(text="已更新说明。" if chinese else f"`{path}:1` says so now."),
        ),
    )


def _plain(prompt: str, text: str) -> Exchange:
    return Exchange(prompt, (Turn(text=text),))


def _cycle(texts: tuple[str, ...], number: int) -> str:
    return texts[number % len(texts)]


def _does(*calls: FakeCall, text: str = "") -> Turn:
    return Turn(text=text, calls=calls)


def _call(name: str, **arguments: Any) -> FakeCall:
    return FakeCall(name=name, arguments=arguments)


def _todos(done: int) -> list[dict[str, str]]:
    names = ("discounts", "shipping", "tax by country", "coupons", "invoices without float", "release notes")
    states = ["completed"] * done + ["in_progress"] + ["pending"] * (len(names) - done - 1)
    return [
        {"content": f"Write {name}", "status": state, "active_form": f"Writing {name}"}
        for name, state in zip(names, states, strict=True)
    ]
