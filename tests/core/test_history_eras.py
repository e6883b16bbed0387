"""Compaction, rewinding and pins as folds: nothing that left the history is gone."""

from functools import reduce

from tests.sessions.samples import outcome, prompt, reply

from overt.core.events import Compacted, Event, Pinned, PrefixReset
from overt.core.history import History, Mark, add_mark, fold, fold_all
from overt.core.messages import Call, Message, Result, Text, said
from overt.core.text_fragments import MODEL, USER, Origin

A = Call(id="a", name="read", arguments="{}")
B = Call(id="b", name="bash", arguments="{}")
SUMMARY = said("[overt] Summary", origin=Origin(kind="summary", where="turns 1-2"))
TALK: tuple[Event, ...] = (
    prompt("one"),
    reply(A, B),
    outcome("a", "long " * 100),
    outcome("b", "short"),
    prompt("two"),
    reply(Text(text="done")),
    prompt("three"),
)


def folded(*events: Event) -> History:
    return reduce(fold, events, History())


def test_a_compaction_puts_the_summary_in_the_place_of_what_left() -> None:
    before = folded(*TALK)
    after = fold(before, Compacted(cause="limit", start=1, end=5, summary=(SUMMARY,)))
    assert after.messages == (said("one", origin=USER), SUMMARY, said("three", origin=USER))
    assert after.eras == (before.messages,)


def test_a_pruned_result_keeps_its_place_and_the_others_their_words() -> None:
    after = folded(*TALK, Compacted(cause="asked", pruned=("a",), text="[overt] removed"))
    expected = (
        Result(call_id="a", parts=(Text(text="[overt] removed"),), harness=True, cause="removed"),
        Result(call_id="b", parts=(Text(text="short"),)),
    )
    assert after.messages[2] == Message(role="tool", parts=expected, origin=Origin(kind="tool", where="a,b"))
    assert len(after.messages) == len(folded(*TALK).messages)


def test_pruning_and_summing_up_at_once_count_the_messages_as_they_stood_before() -> None:
    event = Compacted(cause="limit", pruned=("a",), text="gone", start=3, end=5, summary=(SUMMARY,))
    after = folded(*TALK, event)
    assert [message.role for message in after.messages] == ["user", "assistant", "tool", "user", "user"]
    assert after.messages[3] == SUMMARY


def test_every_turn_before_a_compaction_can_be_gone_back_to() -> None:
    before = folded(*TALK)
    compacted = fold(before, Compacted(cause="limit", start=0, end=5, summary=(SUMMARY,)))
    back = fold(compacted, PrefixReset(cause="rewind", keep=3, era=0))
    assert back.messages == before.messages[:3]
    assert back.eras == (before.messages, compacted.messages)
    assert fold(back, PrefixReset(cause="rewind", keep=2, era=1)).messages == compacted.messages


def test_an_era_that_a_damaged_file_does_not_have_is_the_present() -> None:
    assert folded(*TALK, PrefixReset(cause="rewind", keep=1, era=7)).messages == (said("one", origin=USER),)


def test_pins_are_kept_in_order_once_each_and_taken_back() -> None:
    pinned = folded(Pinned(text="a"), Pinned(text="b"), Pinned(text="a"))
    assert pinned.pins == ("b", "a")
    assert fold(pinned, Pinned(text="b", off=True)).pins == ("a",)


def test_marks_say_where_each_turn_began_live_and_from_a_file_alike() -> None:
    along = prompt("the file")
    along = type(along)(message=said("1 x", origin=Origin(kind="file", where="a.txt", hash="h")))
    pairs: list[tuple[int, Event]] = [
        (1, prompt("one")),
        (1, reply(A, B)),
        (1, outcome("a")),
        (1, outcome("b")),
        (2, along),
        (2, prompt("two")),
        (2, reply(Text(text="done"))),
        (2, Compacted(cause="limit", start=0, end=3, summary=(SUMMARY,))),
        *((number, event) for number in range(3, 40) for event in (prompt(f"p{number}"), reply(Text(text="done")))),
    ]
    live: list[Mark] = []
    history = History()
    for turn, event in pairs:
        if isinstance(event, type(along)):
            add_mark(live, history, turn, event)
        history = fold(history, event)
    read: list[Mark] = []
    whole = fold_all(History(), (event for _, event in pairs), marks=read, turns=[turn for turn, _ in pairs])
    assert read == live
    assert whole == history
    assert live[:3] == [
        Mark(turn=1, era=0, at=0, text="one"),
        Mark(turn=2, era=0, at=3, text="two"),
        Mark(turn=3, era=1, at=4, text="p3"),
    ]
    assert whole.messages[1:4] == (
        along.message,
        said("two", origin=USER),
        said("done", role="assistant", origin=MODEL),
    )
