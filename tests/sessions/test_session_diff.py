"""Two sessions compared: which turns belong together, where they part, and what each of them spent."""

from msgspec.structs import replace
from tests.sessions.samples import PREFIX, outcome, prompt, reply

from overt.core.events import Compacted, Event, Replied, RequestSent, TitleSet, ToolStarted, TurnEnded, UserSpoke
from overt.core.messages import Call, Text, said
from overt.core.requests import Params
from overt.core.settings import ModelFacts, Price
from overt.core.spending.usage import Usage
from overt.core.text_fragments import Origin
from overt.sessions.diff import (
    ComparedCall,
    ComparedStep,
    ComparedTurn,
    Divergence,
    SessionDifference,
    TurnPair,
    compare_turns,
    pair_turns,
    read_turns,
)
from overt.sessions.entries import Entry

USED = Usage(input=9, output=2)
PRICE = Price(input=2e6, output=0.0)


def sent(digest: str = "ab", length: int = 10) -> RequestSent:
    return RequestSent(
        digest=digest, length=length, stable="cd", stable_length=8, params=Params(model="tiny"), messages=1, encoder=1
    )


def session(*per_turn: list[Event], price: Price | None = None) -> tuple[ComparedTurn, ...]:
    opening = replace(PREFIX, about=ModelFacts(name="tiny", price=price))
    numbered = [(1, opening), *((turn, event) for turn, events in enumerate(per_turn, 1) for event in events)]
    entries = [
        Entry[Event](v=1, seq=seq, ts=0.0, agent=event.agent, turn=turn, step=0, type="x", data=event)
        for seq, (turn, event) in enumerate(numbered, 1)
    ]
    return read_turns(entries)


def asked(text: str, answer: str, digest: str = "ab") -> list[Event]:
    return [prompt(text), sent(digest), reply(Text(text=answer)), TurnEnded(reason="done", text=answer)]


def with_call(arguments: str, result: str = "ok", digest: str = "ab") -> list[Event]:
    call = Call(id="c1", name="read", arguments=arguments)
    return [
        prompt("go"),
        sent(digest),
        reply(Text(text="I look."), call),
        ToolStarted(call=call),
        outcome("c1", result),
        sent(),
        reply(Text(text="done")),
        TurnEnded(reason="done", text="done"),
    ]


def test_a_turn_holds_its_prompt_its_steps_and_what_they_cost() -> None:
    (only,) = session(with_call('{"path":"a"}'), price=PRICE)
    look = ComparedCall(name="read", arguments='{"path":"a"}', outcome="ok")
    assert only == ComparedTurn(
        number=1,
        prompt="go",
        steps=(
            ComparedStep(digest="ab", length=10, said="I look.", calls=(look,), usage=USED, replied=True),
            ComparedStep(digest="ab", length=10, said="done", usage=USED, replied=True),
        ),
        usage=USED + USED,
        cost=36.0,
        reason="done",
        model="tiny",
    )


def test_summaries_and_titles_are_paid_by_the_turn_they_came_in() -> None:
    small = ModelFacts(name="small", price=Price(input=1e6))
    extra: list[Event] = [
        replace(sent("ee"), purpose="summary"),
        Compacted(cause="asked", usage=Usage(input=5)),
        TitleSet(title="T", model="small", usage=Usage(input=3), about=small),
        TitleSet(title="By hand", model=""),
    ]
    (only,) = session([*asked("go", "done"), *extra], price=PRICE)
    assert (only.usage, only.cost) == (Usage(input=17, output=2), 18.0 + 10.0 + 3.0)


def test_a_summary_that_was_of_no_use_is_paid_and_is_no_step() -> None:
    aside = replace(sent("ee"), purpose="summary")
    (only,) = session([*asked("go", "done")[:3], aside, reply(Text(text="a summary"))], price=PRICE)
    assert [step.said for step in only.steps] == ["done"]
    assert (only.usage, only.cost) == (USED + USED, 36.0)


