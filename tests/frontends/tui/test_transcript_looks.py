"""How the transcript looks: every style is one of the theme, in both languages nothing is wider than the screen."""

from collections.abc import Iterator

import pytest
from tests.frontends.tui.transcript_kit import call, finished, lines, made, replied, sent, started, text, thought

from overt.core.events import (
    CallStreamed,
    Event,
    Noticed,
    PermissionAsked,
    Repaired,
    Retried,
    ToolProgressed,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.messages import Text, said
from overt.core.spending.usage import Usage
from overt.core.text_fragments import STEERED, USER, Origin
from overt.core.views import Checklist, Diffs, Excerpt, Failure, FileDiff, Listing, Output, Plain, Todo
from overt.frontends.tui.chat.approval import Approvals
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row
from overt.frontends.tui.terminal.rows import columns as taken
from overt.frontends.tui.terminal.theme import theme
from overt.lib.translations import Language, set_language

DIFF = Diffs(
    files=(FileDiff(path="a.py", diff="@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3\n", change="updated", added=1),)
)
TODOS = (Todo(content="读", status="completed"), Todo(content="改", status="in_progress"), Todo(content="test"))
EVENTS: tuple[Event, ...] = (
    TurnStarted(turn=1),
    UserSpoke(message=said("x", origin=Origin(kind="file", where="目录/文件.py", lines="1-20"))),
    UserSpoke(message=said("请修复这个问题\n" * 30, origin=USER)),
    UserSpoke(message=said("先停一下，看看测试的结果吧", origin=STEERED), steered=True),
    sent("模型名称很长很长的一个模型"),
    thought("让我想一想这个问题应该怎么解决"),
    text("The answer.\n\nMore"),
    replied(Text(text="The answer."), call()),
    Repaired(call_id="c1", note="quotes"),
    started("bash", "npm test -- --watch=false --reporters=default 测试"),
    ToolProgressed(call_id="c1", text="运行中的测试输出很长很长很长很长很长很长\n"),
    PermissionAsked(
        id="q1", call=call(), headline="rm -rf 目录", why="会删除", view=Plain(text="rm -rf 目录"), dangerous=True,
        affects=("目录 (folder)",), hazards=("rm", "-rf"),
    ),
    PermissionAsked(id="q2", call=call("edit"), headline="a.py", why="x", view=DIFF, always="edit", agent="main/a"),
    finished(Output(command="x", text="line\n" * 30, code=2, note=""), ms=70_000),
    *(finished(view) for view in (DIFF, Plain(text="x"), Listing(what="f", count=2), Checklist(items=TODOS))),
    finished(Failure(text="没有这个文件"), error=True),
    finished(Excerpt(path="a.py", first=1, last=2), error=True, code="denied"),
    *(Noticed(text="words", level=level) for level in ("info", "warning", "error")),
    CallStreamed(index=0, name="write", characters=4300, ready=0),
    Retried(attempt=2, attempts=4, wait=9.0, reason="服务器返回 503"),
    TurnEnded(reason="error", text="no route", usage=Usage(input=9000, cached=1000, output=5), ms=900),
    TurnEnded(reason="limit", steps=3),
    TurnEnded(reason="interrupted"),
)  # fmt: skip


def everything(columns: int) -> Iterator[Row]:
    transcript, approvals = made(columns, mode="plan"), Approvals()
    for number, event in enumerate(EVENTS):
        yield from transcript.feed(event, 10.0 * number)
        approvals.feed(event)
        yield from approvals.opening(columns)
        for seconds in (0.0, 5.0):
            yield from transcript.tail(columns, 6, 10.0 * number + seconds)
        for key in ("x", "n", "w"):
            yield from approvals.draw(columns, 6)[0]
            approvals.press(Key("text", key), 0.0)
        approvals.press(Key("enter"), 0.0)
    yield from transcript.details(columns)


@pytest.mark.parametrize("columns", [30, 80])
def test_every_style_is_one_of_the_theme(columns: int) -> None:
    looks = theme("dark", depth=256)
    styles = {span.style for row in everything(columns) for span in row}
    assert {style for style in styles if style and not looks.sgr(style)} == set()
    assert {"user", "hazard", "bold plan", "good", "error", "warn", "add", "remove", "key"} <= styles


@pytest.mark.parametrize("columns", [30, 40, 80])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_wider_than_the_screen_in_any_language(language: Language, columns: int) -> None:
    set_language(language)
    try:
        assert [lines([row]) for row in everything(columns) if taken(row) > columns] == []
    finally:
        set_language("en")
