"""The part of the screen that moves: who is waited for, what is thought, written and run, as time goes by."""

import pytest
from tests.frontends.tui.transcript_kit import (
    NOTHING,
    call,
    finished,
    lines,
    made,
    replied,
    sent,
    started,
    text,
    thought,
)

from overt.core.events import (
    CallStreamed,
    Event,
    PermissionAsked,
    PermissionDecided,
    Retried,
    ToolProgressed,
    TurnEnded,
    TurnStarted,
)
from overt.core.messages import Text
from overt.core.views import Plain
from overt.frontends.tui.chat.live_region import FRAMES, Live, last_words
from overt.frontends.tui.terminal.rows import columns as taken

ASKED = PermissionAsked(id="q", call=call(), headline="x", why="", view=Plain(text="x"))
ALLOWED = PermissionDecided(call_id="c1", verdict="allow", rule="", origin="", by="person")
DENIED = PermissionDecided(call_id="c1", verdict="deny", rule="", origin="", by="person")


def live(*events: Event) -> Live:
    """All of them at time 0."""
    found = Live()
    for event in events:
        found.feed(event, 0.0)
    return found


def rows(found: Live, now: float, *, columns: int = 60, most: int = 8) -> list[str]:
    return lines(found.rows(columns, most, now))


def test_who_is_waited_for_is_said_after_a_second() -> None:
    found = live(TurnStarted(turn=1), sent("big-model"))
    assert rows(found, 0.9) == []
    assert rows(found, 3.0) == [f"{FRAMES[0]} waiting for big-model 3s · Esc interrupts"]
    assert rows(live(TurnStarted(turn=1)), 2.0) == [f"{FRAMES[0]} working 2s · Esc interrupts"]


def test_a_lull_in_the_middle_of_an_answer_is_told_later() -> None:
    found = live(sent(), text("Well"))
    assert rows(found, 0.9) == []
    assert rows(found, 2.9) == [f"{FRAMES[9]} 2s · Esc interrupts"]
    assert rows(found, 3.0) == [f"{FRAMES[0]} waiting for fake-model 3s · Esc interrupts"]


def test_reasoning_is_one_row_with_its_last_words() -> None:
    found = live(sent(), thought("First this.\n"), thought("Then something that is rather long."))
    assert rows(found, 12.0) == ["∴ thinking 12s  this. Then something that is rather long."]
    assert len(rows(found, 12.0, columns=40)[0]) <= 40
    found.feed(text("So"), 13.0)
    assert rows(found, 13.1) == [f"{FRAMES[1]} 13s · Esc interrupts"]


def test_a_tool_that_runs_has_its_time_and_the_last_line_of_its_output() -> None:
    found = live(sent(), replied(call()), started("bash", "npm test"))
    assert rows(found, 0.5) == [f"{FRAMES[5]} bash  npm test"]
    found.feed(ToolProgressed(call_id="c1", text="one\ntwo\n\n"), 1.0)
    assert rows(found, 12.0) == [f"{FRAMES[0]} bash  npm test  12s", "    two"]
    found.feed(finished(NOTHING), 13.0)
    assert rows(found, 13.5) == []


def test_the_spinner_turns_with_the_time_that_is_given() -> None:
    found = live(started("bash", "x"))
    assert [rows(found, tenth / 10 + 0.05)[0][0] for tenth in range(10)] == list(FRAMES)


def test_a_command_that_was_typed_reports_without_a_call() -> None:
    found = live(started("bash", "make", "c9"), ToolProgressed(call_id="", text="half\n"))
    assert rows(found, 0.5) == [f"{FRAMES[5]} bash  make", "    half"]


def test_a_long_headline_gives_way_to_the_time() -> None:
    found = live(started("bash", "x" * 100))
    assert rows(found, 65.0, columns=30) == [f"{FRAMES[0]} bash  {'x' * 13}…  1m 05s"]


def test_a_call_that_is_being_written_shows_how_much_there_is() -> None:
    found = live(sent(), CallStreamed(index=0, name="write", characters=4300, ready=0))
    assert rows(found, 0.0) == [f"{FRAMES[0]} write  4.2 KB …"]
    found.feed(replied(call()), 1.0)
    assert rows(found, 1.0) == []


