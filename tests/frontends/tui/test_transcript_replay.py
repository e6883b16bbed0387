"""A session that goes on shows its last turns as they were shown when they happened."""

from tests.frontends.tui.transcript_kit import call, finished, lines, made, printed, replied, sent, started

from overt.agent.user_command import TYPED
from overt.core.events import Event, ModeSet, Noticed, PartialSaved, Replied, TurnEnded, UserSpoke
from overt.core.history import History, fold_all, heal
from overt.core.messages import Reasoning, Text, said
from overt.core.spending.usage import Usage
from overt.core.text_fragments import USER, Origin
from overt.core.views import Excerpt, Output
from overt.frontends.tui.chat.transcript import ROWS
from overt.sessions.entries import Entry, entry_type

RAN = Origin(kind="tool", where="!", label=len("$ make\n"))


def entries(*turns: tuple[Event, ...]) -> list[Entry[Event]]:
    made_of = [(number, event) for number, events in enumerate(turns, 1) for event in events]
    return [
        Entry(v=1, seq=seq, ts=1000.0 + seq, agent=event.agent, turn=turn, step=0, type=entry_type(event), data=event)
        for seq, (turn, event) in enumerate(made_of)
    ]


def turn(words: str, answer: str) -> tuple[Event, ...]:
    return (
        UserSpoke(message=said(words, origin=USER)),
        sent(),
        replied(Text(text=answer)),
        TurnEnded(reason="done", usage=Usage(input=10, output=2), ms=1000),
    )


def shown(words: str, answer: str) -> list[str]:
    return [f"› {words}", "", answer, "", "  10 in · 2 out · 1.0s"]


def test_a_turn_from_disk_looks_as_it_did() -> None:
    events: tuple[Event, ...] = (
        UserSpoke(message=said("fix it", origin=USER)),
        sent(),
        replied(Reasoning(text="hm"), Text(text="I look.\n\nThen."), call("read")),
        started("read", "a.py"),
        finished(Excerpt(path="a.py", first=1, last=3, total=3)),
        Noticed(text="careful", level="warning"),
        TurnEnded(reason="interrupted"),
    )
    transcript = made()
    assert lines(transcript.replay(entries(events), "s1")) == [
        "› fix it",
        "",
        "∴ thought · Ctrl+O opens",
        "",
        "I look.",
        "",
        "Then.",
        "",
        "● read  a.py",
        "  a.py, lines 1–3 of 3",
        "! careful",
        "",
        "⊘ Interrupted.",
    ]
    assert lines(transcript.details(60))[:4] == ["Turn 1 · fix it", "", "∴ thought", "  hm"]
    assert not transcript.animated
    assert transcript.tail(60, 9, 2000.0) == []


def test_only_the_last_three_turns_are_shown_and_the_rest_is_pointed_to() -> None:
    many = entries(*(turn(f"prompt {number}", f"answer {number}") for number in range(1, 6)))
    assert lines(made().replay(many, "abc")) == [
        "  … earlier turns: /rewind, or overt sessions show abc",
        "",
        *shown("prompt 3", "answer 3"),
        "",
        *shown("prompt 4", "answer 4"),
        "",
        *shown("prompt 5", "answer 5"),
    ]


def test_a_long_turn_is_shown_by_its_end() -> None:
    long = entries(turn("p", "\n\n".join(f"paragraph {number}" for number in range(400))))
    found = lines(made().replay(long, "abc"))
    assert len(found) <= ROWS + 2
    assert found[0] == "  … earlier turns: /rewind, or overt sessions show abc"
    assert found[-3:] == ["paragraph 399", "", "  10 in · 2 out · 1.0s"]


def test_what_had_streamed_before_a_crash_is_shown() -> None:
    transcript = made()
    crashed = entries(
        (UserSpoke(message=said("go on", origin=USER)), sent(), PartialSaved(text="Half"), PartialSaved(text="Half an"))
    )
    assert lines(transcript.replay(crashed, "s")) == ["› go on", "", "Half an"]
    assert printed(transcript, *turn("again", "Whole.")) == ["", *shown("again", "Whole.")]


def test_a_partial_that_was_replied_to_is_not_shown_twice() -> None:
    whole = entries(
        (
            UserSpoke(message=said("go on", origin=USER)),
            sent(),
            PartialSaved(text="Half"),
            replied(Text(text="Half and half.")),
            TurnEnded(reason="done"),
        )
    )
    assert lines(made().replay(whole, "s")) == ["› go on", "", "Half and half."]


def test_calls_that_a_crash_left_open_are_named_when_they_are_healed() -> None:
    facts: tuple[Event, ...] = (
        UserSpoke(message=said("run it", origin=USER)),
        sent(),
        replied(call("bash")),
        started("bash", "make"),
    )
    transcript = made()
    transcript.replay(entries(facts), "s")
    healed = heal(fold_all(History(), facts))
    assert printed(transcript, *healed) == ["", "⊘ bash  make", "  Stopped before it had finished."]


def test_a_command_from_disk_shows_its_output() -> None:
    command = entries(
        (
            UserSpoke(message=said("!make", origin=TYPED)),
            started("bash", "make"),
            Replied(
                message=said("$ make\nbuilt\n", role="assistant", origin=RAN),
                finish="stop",
                usage=Usage(),
            ),
            TurnEnded(reason="done"),
        ),
    )
    assert lines(made().replay(command, "s")) == ["! make", "", "  built"]


def test_a_command_that_was_killed_does_not_swallow_the_next_answer() -> None:
    transcript = made()
    transcript.replay(entries((UserSpoke(message=said("!make", origin=TYPED)), started("bash", "make"))), "s")
    assert printed(transcript, *turn("hello", "Hi.")) == ["", *shown("hello", "Hi.")]


def test_the_mode_of_earlier_turns_holds() -> None:
    plans = [(ModeSet(mode="plan", by="user"), *turn("one", "first")), *(turn(f"p{n}", f"a{n}") for n in range(3))]
    transcript = made()
    assert "◆ PLAN" in lines(transcript.replay(entries(*plans), "s"))
    assert transcript.mode == "plan"


def test_whole_outputs_are_at_hand_after_a_resume() -> None:
    transcript = made()
    output = "\n".join(f"line {number}" for number in range(30))
    ran = (started("bash", "make"), finished(Output(command="make", text=output, code=0)))
    transcript.replay(entries((UserSpoke(message=said("go", origin=USER)), *ran)), "s")
    assert "  line 15" in lines(transcript.details(60))
