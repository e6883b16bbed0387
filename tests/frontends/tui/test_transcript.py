"""What the terminal chat prints for good: every finished thing once, in order, each kind to be told from the others."""

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.tui.transcript_kit import (
    NOTHING,
    call,
    finished,
    lines,
    made,
    printed,
    replied,
    sent,
    started,
    text,
    thought,
)

from overt.agent.permission_decision import describe_refusal
from overt.agent.user_command import TYPED
from overt.core.events import (
    BudgetSet,
    Compacted,
    Event,
    ModeSet,
    Noticed,
    PermissionAsked,
    PermissionDecided,
    PrefixReset,
    Repaired,
    Replied,
    Retried,
    TextStreamed,
    TodoSet,
    ToolFinished,
    ToolProgressed,
    TurnEnded,
    TurnStarted,
    UserSpoke,
)
from overt.core.messages import Reasoning, Result, Text, said
from overt.core.protocols import Answer
from overt.core.spending.usage import Usage
from overt.core.text_fragments import STEERED, USER, Origin, own_origin
from overt.core.views import Diffs, Excerpt, Failure, FileDiff, Output, Plain
from overt.frontends.tui.chat.transcript import Transcript
from overt.frontends.tui.terminal.rows import Span
from overt.lib.translations import say
from overt.safety.policy import Verdict

DIFF = Diffs(files=(FileDiff(path="a.py", diff="@@ -1 +1 @@\n-old\n+new\n", change="updated", added=1, removed=1),))
FILE = Origin(kind="file", where="calc.py", lines="1-20")

RAN = Origin(kind="tool", where="!", label=len("$ make\n"))


def spoke(words: str, origin: Origin = USER, *, steered: bool = False) -> UserSpoke:
    return UserSpoke(message=said(words, origin=origin), steered=steered)


def test_a_turn_is_printed_once_and_in_order() -> None:
    shown = printed(
        made(),
        TurnStarted(turn=1),
        spoke("fix it"),
        sent(),
        thought("Let me "),
        thought("see."),
        text("I look.\n\nThen "),
        text("I fix."),
        replied(Reasoning(text="Let me see."), Text(text="I look.\n\nThen I fix."), call("read")),
        started("read", "a.py"),
        finished(Excerpt(path="a.py", first=1, last=3, total=3), ms=1500),
        sent(),
        text("Done."),
        replied(Text(text="Done.")),
        TurnEnded(reason="done", usage=Usage(input=1200, cached=960, output=320), ms=8100, steps=2),
    )
    assert shown == [
        "› fix it",
        "",
        "∴ thought for 2.0s · Ctrl+O opens",
        "",
        "I look.",
        "",
        "Then I fix.",
        "",
        "● read  a.py  1.5s",
        "  a.py, lines 1–3 of 3",
        "",
        "Done.",
        "",
        "  1.2k in (80% cached) · 320 out · 8.1s",
    ]


@given(st.lists(st.integers(1, 12), max_size=20))
def test_an_answer_is_the_same_however_it_arrives(cuts: list[int]) -> None:
    answer = "One paragraph\n\n  another one\n\n\nand the last"
    pieces, at = [], 0
    for size in cuts:
        pieces.append(answer[at : at + size])
        at += size
    streamed = [text(piece) for piece in (*pieces, answer[at:]) if piece]
    assert printed(made(), sent(), *streamed, replied(Text(text=answer))) == [
        "One paragraph",
        "",
        "another one",
        "",
        "and the last",
    ]


def test_a_plan_says_that_it_is_one() -> None:
    plan = made(mode="plan")
    assert printed(plan, sent(), text("First this.\n\nThen that."), replied(Text(text="…"))) == [
        "◆ PLAN",
        "First this.",
        "",
        "Then that.",
    ]
    assert printed(plan, ModeSet(mode="auto", by="user"), sent(), text("Done."), replied(Text(text="Done."))) == [
        "",
        "Done.",
    ]


def test_what_goes_along_with_a_prompt_stands_below_it() -> None:
    assert printed(made(), spoke("x", FILE), spoke("look at @calc.py"), sent()) == [
        "› look at @calc.py",
        "  + calc.py:1-20",
    ]
    assert printed(made(), spoke("x", FILE, steered=True)) == ["  + calc.py:1-20"]
    assert printed(made(), spoke("x", FILE), TurnEnded(reason="interrupted")) == [
        "  + calc.py:1-20",
        "",
        "⊘ Interrupted.",
    ]


