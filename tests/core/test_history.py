"""A history is a valid message list after every fact, in whatever order facts come."""

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.sessions.samples import assert_valid, histories, outcome, prompt, reply

from overt.core.events import Event, Noticed, PrefixReset, Replied, TodoSet, UserSpoke
from overt.core.history import INTERRUPTED, History, fold, fold_all, heal, last_exchange, open_calls
from overt.core.messages import Call, Message, Result, Text, said
from overt.core.text_fragments import MODEL, USER, Origin
from overt.core.views import Todo

A = Call(id="a", name="read", arguments="{}")
B = Call(id="b", name="read", arguments="{}")


def folded(*events: Event) -> History:
    return reduce(fold, events, History())


def result(call_id: str, text: str = "ok") -> Result:
    return Result(call_id=call_id, parts=(Text(text=text),))


def test_results_that_come_in_any_order_join_in_the_order_of_the_calls() -> None:
    history = folded(prompt("go"), reply(A, B), outcome("b"), outcome("a"))
    tool = Message(role="tool", parts=(result("a"), result("b")), origin=Origin(kind="tool", where="a,b"))
    assert history.messages == (said("go", origin=USER), Message(role="assistant", parts=(A, B), origin=MODEL), tool)
    assert history.pending == ()


def test_a_result_waits_until_every_call_is_answered() -> None:
    history = folded(prompt("go"), reply(A, B), outcome("b"))
    assert len(history.messages) == 2
    assert history.pending == (result("b"),)
    assert open_calls(history) == (A,)


def test_an_answer_nobody_asked_for_changes_nothing() -> None:
    history = folded(prompt("go"), reply(A))
    assert fold(history, replace(outcome("zz"), seen={})) == history
    assert fold(folded(prompt("go")), replace(outcome("a"), seen={})) == folded(prompt("go"))


def test_a_second_answer_to_the_same_call_is_passed_over() -> None:
    history = folded(prompt("go"), reply(A, B), outcome("a"))
    assert fold(history, outcome("a", "again")) == history


def test_two_calls_with_one_id_are_both_answered() -> None:
    history = folded(prompt("go"), reply(A, A), outcome("a"))
    assert history.messages[-1].parts == (result("a"), result("a"))
    assert_valid(history)


def test_speaking_over_open_calls_answers_them_as_interrupted() -> None:
    history = folded(prompt("go"), reply(A, B), outcome("a"), prompt("stop"))
    interrupted = Result(call_id="b", parts=(Text(text=INTERRUPTED),), error=True, harness=True, cause="interrupted")
    assert [message.role for message in history.messages] == ["user", "assistant", "tool", "user"]
    assert history.messages[2].parts == (result("a"), interrupted)


def test_healing_answers_exactly_the_open_calls() -> None:
    history = folded(prompt("go"), reply(A, B), outcome("b"))
    healing = heal(history)
    assert [(found.result.call_id, found.result.error, found.code) for found in healing] == [("a", True, "interrupted")]
    healed = reduce(fold, healing, history)
    assert_valid(healed)
    assert heal(healed) == ()


def test_an_empty_reply_adds_no_message() -> None:
    empty = Replied(message=Message(role="assistant", parts=(), origin=MODEL), finish="stop", usage=reply().usage)
    assert folded(prompt("go"), empty) == folded(prompt("go"))


def test_a_reset_keeps_the_messages_it_names_and_reopens_a_call_it_cut_from_its_result() -> None:
    history = folded(prompt("go"), reply(A), outcome("a"), PrefixReset(cause="rewind", keep=2))
    assert len(history.messages) == 2
    assert open_calls(history) == (A,)
    assert_valid(reduce(fold, heal(history), history))


def test_a_reset_without_a_number_keeps_everything() -> None:
    before = folded(prompt("go"), reply(Text(text="yes")))
    assert fold(before, PrefixReset(cause="model changed")) == before


def test_todos_and_what_was_seen_are_folded_and_other_facts_are_not() -> None:
    items = (Todo(content="x"),)
    history = folded(prompt("go"), TodoSet(items=items), reply(A), outcome("a"), Noticed(text="hm"))
    assert (history.todos, history.seen) == (items, {"a.py": "aa"})


def test_the_last_exchange_is_the_last_prompt_of_a_person() -> None:
    assert last_exchange(History()) is None
    history = folded(prompt("one"), reply(Text(text="yes")), prompt("two"), reply(A), outcome("a"))
    assert last_exchange(history) == (2, said("two", origin=USER))
    harness = UserSpoke(message=said("note", origin=Origin(kind="harness")))
    assert last_exchange(fold(history, harness)) == (2, said("two", origin=USER))


@given(histories())
@settings(max_examples=300, deadline=None)
def test_every_history_is_valid_once_healed(events: list[Event]) -> None:
    history = folded(*events)
    assert_valid(reduce(fold, heal(history), history))


@given(st.lists(histories(), max_size=6))
@settings(max_examples=200, deadline=None)
def test_folding_many_at_once_gives_the_same_history(parts: list[list[Event]]) -> None:
    events = [event for part in parts for event in part]
    assert fold_all(History(), events) == folded(*events)
    half = len(events) // 2
    assert fold_all(folded(*events[:half]), events[half:]) == folded(*events)