def test_one_unknown_price_makes_the_cost_of_the_turn_unknown() -> None:
    (only,) = session(asked("go", "done"))
    assert only.cost is None


def test_a_typed_command_is_a_step_without_a_request() -> None:
    typed: list[Event] = [
        UserSpoke(message=said("!ls", origin=Origin(kind="user", where="!"))),
        ToolStarted(call=Call(id="t1", name="bash", arguments='{"command":"ls"}')),
        Replied(message=said("$ ls\na", role="assistant", origin=Origin(kind="tool")), finish="stop", usage=Usage()),
    ]
    (only,) = session(typed)
    call = ComparedCall(name="bash", arguments='{"command":"ls"}')
    assert only.steps == (ComparedStep(said="$ ls\na", calls=(call,), replied=True),)


def test_what_a_crash_left_open_is_answered_in_the_turn_that_asked() -> None:
    call = Call(id="c1", name="bash", arguments="{}")
    first: list[Event] = [prompt("go"), sent(), reply(call), ToolStarted(call=call)]
    one, two = session(first, [outcome("c1", "Interrupted"), *asked("again", "ok")])
    assert one.steps[0].calls[0].outcome == "Interrupted"
    assert two.prompt == "again"


def test_equal_sessions_have_no_difference() -> None:
    left = session(asked("a", "x"), with_call("{}"))
    assert compare_turns(left, left) == SessionDifference(
        pairs=tuple(TurnPair(left=told, right=told) for told in left), first=None, behaviour=None
    )


def test_turns_with_the_same_prompt_are_paired_and_the_rest_by_their_place() -> None:
    left = session(asked("a", "1"), asked("b", "2"), asked("c", "3"))
    right = session(asked("a", "1"), asked("other", "2"), asked("new", "9"), asked("c", "3"), asked("d", "4"))
    found = [(one and one.number, other and other.number) for one, other in pair_turns(left, right)]
    assert found == [(1, 1), (2, 2), (None, 3), (3, 4), (None, 5)]


def test_the_first_difference_is_named_with_its_kind() -> None:
    base = with_call('{"path":"a"}')
    cases: list[tuple[list[Event], Divergence | None, Divergence | None]] = []

    def case(other: list[Event], first: Divergence, behaviour: Divergence | None) -> None:
        cases.append((other, first, behaviour))

    digest = Divergence(what="request", turns=(1, 1), step=1, left="10 bytes, ab", right="10 bytes, ff")
    calls = Divergence(what="calls", turns=(1, 1), step=1, left='read {"path":"a"}', right='read {"path":"b"}')
    results = Divergence(what="outcomes", turns=(1, 1), step=1, left="ok", right="no")
    more = Divergence(what="calls", turns=(1, 1), step=2, left="done", right="(the turn was over)")
    words = Divergence(what="reply", turns=(1, 1), step=2, left="done", right="other")
    ended = Divergence(what="end", turns=(1, 1), step=2, left="done", right="interrupted")
    case(with_call('{"path":"a"}', digest="ff"), digest, None)
    case(with_call('{"path":"b"}', digest="ff"), digest, calls)
    case(with_call('{"path":"b"}'), calls, calls)
    case(with_call('{"path":"a"}', "no"), results, results)
    case(base[:5], more, more)
    case([*base[:6], reply(Text(text="other")), base[-1]], words, words)
    case([*base[:-1], TurnEnded(reason="interrupted")], ended, ended)
    for other, first, behaviour in cases:
        found = compare_turns(session(base), session(other))
        assert (found.first, found.behaviour) == (first, behaviour)


def test_a_turn_that_only_one_of_them_has_is_a_difference() -> None:
    found = compare_turns(session(asked("a", "1")), session(asked("a", "1"), asked("b", "2")))
    assert found.first == Divergence(what="missing", turns=(0, 2), step=0, left="", right="b")