def test_steering_and_the_words_of_the_house_are_told_from_a_prompt() -> None:
    assert printed(made(), spoke("stop that", STEERED, steered=True)) == ["› stop that (steering)"]
    assert printed(made(), spoke("[overt] The last reply was empty.", own_origin("nudge"))) == [
        "· The last reply was empty."
    ]


def test_a_long_prompt_is_shown_by_its_beginning() -> None:
    shown = printed(made(), spoke("\n".join(f"line {number}" for number in range(50))))
    assert shown == ["› line 0", *(f"  line {number}" for number in range(1, 20)), "  … 30 more lines"]
    assert printed(made(20), spoke("word " * 200_000))[-1] == "  … more of it"
    assert len(printed(made(20), spoke("word " * 200_000))) == 21


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((Noticed(text="so it is"),), ["· so it is"]),
        ((Noticed(text="careful", level="warning"),), ["! careful"]),
        ((Noticed(text="broken", level="error"),), ["✗ broken"]),
        ((Noticed(text="any words", level="warning", kind="waiting"),), []),
        ((BudgetSet(dollars=2.5),), ["· " + say("budget.set", bound="$2.50")]),
        ((BudgetSet(dollars=0.0),), ["· " + say("budget.off")]),
        ((Repaired(call_id="c1", note="quotes closed"),), ["· repaired: quotes closed"]),
        ((PrefixReset(cause="retry"),), ["· The context starts anew: retry."]),
        (
            (
                TodoSet(items=()),
                ToolProgressed(call_id="c1", text="x"),
                Retried(attempt=1, attempts=4, wait=1, reason="x"),
            ),
            [],
        ),
        (
            (Compacted(cause="limit", pruned=("c1",), before=9000, after=2000),),
            ["· " + say("compaction.done", before="9.0k", after="2.0k", what=say("compaction.done.pruned", count=1))],
        ),
        (
            (PermissionDecided(call_id="c1", verdict="allow", rule="r", origin="o", by="person", remembered="edit"),),
            ["· Remembered for this project: edit"],
        ),
        ((PermissionDecided(call_id="c1", verdict="allow", rule="r", origin="o", by="rule"),), []),
        ((TurnEnded(reason="error", text="no route"),), ["✗ no route"]),
        ((TurnEnded(reason="storm", text="three times the same"),), ["✗ three times the same"]),
        ((TurnEnded(reason="limit", steps=7),), ["! Stopped after 7 steps, the limit for one turn."]),
        ((TurnEnded(reason="interrupted"),), ["⊘ Interrupted."]),
        ((TurnEnded(reason="done"),), []),
        (
            (TurnEnded(reason="interrupted", usage=Usage(input=10, output=1), ms=400),),
            ["⊘ Interrupted.", "  10 in · 1 out · 0.4s"],
        ),
        (
            (Retried(attempt=4, attempts=4, wait=1, reason="503"), TurnEnded(reason="error", text="no route")),
            ["✗ no route", "  Gave up at attempt 4."],
        ),
        (
            (
                Retried(attempt=1, attempts=4, wait=1, reason="503"),
                replied(Text(text="ok")),
                TurnEnded(reason="error", text="x"),
            ),
            ["ok", "", "✗ x"],
        ),
    ],
)
def test_what_is_told_in_a_line(events: tuple[Event, ...], expected: list[str]) -> None:
    assert printed(made(120), *events) == expected


def test_the_cost_of_a_turn_stands_in_its_last_line() -> None:
    priced = Transcript(lambda: 60, lambda: None, cost=lambda end: end.usage.output / 1000)  # type: ignore[arg-type, return-value]
    assert printed(priced, TurnEnded(reason="done", usage=Usage(input=999_950, output=4), ms=65_000)) == [
        "  1M in · 4 out · $0.004 · 1m 05s"
    ]


def test_calls_that_run_together_are_printed_as_they_end() -> None:
    shown = printed(
        made(),
        started("read", "a.py", "c1"),
        started("read", "b.py", "c2"),
        finished(Excerpt(path="b.py", first=1, last=2, total=2), "c2"),
        finished(Excerpt(path="a.py", first=1, last=9, total=9), "c1"),
    )
    assert shown == ["● read  b.py", "  b.py, lines 1–2 of 2", "● read  a.py", "  a.py, lines 1–9 of 9"]


