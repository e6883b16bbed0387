"""Requests are made again from the entries alone, on every wire, and what does not let them is told."""

from collections.abc import Callable

import pytest
from msgspec import Raw
from msgspec.structs import replace

from overt.app.records.context_diff import compare_requests
from overt.app.records.rebuild import RebuiltRequest, rebuild, wire_of
from overt.context.assemble import Assembler
from overt.core.events import (
    Compacted,
    Event,
    PrefixReset,
    PrefixSet,
    Replied,
    RequestSent,
    SessionOpened,
    ToolFinished,
    UserSpoke,
)
from overt.core.history import History, fold
from overt.core.messages import Call, Image, Message, Reasoning, Result, Text, said
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.settings import Calls, ModelFacts
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment, Origin
from overt.core.views import Plain
from overt.sessions.entries import Entry

PREFIX = Prefix(
    system=(Fragment(key="system", text="You are a test.", origin=HARNESS),),
    tools=(ToolSpec(name="read", description="Read.", schema=Raw(b'{"type":"object","properties":{}}')),),
)
PARAMS = Params(model="m")
SHAPES: list[tuple[str, Calls]] = [
    ("openai", "native"),
    ("openai", "schema"),
    ("openai", "text"),
    ("responses", "native"),
    ("anthropic", "native"),
    ("anthropic", "text"),
]


class Life:
    """A session as it is lived: facts are folded and kept, requests made and sent."""

    def __init__(self, wire: str, calls: Calls) -> None:
        self.facts: list[Event] = []
        self.bodies: list[bytes] = []
        self.history = History()
        self.happened(SessionOpened(id="s", format=1, overt="1", workspace="/w", project="/w", created=""))
        self.opens(wire, calls)

    def opens(self, wire: str, calls: Calls, model: str = "m") -> None:
        about = ModelFacts(name=model)
        self.opening = PrefixSet(
            prefix=PREFIX, provider="here", model=model, wire=wire, encoder=1, fingerprint="", about=about, calls=calls
        )
        self.assembler = Assembler(wire_of(self.opening), vendor="here")
        self.params = replace(PARAMS, model=model)
        self.happened(self.opening)

    def happened(self, event: Event) -> None:
        self.facts.append(event)
        self.history = fold(self.history, event)
        if isinstance(event, PrefixReset | Compacted):
            self.assembler.forget()

    def asks(self, *, also: tuple[Message, ...] = ()) -> None:
        assembler = self.assembler.beside() if also else self.assembler
        params = replace(self.params, tool_choice="none") if also else self.params
        made = assembler.assemble(PREFIX, (*self.history.messages, *also), params)
        self.bodies.append(made.request.body())
        self.happened(
            RequestSent(
                digest=made.request.digest,
                length=made.request.length,
                stable=made.stable,
                stable_length=made.stable_length,
                params=params,
                messages=len(self.history.messages) + len(also),
                encoder=1,
                shared=made.shared,
                purpose="summary" if also else "step",
                also=also,
            )
        )

    def step(self, number: int) -> None:
        """Ask, get a call, answer it with a text and a picture."""
        self.asks()
        parts = (
            Reasoning(text="hm", signature="x"),
            Text(text="好"),
            Call(id=f"c{number}", name="read", arguments="{}"),
        )
        self.answers(Message(role="assistant", parts=parts, origin=Origin(kind="model", where="here")))
        shown = (Text(text=f"{number}\n" * 9), Image(media="image/png", data=b"\x89PNG"))
        self.happened(ToolFinished(result=Result(call_id=f"c{number}", parts=shown), view=Plain(text="")))

    def answers(self, message: Message) -> None:
        self.happened(Replied(message=message, finish="stop", usage=Usage(input=100)))

    def entries(self) -> list[Entry[Event]]:
        return [
            Entry(v=1, seq=seq, ts=0.0, agent="main", turn=1, step=0, type="", data=fact)
            for seq, fact in enumerate(self.facts, 1)
        ]


