"""The prefix invariant, on random histories."""

import random
from hashlib import sha256

import pytest
from msgspec import Raw, json
from msgspec.structs import replace

from overt.context.assemble import Assembler
from overt.core.events import Event, Replied, ToolFinished, UserSpoke
from overt.core.history import History, fold, heal, open_calls
from overt.core.messages import Call, Image, Message, Part, Reasoning, Result, Text, said
from overt.core.requests import Params, Prefix, ToolSpec
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, MODEL, USER, Fragment, Origin
from overt.core.views import Plain
from overt.providers.wires.anthropic import Anthropic
from overt.providers.wires.openai import OpenAIChat

PREFIX = Prefix(
    system=(Fragment(key="system", text="You are a test. 你好", origin=HARNESS),),
    tools=(ToolSpec(name="read", description="Read.", schema=Raw(b'{"type":"object","properties":{}}')),),
)
PARAMS = Params(model="m")
WORDS = ["", "plain", "two\nlines", 'quote " and \\', "汉字", "🙂", "\ud800", "\0", "x" * 300, "]}", '","role":"user"']


def some(rng: random.Random) -> str:
    return rng.choice(WORDS) + rng.choice(WORDS)


def a_reply(rng: random.Random, step: int) -> Replied:
    parts: list[Part] = []
    if rng.random() < 0.3:
        parts.append(Reasoning(text=some(rng)))
    if rng.random() < 0.7:
        parts.append(Text(text=some(rng)))
    for index in range(rng.choice([0, 0, 1, 1, 2, 5])):
        arguments = rng.choice(['{"path":"a"}', "{}", "not json", '{"cut":"', "[]"])
        parts.append(Call(id=f"c{step}-{index}", name=rng.choice(["read", "no such tool"]), arguments=arguments))
    message = Message(role="assistant", parts=tuple(parts), origin=MODEL)
    return Replied(message=message, finish="stop", usage=Usage(), forced=rng.random() < 0.05)


def a_result(rng: random.Random, call: Call) -> ToolFinished:
    parts: tuple[Text | Image, ...] = (Text(text=some(rng)),)
    if rng.random() < 0.1:
        parts += (Image(media="image/png", data=b"\x89PNG"),)
    result = Result(call_id=call.id, parts=parts, error=rng.random() < 0.2)
    return ToolFinished(result=result, view=Plain(text=""))


def grown(rng: random.Random, history: History, step: int) -> History:
    """One random step of a conversation, ending where a request could be made."""
    events: list[Event] = [UserSpoke(message=said(some(rng), origin=USER), steered=rng.random() < 0.3)]
    if rng.random() < 0.8:
        events = [a_reply(rng, step), *events][: rng.choice([1, 2])]
    for event in events:
        history = fold(history, event)
        calls = list(open_calls(history))
        rng.shuffle(calls)
        for call in calls[: rng.choice([len(calls), len(calls), 1])]:
            history = fold(history, a_result(rng, call))
        for outcome in heal(history):
            history = fold(history, outcome)
    return history


@pytest.mark.parametrize("block", range(10))
def test_every_request_extends_the_one_before_it_on_a_thousand_random_histories(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        rng = random.Random(seed)
        assembler = Assembler(OpenAIChat())
        history, before, hashed = History(), b"", ""
        for step in range(rng.randint(2, 12)):
            history = grown(rng, history, step)
            forced = rng.random() < 0.1
            params = replace(PARAMS, tool_choice="none") if forced else PARAMS
            made = assembler.assemble(PREFIX, history.messages, params)
            stable, body = b"".join(made.request.stable), made.request.body()
            assert made.reset == ""
            assert stable.startswith(before)
            assert sha256(stable[: len(before)]).hexdigest() == (hashed or sha256(b"").hexdigest())
            assert made.stable == sha256(stable).hexdigest()
            assert made.request.digest == sha256(body).hexdigest()
            assert (made.request.length, made.stable_length) == (len(body), len(stable))
            parsed = json.decode(body)
            assert list(parsed)[-1] == ("tool_choice" if forced else "messages")
            assert anew(history) == body if not forced else True
            before, hashed = stable, made.stable


def anew(history: History) -> bytes:
    """The same history encoded in one go: growing must not change a byte."""
    return Assembler(OpenAIChat()).assemble(PREFIX, history.messages, PARAMS).request.body()


def test_a_history_that_does_not_continue_the_last_one_is_reported_as_a_reset() -> None:
    assembler = Assembler(OpenAIChat())
    one, two = said("one", origin=USER), said("two", origin=USER)
    assembler.assemble(PREFIX, (one, two), PARAMS)
    assert assembler.assemble(PREFIX, (one,), PARAMS).reset == "history changed: 1 of its last messages are gone"
    assert assembler.assemble(PREFIX, (two,), PARAMS).reset == "history changed: message 1 is another"
    assert assembler.assemble(PREFIX, (one, two), replace(PARAMS, model="other")).reset == "model changed: m → other"


def test_a_recorded_reset_is_not_reported_again() -> None:
    assembler = Assembler(OpenAIChat())
    one, two = said("one", origin=USER), said("two", origin=USER)
    assembler.assemble(PREFIX, (one, two), PARAMS)
    assembler.forget()
    made = assembler.assemble(PREFIX, (two,), PARAMS)
    assert made.reset == ""
    assert [m["content"] for m in json.decode(made.request.body())["messages"]][1:] == ["two"]


def test_what_only_one_vendor_can_read_goes_to_no_other() -> None:
    sealed = (Reasoning(text="hm", signature="sealed"), Text(text="hello"))
    history = (
        said("hi", origin=USER),
        Message(role="assistant", parts=sealed, origin=Origin(kind="model", where="one")),
        said("go on", origin=USER),
    )
    bodies = {
        vendor: Assembler(Anthropic(), vendor=vendor).assemble(PREFIX, history, PARAMS).request.body()
        for vendor in ("one", "other")
    }
    assert {vendor: b'"signature":"sealed"' in body for vendor, body in bodies.items()} == {"one": True, "other": False}


def test_examples_stand_before_the_history_in_every_request() -> None:
    prefix = replace(PREFIX, shots=(said("shot", origin=USER), said("like this", role="assistant", origin=USER)))
    made = Assembler(OpenAIChat()).assemble(prefix, (said("task", origin=USER),), PARAMS)
    assert [m["content"] for m in json.decode(made.request.body())["messages"]][-3:] == ["shot", "like this", "task"]
