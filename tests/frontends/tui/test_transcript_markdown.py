"""The transcript with real Markdown: whatever the pieces, the same rows, and the tail shows what is still to come."""

from itertools import pairwise

import pytest
from tests.frontends.tui.transcript_kit import lines, replied, sent, text

from overt.core.messages import Text
from overt.frontends.tui.chat.transcript import Transcript
from overt.frontends.tui.markdown.markdown import Markdown
from overt.frontends.tui.terminal.rows import BLANK, Row

ANSWER = """# What was wrong

The sum was a *difference*: see `calc.py`.

- first
- second, 中文也可以

```python
def add(a, b):
    return a + b
```

| a | b |
|---|---|
| 1 | 2 |

Done.
"""


def transcript(mode: str = "") -> Transcript:
    return Transcript(lambda: 60, Markdown, mode=mode)


def streamed(size: int) -> list[Row]:
    found = transcript()
    rows = found.feed(sent(), 0.0)
    for at in range(0, len(ANSWER), size):
        rows += found.feed(text(ANSWER[at : at + size]), 1.0)
    return [*rows, *found.feed(replied(Text(text=ANSWER)), 2.0)]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_answer_in_pieces_is_the_answer_at_once(size: int) -> None:
    markdown = Markdown()
    markdown.feed(ANSWER)
    whole = markdown.end(60)
    assert streamed(size) == whole
    assert BLANK not in (whole[0], whole[-1])
    assert "• first" in "\n".join(lines(whole))


@pytest.mark.parametrize("at", range(10, len(ANSWER), 23))
def test_what_is_printed_and_the_tail_together_never_show_two_blank_rows(at: int) -> None:
    found = transcript()
    found.feed(sent(), 0.0)
    printed = found.feed(text(ANSWER[:at]), 0.0)
    shown = lines([*printed, *found.tail(60, 40, 0.1)])
    assert [number for number, pair in enumerate(pairwise(shown)) if pair == ("", "")] == []
    assert shown[0] != ""


def test_a_plan_has_its_name_above_it_while_it_streams_and_afterwards() -> None:
    found = transcript("plan")
    found.feed(sent(), 0.0)
    assert found.feed(text("First, *read*"), 0.0) == []
    assert lines(found.tail(60, 5, 0.1)) == ["◆ PLAN", "First, read"]
    assert lines(found.feed(replied(Text(text="x")), 1.0)) == ["◆ PLAN", "First, read"]