def lived(wire: str, calls: Calls) -> Life:
    life = Life(wire, calls)
    life.happened(UserSpoke(message=said("go", origin=USER)))
    for number in range(4):
        life.step(number)
    life.asks(also=(said("Sum up.", origin=HARNESS),))
    summary = said("[overt] Summary", origin=Origin(kind="summary", where="turn 1"))
    life.happened(Compacted(cause="asked", pruned=("c3",), text="[overt] removed", start=0, end=5, summary=(summary,)))
    life.step(5)
    life.opens(wire, calls, model="n")
    life.step(6)
    life.happened(PrefixReset(cause="rewind to before turn 1", keep=1, era=0))
    life.happened(UserSpoke(message=said("another way", origin=USER)))
    life.step(7)
    life.asks()
    return life


@pytest.mark.parametrize(("wire", "calls"), SHAPES)
def test_every_request_is_made_again_on_every_wire(wire: str, calls: Calls) -> None:
    life = lived(wire, calls)
    made = list(rebuild(life.entries()))
    assert [(each.differs, each.request.body()) for each in made] == [("", body) for body in life.bodies]
    assert [each.number for each in made] == list(range(1, len(life.bodies) + 1))
    assert [each.resets for each in made if each.resets] == [("compaction (asked)",), ("rewind to before turn 1",)]


def test_a_request_stands_with_its_reply_and_with_no_other() -> None:
    life = Life("openai", "native")
    life.happened(UserSpoke(message=said("go", origin=USER)))
    life.asks()
    life.answers(said("$ ls", role="assistant", origin=Origin(kind="tool", where="!")))
    life.asks()
    life.answers(said("hello", role="assistant", origin=MODEL))
    replies = [each.reply.message.text() if each.reply else None for each in rebuild(life.entries())]
    assert replies == [None, "hello"]


def changed(life: Life, change: Callable[[Event], Event]) -> list[RebuiltRequest]:
    entries = [replace(entry, data=change(entry.data)) for entry in life.entries()]
    return list(rebuild(entries))


def test_what_does_not_let_a_request_be_made_again_is_told() -> None:
    life = Life("openai", "native")
    life.happened(UserSpoke(message=said("go", origin=USER)))
    life.asks()
    (other,) = changed(life, lambda event: replace(event, encoder=9) if isinstance(event, RequestSent) else event)
    assert other.differs == ""
    (longer,) = changed(
        life, lambda e: replace(e, message=said("go on", origin=USER)) if isinstance(e, UserSpoke) else e
    )
    assert longer.differs.startswith(f"it was {len(life.bodies[0])} bytes with the hash ")
    (older,) = changed(life, lambda e: replace(e, encoder=9, digest="0") if isinstance(e, RequestSent) else e)
    assert older.differs == "it was written by encoder 9 of the wire openai, which this version does not have"
    (fewer,) = changed(life, lambda e: replace(e, messages=7, digest="0") if isinstance(e, RequestSent) else e)
    assert fewer.differs == "it had 7 messages, and the entries before it give 1"


def test_entries_of_another_agent_are_left_aside() -> None:
    life = lived("openai", "native")
    mixed = []
    for entry in life.entries():
        mixed += [entry, replace(entry, agent="main/explore-1")]
    assert [each.request.body() for each in rebuild(mixed)] == life.bodies


def test_two_requests_are_compared_by_what_they_hold() -> None:
    made = list(rebuild(lived("anthropic", "native").entries()))
    grown = compare_requests(made[1], made[2], made[2:3])
    assert grown is not None and grown.extends and grown.causes == ()
    assert [(moved.way, moved.span.key) for moved in grown.moved] == [("+", "assistant"), ("+", "tool:read")]
    reset = compare_requests(made[3], made[5], made[4:6])
    assert reset is not None and not reset.extends
    assert reset.causes == ((6, "compaction (asked)"),)
    ways = [(moved.way, moved.span.key) for moved in reset.moved]
    assert ways[0] == ("-", "user") and ("+", "summary") in ways
    far = compare_requests(made[0], made[5], made[1:6])
    assert far is not None and not far.extends
    assert compare_requests(made[0], made[0], ()) is None