def test_a_call_of_another_agent_says_whose_it_is() -> None:
    done = ToolFinished(
        agent="main/explore-1", result=Result(call_id="c1", parts=()), view=Excerpt(path="a.py", first=1, last=2)
    )
    transcript = made()
    shown = printed(
        transcript,
        text("thinking aloud", agent="main/explore-1"),
        started("read", "a.py", agent="main/explore-1"),
        done,
        replied(Text(text="found it"), agent="main/explore-1"),
        TurnEnded(reason="done", agent="main/explore-1", usage=Usage(input=5)),
    )
    assert shown == ["explore-1 · ● read  a.py", "  a.py, lines 1–2 of …"]
    assert "  found it" in lines(transcript.details(60))


def test_a_change_that_was_approved_is_not_shown_twice() -> None:
    asked = PermissionAsked(id="q", call=call("edit"), headline="a.py", why="", view=DIFF)
    assert printed(made(), started("edit", "a.py"), asked, finished(DIFF)) == ["● edit  a.py  +1 -1"]
    assert printed(made(), started("edit", "a.py"), finished(DIFF))[0] == "● edit  a.py  +1 -1"
    assert len(printed(made(), started("edit", "a.py"), finished(DIFF))) > 2


@pytest.mark.parametrize(("reason", "told"), [("", "  You said no."), ("not now", "  You said no: not now")])
def test_a_refusal_is_told_as_the_persons_own(reason: str, told: str) -> None:
    decided = PermissionDecided(call_id="c1", verdict="deny", rule="review", origin="mode", by="person", reason="x")
    denied = Result(call_id="c1", parts=(), error=True, harness=True, cause="denied", reason=reason)
    ended = ToolFinished(result=denied, view=Failure(text="The user denied this call: by other words"), code="denied")
    assert printed(made(), started("bash", "rm x"), decided, ended) == ["⊘ bash  rm x", told]


def test_what_a_rule_refused_names_the_rule() -> None:
    verdict = Verdict(action="deny", rule="bash(rm *)", origin="overt.toml", by="rule", why="no removing")
    ended = finished(Failure(text=describe_refusal(verdict, Answer(choice="deny"), "rule")), error=True, code="denied")
    assert printed(made(), started("bash", "rm x"), ended) == [
        "⊘ bash  rm x",
        "  Denied (bash(rm *), overt.toml): no removing",
    ]


def test_a_call_that_was_stopped_says_so() -> None:
    healed = finished(Failure(text="interrupted"), error=True, code="interrupted")
    assert printed(made(), started("bash", "sleep 9"), healed) == [
        "⊘ bash  sleep 9",
        "  Stopped before it had finished.",
    ]
    assert printed(made(), finished(Failure(text="interrupted"), error=True, code="interrupted"))[0] == "⊘ call"
    assert printed(made(), replied(call("grep")), healed)[0] == "⊘ grep"


def test_a_command_that_the_person_typed_shows_its_output_and_no_usage() -> None:
    output = "\n".join(f"line {number}" for number in range(45))
    shown = printed(
        made(),
        TurnStarted(turn=1),
        spoke("!make", TYPED),
        started("bash", "make"),
        text(output + "\n"),
        Replied(
            message=said(f"$ make\n{output}", role="assistant", origin=RAN),
            finish="stop",
            usage=Usage(),
        ),
        TurnEnded(reason="done"),
    )
    assert shown == [
        "! make",
        "",
        *(f"  line {number}" for number in range(30)),
        "  … 5 more lines · Ctrl+O opens",
        *(f"  line {number}" for number in range(35, 45)),
    ]


def test_what_happens_beside_an_answer_waits_for_its_end() -> None:
    transcript = made()
    shown = printed(
        transcript, sent(), text("One.\n\nTw"), Noticed(text="disk is full"), text("o."), replied(Text(text="x"))
    )
    assert shown == ["One.", "", "Two.", "", "· disk is full"]


def test_rows_of_somebody_else_stand_apart_even_inside_of_an_answer() -> None:
    transcript = made()
    shown = printed(transcript, sent(), text("One.\n\nTw"))
    shown += lines(transcript.insert_block([(Span("asked"),)]))
    shown += printed(transcript, text("o.\n\nThree."), replied(Text(text="x")))
    assert shown == ["One.", "", "asked", "", "Two.", "", "Three."]


