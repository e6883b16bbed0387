"""A day in the terminal: everything people do in a chat, by keys, at three sizes of patience and room."""

import os
import signal
from pathlib import Path

import pytest
from tests.fakes.model_server import FakeCall, Fault, ModelServer, Turn
from tests.journeys.journey_kit import Place, messages, until
from tests.journeys.pane_kit import assert_golden, needs_tmux, overt, pane

pytestmark = needs_tmux

ANSWER = """## Two ways

The total is **wrong** in `calc.py:2`, see also calc.py:99.

| way | cost |
|---|---:|
| fix it | 1 |
| 重写 | 20 |

```python
def total(xs):
    return sum(xs)
```

1. Fix the loop.
2. Test it.
"""
EDIT = FakeCall(name="edit", arguments={"path": "calc.py", "old_string": "return 0", "new_string": "return sum(xs)"})
REMOVE = FakeCall(name="bash", arguments={"command": "rm orders.db"})
SCRIPT = [
    Turn(text=ANSWER, chunk=9, delay=0.002),
    Turn(calls=(FakeCall(name="read", arguments={"path": "calc.py"}),)),
    Turn(calls=(EDIT,)),
    Turn(text="Fixed."),
    Turn(calls=(REMOVE,)),
    Turn(text="Then it stays."),
    Turn(text="I read it.", reasoning="Short file."),
    Turn(calls=(FakeCall(name="bash", arguments={"command": "sleep 2; echo slept"}),)),
    Turn(text="Steered."),
    Turn(text="word " * 40, chunk=5, delay=0.005, fault=Fault(stall_after=20)),
    Turn(text="After the resume."),
]


@pytest.mark.parametrize(
    ("name", "size", "delay"),
    [("80x24", (80, 24), 0.0), ("40x12", (40, 12), 0.0), ("80x24", (80, 24), 0.05)],
    ids=["usual", "small", "slow-line"],
)
def test_a_day_in_the_terminal(place: Place, name: str, size: tuple[int, int], delay: float) -> None:
    (place.work / "calc.py").write_text("def total(xs):\n    return 0\n")
    (place.work / "shop").mkdir()
    (place.work / "orders.db").write_bytes(bytes(2048))
    (place.work / ".gitignore").write_text("orders.db\n")
    (place.work / "shop" / "cart.py").write_text("items = []\n")
    place.distrust()
    here = {"PYTHONPATH": str(Path(__file__).parent.parent.parent)} if delay else {}
    with ModelServer(SCRIPT, models=("fake-model", "other-model")) as server:
        environment = place.environment(server, here)
        with pane(place, overt(delay=delay), env=environment, size=size) as chat:
            chat.expect("fake-model")

            chat.type("why is the total wrong? 为什么")
            chat.press("Enter")
            assert_golden(f"answer-{name}", chat.expect("2. Test it."))

            chat.type("fix it")
            chat.press("Enter")
            assert_golden(f"edit-{name}", chat.expect("\nEdit calc.py?"))
            chat.answer("y")
            chat.expect("Fixed.")
            assert (place.work / "calc.py").read_text() == "def total(xs):\n    return sum(xs)\n"

            chat.type("clean up")
            chat.press("Enter")
            assert_golden(f"danger-{name}", chat.expect("Allow bash?"))
            chat.answer("n")
            chat.type("我还需要它")
            chat.press("Enter")
            chat.expect("Then it stays.")
            assert "我还需要它" in messages(server)[-1]["content"]

            chat.type("look at @sh")
            chat.expect("shop/")
            chat.press("Tab")
            assert_golden(f"files-{name}", chat.expect("cart.py"))
            chat.press("Enter")
            chat.expect("@shop/cart.py")
            chat.press("Enter")
            chat.expect("I read it.")
            assert "items = []" in str(messages(server))

            chat.type("/model other-model")
            chat.press("Enter")
            chat.expect(lambda shown: "other-model" in shown.splitlines()[-1])

            chat.type("sleep a while")
            chat.press("Enter")
            until(lambda: "sleep 2" in chat.screen())
            chat.type("and then stop")
            chat.press("Enter")
            chat.expect("Steered.")
            assert [each["content"] for each in messages(server) if each["role"] == "user"][-1] == "and then stop"

            chat.type("talk for long")
            chat.press("Enter")
            chat.expect("word word word word")
            chat.type("a draft")
            chat.press("Escape")
            stopped = chat.expect(lambda shown: "Interrupted" in shown and "other-model" in shown.splitlines()[-1])
            assert "› a draft" in stopped
            assert_golden(f"stopped-{name}", stopped)
            chat.press("C-u")

            chat.press("Escape")
            chat.press("Escape")
            assert_golden(f"rewind-{name}", chat.expect("talk for long"))
            chat.press("Enter")
            chat.expect("1 ")
            chat.press("1")
            chat.expect(lambda shown: "›" in shown and "Rewind" not in shown.splitlines()[0])

            session = place.session().name
            os.kill(chat.pid() if not delay else _below(chat.pid()), signal.SIGKILL)
            chat.expect("LEFT WITH")
        with pane(place, overt("--continue", delay=delay), env=environment, size=size) as chat:
            chat.expect("Steered.")
            chat.type("go on")
            chat.press("Enter")
            assert_golden(f"resumed-{name}", chat.expect("After the resume."))
            chat.press("C-d")
            chat.expect("LEFT WITH 0")
        assert place.session().name == session
        assert "talk for long" not in str(messages(server))


def _below(pid: int) -> int:
    children = until(lambda: Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return int(children[0])
