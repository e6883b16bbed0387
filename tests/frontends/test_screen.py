"""The plain chat's screen: events as a table, every view drawn, and nothing that could drive a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.app.context.folder_rules import HEAD
from overt.core.events import (
    CallStreamed,
    Event,
    ModeSet,
    Noticed,
    PermissionAsked,
    PermissionDecided,
    PrefixReset,
    ReasoningStreamed,
    Repaired,
    Replied,
    Retried,
    TextStreamed,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.messages import Call, Message, Result, Text, said
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, MODEL, USER, Origin
from overt.core.views import (
    Checklist,
    Diffs,
    Excerpt,
    Failure,
    FileDiff,
    Listing,
    Output,
    Plain,
    Todo,
    View,
)
from overt.frontends.plain.draw import Ink, draw
from overt.frontends.plain.screen import Screen

INK = Ink(colour=False)
CALL = Call(id="c1", name="edit", arguments="{}")
CHANGE = FileDiff(path="a.py", diff="@@ -1 +1 @@\n-old\n+new\n", change="updated", added=1, removed=1)
CALC = Origin(kind="file", where="a.py", lines="1-2", hash="00")
RULES = Origin(kind="file", where="sub/AGENTS.md", lines="1-1", hash="00", detail="rules")
USED = Usage(input=10, cached=4, output=3)


def finished(view: View, id: str = "c1") -> ToolFinished:
    return ToolFinished(result=Result(call_id=id, parts=(Text(text="x"),)), view=view)


def replied(text: str = "hi") -> Replied:
    message = Message(role="assistant", parts=(Text(text=text),), origin=MODEL)
    return Replied(message=message, finish="stop", usage=USED)


def asked(view: View) -> PermissionAsked:
    return PermissionAsked(id="q", call=CALL, headline="a.py", why="", view=view, always="edit")


def shown(*events: Event) -> str:
    screen = Screen(INK)
    return "".join(map(screen.feed, events))


USED_LINE = "10 tokens in (4 cached), 3 out, 1.2 s\n"
TABLE: dict[str, tuple[tuple[Event, ...], str]] = {
    "text as it streams": ((TextStreamed(text="hel"), TextStreamed(text="lo\nyou")), "hello\nyou"),
    "a reply ends its line": ((TextStreamed(text="hi"), replied()), "hi\n"),
    "a reply that ended its line": ((TextStreamed(text="hi\n"), replied()), "hi\n"),
    "a reply without text": ((replied(),), ""),
    "thinking is said once": (
        (ReasoningStreamed(text="hm"), ReasoningStreamed(text="hm"), TextStreamed(text="so")),
        "thinking …\nso",
    ),
    "thinking again in the next step": (
        (ReasoningStreamed(text="hm"), replied(), ReasoningStreamed(text="hm")),
        "thinking …\nthinking …\n",
    ),
    "a call": ((ToolStarted(call=CALL, headline="a.py"),), "● edit a.py\n"),
    "a call after open text": (
        (TextStreamed(text="now"), ToolStarted(call=CALL, headline="a.py")),
        "now\n● edit a.py\n",
    ),
    "a call that streams": ((CallStreamed(index=0, name="edit", characters=9, ready=0),), ""),
    "an outcome": ((finished(Plain(text="one\ntwo")),), "  one\n  two\n"),
    "a change": (
        (finished(Diffs(files=(CHANGE,))),),
        "  a.py (updated, +1 -1)\n  @@ -1 +1 @@\n  -old\n  +new\n",
    ),
    "a change that was approved is not shown twice": (
        (asked(Diffs(files=(CHANGE,))), finished(Diffs(files=(CHANGE,)))),
        "  ✓ a.py (+1 -1)\n",
    ),
    "another change is": (
        (asked(Diffs(files=(CHANGE,))), finished(Diffs(files=(CHANGE,)), id="c2")),
        "  a.py (updated, +1 -1)\n  @@ -1 +1 @@\n  -old\n  +new\n",
    ),
    "an approval that is remembered": (
        (PermissionDecided(call_id="c1", verdict="allow", rule="r", origin="o", by="person", remembered="edit"),),
        "  Remembered for this project: edit\n",
    ),
    "an approval that is not": (
        (PermissionDecided(call_id="c1", verdict="allow", rule="r", origin="o", by="rule"),),
        "",
    ),
    "a repair": ((Repaired(call_id="c1", note="cmd → command"),), "  repaired: cmd → command\n"),
    "a prompt": ((UserSpoke(message=said("hi", origin=USER)),), ""),
    "a text that steers": ((UserSpoke(message=said("left", origin=USER), steered=True),), "> left\n"),
    "a file that goes along": (
        (UserSpoke(message=said("[overt] The user refers to a.py", origin=CALC)),),
        "  + a.py:1-2\n",
    ),
    "a folder that goes along": (
        (UserSpoke(message=said("[overt] x", origin=Origin(kind="file", where="odd\n\x1b[2Jname/"))),),
        "  + odd \\x1b[2Jname/\n",
    ),
    "rules of a folder": (
        (UserSpoke(message=said(f"{HEAD}\nUse tabs.", origin=RULES), steered=True),),
        "  + sub/AGENTS.md (rules)\n",
    ),
    "rules that come with a file": ((UserSpoke(message=said(HEAD, origin=RULES)),), "  + sub/AGENTS.md (rules)\n"),
    "a word of the program to the model": ((UserSpoke(message=said("go on", origin=HARNESS)),), "go on\n"),
    "a retry": (
        (Retried(attempt=2, attempts=4, wait=1.26, reason="It failed."),),
        "It failed. Retrying in 1.3 s (2 of 4).\n",
    ),
    "a notice": ((Noticed(text="the disk is full"),), "the disk is full\n"),
    "a reset": ((PrefixReset(cause="retry"),), "The context starts anew: retry.\n"),
    "an end": ((TurnEnded(reason="done", text="hi", usage=USED, ms=1234),), USED_LINE),
    "an error": ((TurnEnded(reason="error", text="no key", usage=USED, ms=1234),), f"error: no key\n{USED_LINE}"),
    "a storm": ((TurnEnded(reason="storm", text="again", usage=USED, ms=1234),), f"error: again\n{USED_LINE}"),
    "a limit": (
        (TurnEnded(reason="limit", steps=3, usage=USED, ms=1234),),
        f"Stopped after 3 steps, the limit for one turn.\n{USED_LINE}",
    ),
    "an interruption": ((TextStreamed(text="hal"), TurnEnded(reason="interrupted")), "hal\nInterrupted.\n"),
    "what is of no interest": ((TurnStarted(turn=1), ModeSet(mode="plan", by="user")), ""),
}


@pytest.mark.parametrize(("events", "out"), TABLE.values(), ids=TABLE.keys())
def test_events_become(events: tuple[Event, ...], out: str) -> None:
    assert shown(*events) == out


VIEWS: dict[str, tuple[View, str]] = {
    "plain": (Plain(text="a\nb"), "a\nb"),
    "diffs": (
        Diffs(files=(CHANGE, FileDiff(path="b", diff="", change="deleted", removed=2))),
        "a.py (updated, +1 -1)\n@@ -1 +1 @@\n-old\n+new\nb (deleted, +0 -2)",
    ),
    "excerpt": (Excerpt(path="a.py", first=1, last=9, total=40), "a.py, lines 1–9 of 40"),
    "excerpt of unknown length": (Excerpt(path="a.py", first=1, last=9), "a.py, lines 1–9 of …"),
    "listing": (Listing(what="*.py", count=3), "3 found"),
    "listing with more": (Listing(what="*.py", count=3, more=True), "3+ found"),
    "output": (Output(command="ls", text="a\nb\n", code=0), "a\nb"),
    "output that failed": (Output(command="ls", text="no\n", code=2), "no\n[exit code 2]"),
    "output with a note": (Output(command="ls", text="", code=None, note="timed out"), "[timed out]"),
    "checklist": (
        Checklist(
            items=(Todo(content="a"), Todo(content="b", status="in_progress"), Todo(content="c", status="completed"))
        ),
        "[ ] a\n[>] b\n[x] c",
    ),
    "failure": (Failure(text="it broke"), "it broke"),
}


@pytest.mark.parametrize(("view", "out"), VIEWS.values(), ids=VIEWS.keys())
def test_every_view_is_drawn(view: View, out: str) -> None:
    assert draw(view, INK) == out


def test_every_kind_of_view_is_in_the_table() -> None:
    assert {type(view) for view, _ in VIEWS.values()} == set(View.__args__)


def test_a_long_text_is_clipped_in_the_middle_but_whole_in_an_approval() -> None:
    long = Plain(text="\n".join(map(str, range(100))))
    assert draw(long, INK).splitlines() == [*map(str, range(8)), "… 88 lines more …", *map(str, range(96, 100))]
    assert draw(long, INK, whole=True) == long.text


def test_a_long_change_is_clipped_but_whole_in_an_approval() -> None:
    lines = "\n".join(f"+{n}" for n in range(100))
    view = Diffs(files=(FileDiff(path="a", diff=lines, change="created", added=100),))
    assert len(draw(view, INK).splitlines()) == 41
    assert draw(view, INK, whole=True).splitlines()[1:] == lines.splitlines()


def test_colour_is_only_our_own() -> None:
    drawn = draw(Diffs(files=(CHANGE,)), Ink(colour=True))
    assert re.sub(r"\x1b\[(?:0|1|2|31|32|36)m", "", drawn) == draw(Diffs(files=(CHANGE,)), INK)
    assert "\x1b[32m+new\x1b[0m" in drawn and "\x1b[31m-old\x1b[0m" in drawn


NASTY = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\x00\x08\r\u202e\u200b\u2066\x7f"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def everything(text: str) -> list[Event]:
    """Every event that shows text of a model, a tool, a server or a file name, with this text in it."""
    diff = FileDiff(path=text, diff=f"@@\n+{text}\n", change="updated", added=1)
    views: list[View] = [
        Plain(text=text),
        Diffs(files=(diff,)),
        Excerpt(path=text, first=1, last=2),
        Listing(what=text, count=1),
        Output(command=text, text=text, code=1, note=text),
        Checklist(items=(Todo(content=text),)),
        Failure(text=text),
    ]
    return [
        TextStreamed(text=text),
        replied(text),
        ToolStarted(call=Call(id="c1", name=text, arguments="{}"), headline=text),
        *(finished(view) for view in views),
        asked(Diffs(files=(diff,))),
        finished(Diffs(files=(diff,))),
        PermissionDecided(call_id="c1", verdict="allow", rule=text, origin=text, by="person", remembered=text),
        Repaired(call_id="c1", note=text),
        UserSpoke(message=said(text, origin=USER), steered=True),
        UserSpoke(message=said(text, origin=HARNESS)),
        Retried(attempt=1, attempts=4, wait=1, reason=text),
        Noticed(text=text),
        PrefixReset(cause=text),
        TurnEnded(reason="error", text=text),
    ]


@pytest.mark.parametrize("event", everything(NASTY), ids=lambda event: type(event).__name__)
def test_control_characters_are_shown_instead_of_obeyed(event: Event) -> None:
    assert UNSAFE.findall(shown(event)) == []


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))
def test_no_text_drives_the_terminal(text: str) -> None:
    for event in everything(text):
        assert UNSAFE.findall(shown(event)) == []