def test_reasoning_between_two_texts_keeps_its_place() -> None:
    parts = (Text(text="First."), Reasoning(text="hm"), Text(text="Second."))
    streamed = printed(made(), sent(), text("First."), thought("hm"), text("Second."), replied(*parts))
    whole = printed(made(), replied(*parts))
    assert streamed == ["First.", "", "∴ thought for 1.0s · Ctrl+O opens", "", "Second."]
    assert whole == ["First.", "", "∴ thought · Ctrl+O opens", "", "Second."]


def test_the_last_answer_is_at_hand_as_it_was_written() -> None:
    transcript = made()
    printed(transcript, sent(), text("**One**\n\n"), text("two"), replied(Text(text="x")))
    assert transcript.answer == "**One**\n\ntwo"


NAUGHTY = st.text(st.sampled_from("a \n\r\t\x1b]\x07\x9b\u202e\u200b\U000e0041读e\u0301\x00"), max_size=40)


@given(NAUGHTY)
def test_nothing_that_others_wrote_drives_the_terminal(wild: str) -> None:
    asked = spoke(wild)
    events: tuple[Event, ...] = (
        asked,
        spoke(wild, Origin(kind="file", where=wild, lines="1-2")),
        Noticed(text=wild),
        Repaired(call_id="c", note=wild),
        PrefixReset(cause=wild),
        started(wild, wild),
        finished(Output(command=wild, text=wild, code=1, note=wild)),
        started("read", wild),
        finished(Plain(text=wild)),
        finished(Failure(text=wild), error=True),
        finished(Excerpt(path=wild, first=1, last=2)),
        thought(wild),
        Retried(attempt=1, attempts=4, wait=9, reason=wild),
        TurnEnded(reason="error", text=wild),
    )
    transcript = made(30)
    seen: list[str] = []
    for number, event in enumerate(events):
        seen += lines(transcript.feed(event, float(number)))
        seen += lines(transcript.tail(30, 8, number + 0.5))
    seen += lines(transcript.details(30))
    assert [
        line for line in seen if re.search("[\0-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\U000e0000-\U000e0fff]", line)
    ] == []


def test_memory_stays_flat_over_hundreds_of_turns() -> None:
    transcript = made()
    big = "a line of output\n" * 1500

    def turn(number: int) -> None:
        printed(
            transcript,
            TurnStarted(turn=number),
            spoke(f"prompt {number} " + "x" * 2000),
            sent(),
            thought("hm " * 500),
            *(TextStreamed(text=f"paragraph {part} of {number}\n\n") for part in range(20)),
            replied(Text(text="x"), call()),
            started("bash", "make"),
            finished(Output(command="make", text=f"{number}\n{big}", code=0)),
            TurnEnded(reason="done", usage=Usage(input=1)),
        )

    tracemalloc.start()
    try:
        for number in range(120):
            turn(number)
        before = tracemalloc.get_traced_memory()[0]
        for number in range(120, 240):
            turn(number)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 100_000


def test_details_hold_all_reasoning_and_whole_outputs_of_the_newest() -> None:
    transcript = made()
    output = "\n".join(f"line {number}" for number in range(30))
    printed(
        transcript,
        TurnStarted(turn=3),
        spoke("fix it\nplease"),
        thought("because\n\nof that"),
        text("So."),
        replied(Text(text="So.")),
        started("bash", "make"),
        finished(Output(command="make", text=output, code=0)),
        started("edit", "a.py"),
        finished(DIFF),
    )
    assert lines(transcript.details(60)) == [
        "Turn 3 · fix it",
        "",
        "∴ thought for 1.0s",
        "  because",
        "",
        "  of that",
        "",
        "bash  make",
        *(f"  line {number}" for number in range(30)),
        "",
        "edit  a.py",
        "  a.py",
        "  @@ -1 +1 @@",
        "  -old",
        "  +new",
    ]
    for number in range(100):
        printed(transcript, started("bash", f"make {number}"), finished(Output(command="", text="x" * 100_000, code=0)))
    shown = lines(transcript.details(60))
    assert shown[0] == "bash  make 81"
    assert shown[-1] == "  " + "x" * (100_000 % 58)


def test_nothing_is_printed_for_a_reply_that_is_empty() -> None:
    assert printed(made(), sent(), text("\n\n"), replied(), finished(NOTHING)) == ["● call"]