def test_a_wait_before_the_next_attempt_counts_down() -> None:
    found = live(sent(), Retried(attempt=2, attempts=4, wait=8.0, reason="the server said 503"))
    assert rows(found, 0.0) == [f"{FRAMES[0]} Retrying in 8s (2 of 4) · the server said 503"]
    assert rows(found, 7.5) == [f"{FRAMES[5]} Retrying in 1s (2 of 4) · the server said 503"]
    assert rows(found, 8.0) == [f"{FRAMES[0]} waiting for fake-model 8s · Esc interrupts"]


def test_other_agents_are_named() -> None:
    found = live(started("read", "a.py", agent="main/explore-1"), thought("hm", agent="main/explore-2"))
    assert rows(found, 0.0) == ["explore-2 · ∴ thinking 0s  hm", f"explore-1 · {FRAMES[0]} read  a.py"]


def test_what_does_not_fit_is_counted_and_output_goes_first() -> None:
    found = live(*(started("read", f"{number}.py", f"c{number}") for number in range(6)))
    found.feed(ToolProgressed(call_id="c0", text="out"), 0.0)
    spin = FRAMES[0]
    assert rows(found, 0.0, most=7) == [f"{spin} read  0.py", "    out", *(f"{spin} read  {n}.py" for n in range(1, 6))]
    assert rows(found, 0.0, most=6) == [f"{spin} read  {number}.py" for number in range(6)]
    assert rows(found, 0.0, most=3) == [f"{spin} read  0.py", f"{spin} read  1.py", "… 4 more at work"]
    assert rows(found, 0.0, most=1) == ["… 6 more at work"]


@pytest.mark.parametrize(
    ("events", "moves"),
    [
        ((), False),
        ((TurnStarted(turn=1),), True),
        ((TurnStarted(turn=1), TurnEnded(reason="done")), False),
        ((sent(), text("x")), True),
        ((TurnStarted(turn=1), started("bash", "x"), ASKED), False),
        ((TurnStarted(turn=1), started("bash", "x"), ASKED, ALLOWED), True),
        ((started("bash", "x"), finished(NOTHING)), False),
        ((started("bash", "x"), TurnEnded(reason="interrupted")), False),
        ((started("bash", "x"), ASKED, started("read", "y", "c2", agent="main/a")), True),
    ],
)
def test_it_moves_only_while_something_goes_on(events: tuple[Event, ...], moves: bool) -> None:
    assert live(*events).animated is moves


def test_a_call_that_is_asked_about_does_not_run() -> None:
    found = live(sent(), replied(call()), started("bash", "x"), ASKED)
    assert rows(found, 60.0) == []
    found.feed(ALLOWED, 60.0)
    assert rows(found, 62.0) == [f"{FRAMES[0]} bash  x  2s"]
    assert rows(live(started("bash", "x"), ASKED, DENIED), 5.0) == []


def test_the_tail_joins_the_answer_and_what_moves() -> None:
    transcript = made()
    transcript.feed(sent(), 0.0)
    assert lines(transcript.feed(text("One.\n\nTwo is not"), 0.0)) == ["One."]
    assert lines(transcript.tail(60, 6, 0.1)) == ["", "Two is not"]
    spin = FRAMES[0]
    assert lines(transcript.tail(60, 6, 4.0)) == [
        "",
        "Two is not",
        "",
        f"{spin} waiting for fake-model 4s · Esc interrupts",
    ]
    assert lines(transcript.tail(60, 2, 4.0)) == ["", f"{spin} waiting for fake-model 4s · Esc interrupts"]
    transcript.feed(replied(Text(text="x")), 5.0)
    assert transcript.tail(60, 6, 5.1) == []


def test_no_row_is_wider_than_the_screen() -> None:
    found = live(sent("模型" * 30), started("命令", "读文件" * 30), thought("想一想" * 50, agent="main/探索"))
    found.feed(ToolProgressed(call_id="c1", text="输出" * 40), 0.0)
    for columns in (20, 40, 41, 80):
        assert [row for row in found.rows(columns, 9, 77.0) if taken(row) > columns] == []


@pytest.mark.parametrize(
    ("words", "room", "kept"),
    [
        ("one two three", 20, "one two three"),
        ("one two three", 5, "three"),
        ("one two three", 7, "three"),
        ("想一想", 4, "一想"),
        ("想一想", 5, "一想"),
    ],
)
def test_the_last_words_fit(words: str, room: int, kept: str) -> None:
    assert last_words(words, room) == kept
