"""Recorded facts for exports: an ordinary session, and one in which everything tries to get out of its place."""

from base64 import b64decode
from pathlib import Path

from tests.sessions.samples import PREFIX, prompt, reply

from overt.core.events import (
    Compacted,
    Event,
    Noticed,
    PartialSaved,
    PrefixReset,
    TitleSet,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.messages import Call, Image, Reasoning, Result, Text, said
from overt.core.spending.usage import Usage
from overt.core.text_fragments import Origin
from overt.core.views import Diffs, FileDiff, Plain
from overt.sessions.log import SessionLog

PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
DIFF = "@@ -1,2 +1,2 @@\n def total(prices):\n-    return sum(prices) - 1\n+    return sum(prices)  # 合计\n"
ANSWER = """The sum was **off by one**. What I did:

1. Read `shop/total.py`
2. Removed the `- 1`
   - and looked for others like it
3. Ran the tests: all 12 pass

## How to check

```python
def test_total() -> None:
    assert total([1, 2, 3]) == 6  # a line that is longer than a page is wide, so that it has to be scrolled, not cut
```

| file | lines |
| --- | --- |
| shop/total.py | +1 -1 |
"""


def record(folder: Path, turns: list[list[Event]]) -> str:
    log = SessionLog.create(str(folder), workspace="/home/you/shop", project="/home/you/shop", overt="0.1.0")
    for turn, events in enumerate(turns, 1):
        for event in events:
            log.append(event, turn=turn, step=1)
    log.close()
    return log.path


def called(id: str, name: str, headline: str, arguments: str) -> list[Event]:
    call = Call(id=id, name=name, arguments=arguments)
    return [ToolStarted(call=call, effects=("read",), headline=headline)]


def done(id: str, text: str, *, error: bool = False, ms: int = 3) -> ToolFinished:
    return ToolFinished(result=Result(call_id=id, parts=(Text(text=text),), error=error), view=Plain(text=""), ms=ms)


def ended(reason: str = "done", text: str = "") -> TurnEnded:
    return TurnEnded(reason=reason, text=text, steps=2, ms=900, usage=Usage(input=5200, output=310, cached=4100))  # type: ignore[arg-type]


def ordinary() -> list[list[Event]]:
    read = Call(id="c1", name="read", arguments='{"path":"shop/total.py"}')
    edit = Call(id="c2", name="edit", arguments='{"path":"shop/total.py","old":"- 1","new":""}')
    look = Call(id="c3", name="read", arguments='{"path":"shot.png"}')
    first: list[Event] = [
        PREFIX,
        UserSpoke(message=said("[notes.md]\nbe careful", origin=Origin(kind="file", where="notes.md"))),
        prompt("Fix the total of the cart, please. 请用中文注释。\n\nIt is one too low:\n```\n>>> total([1])\n0\n```"),
        reply(Reasoning(text="Probably an off-by-one."), Text(text="I will look at it."), read),
        *called("c1", "read", "shop/total.py", read.arguments),
        done("c1", "def total(prices):\n    return sum(prices) - 1\n"),
        reply(edit),
        *called("c2", "edit", "shop/total.py", edit.arguments),
        ToolFinished(
            result=Result(call_id="c2", parts=(Text(text="updated shop/total.py (+1 -1)"),)),
            view=Diffs(files=(FileDiff(path="shop/total.py", diff=DIFF, change="updated", added=1, removed=1),)),
        ),
        reply(Text(text=ANSWER)),
        TitleSet(title="Fix the total of the cart · 购物车合计", model="tiny", usage=Usage(input=30, output=5)),
        ended(),
    ]
    second: list[Event] = [
        prompt("And now look at shot.png"),
        reply(Text(text="Looking."), look),
        *called("c3", "read", "shot.png", look.arguments),
        ToolFinished(
            result=Result(call_id="c3", parts=(Image(media="image/png", data=PIXEL),)), view=Plain(text="image")
        ),
        Noticed(text="the model was slow"),
        ended("interrupted"),
    ]
    third: list[Event] = [
        PrefixReset(cause="rewind to before turn 2", keep=6),
        Compacted(
            cause="asked",
            start=0,
            end=2,
            summary=(said("The objective: a right total.", origin=Origin(kind="summary")),),
            before=9000,
            after=1200,
        ),
        prompt("Go on"),
        reply(Call(id="c4", name="bash", arguments='{"command":"pytest -q"}')),
        *called("c4", "bash", "pytest -q", '{"command":"pytest -q"}'),
        PartialSaved(text="half of a"),
    ]
    return [first, second, third]


def hostile(server: str) -> list[list[Event]]:
    """Every place that takes words of a session, filled with what would act if it were obeyed."""
    evil = (
        f"</title></style></pre></details></code><script>document.title='RAN'</script>"
        f"<img src='{server}/img' onerror=\"document.title='RAN'\"><svg onload=\"document.title='RAN'\"></svg>"
        f"<iframe src='{server}/frame'></iframe><link rel=stylesheet href='{server}/css'>"
        f"<a href=\"javascript:document.title='RAN'\">x</a><meta http-equiv=refresh content='0;url={server}/go'>"
        f"<style>@import url({server}/import)</style><body onload=\"document.title='RAN'\">"
        f"[x](javascript:document.title='RAN') ![x]({server}/md) `\"><script>document.title='RAN'</script>` "
        f"**\"><script>document.title='RAN'</script>**"
    )
    svg = (
        "<svg xmlns='http://www.w3.org/2000/svg'><script>document.title='RAN'</script>"
        f"<image href='{server}/svg'/></svg>"
    )
    call = Call(id='"><script>', name=f"read{evil}", arguments=evil)
    lines = "\n".join(f"{mark}{evil}" for mark in ("", "# ", "- ", "1. ", "| ", "```", "> ", "    ", "+", "-", "@@"))
    turn: list[Event] = [
        UserSpoke(message=said(evil, origin=Origin(kind="file", where=evil))),
        prompt(lines),
        reply(Reasoning(text=lines), Text(text=lines), call),
        ToolStarted(call=call, effects=("read",), headline=evil),
        ToolFinished(
            result=Result(
                call_id=call.id,
                parts=(
                    Text(text=lines),
                    Image(media="image/svg+xml", data=svg.encode()),
                    Image(media="image/png'\"><script>document.title='RAN'</script>", data=PIXEL),
                    Image(media="image/png", data=svg.encode()),
                ),
            ),
            view=Diffs(files=(FileDiff(path=evil, diff=lines, change="updated"),)),
        ),
        Noticed(text=evil),
        TitleSet(title=evil, model=""),
        ended("error", evil),
    ]
    return [[PREFIX, *turn], turn, turn, turn]
