"""The output limit of a spend cap travels in the closing bytes, so it never breaks the prefix of a request."""

from json import loads

import pytest
from msgspec.structs import replace

from overt.context.assemble import Assembler
from overt.core.messages import said
from overt.core.requests import Params, Prefix
from overt.core.settings import ModelFacts, Quirks
from overt.core.text_fragments import HARNESS, USER, Fragment
from overt.providers.wires import make_wire

PREFIX = Prefix(system=(Fragment(key="base", text="You work.", origin=HARNESS),), tools=())
ONE = (said("first", origin=USER),)
TWO = (*ONE, said("second", origin=USER))
FIELDS = {"openai": "max_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}


@pytest.mark.parametrize("kind", FIELDS)
def test_a_shrinking_limit_extends_the_request_before_it(kind: str) -> None:
    wire = make_wire(kind, ModelFacts(name="m", quirks=Quirks(cache_marks=False)))
    params = Params(model="m", max_tokens=9000, output_limit=5000)
    assembler = Assembler(wire)
    first = assembler.assemble(PREFIX, ONE, params)
    second = assembler.assemble(PREFIX, TWO, replace(params, output_limit=1200))
    bodies = [loads(made.request.body()) for made in (first, second)]
    assert [body[FIELDS[kind]] for body in bodies] == [5000, 1200]
    assert second.request.body().startswith(b"".join(first.request.stable))
    assert (second.reset, second.shared) == ("", first.stable_length)


@pytest.mark.parametrize("kind", FIELDS)
def test_a_cap_that_is_set_or_taken_away_during_a_session_is_no_reset(kind: str) -> None:
    wire = make_wire(kind, ModelFacts(name="m", quirks=Quirks(cache_marks=False)))
    usual = Params(model="m", max_tokens=9000)
    assembler = Assembler(wire)
    first = assembler.assemble(PREFIX, ONE, usual)
    capped = assembler.assemble(PREFIX, TWO, replace(usual, output_limit=1200))
    again = assembler.assemble(PREFIX, TWO, usual)
    limits = [loads(made.request.body())[FIELDS[kind]] for made in (first, capped, again)]
    assert (limits, capped.reset, again.reset) == ([9000, 1200, 9000], "", "")
    assert capped.shared > 0
    assert again.request.body() == Assembler(wire).assemble(PREFIX, TWO, usual).request.body()
    assert assembler.assemble(PREFIX, TWO, replace(usual, temperature=0.5)).reset


def test_no_thinking_budget_is_larger_than_the_limit_of_the_reply() -> None:
    about = ModelFacts(name="m", output=64_000, efforts=("high",), reasons=True, quirks=Quirks(thinking="budget"))
    wire = make_wire("anthropic", about)
    params = Params(model="m", effort="high")
    for limit, budget in ((40_000, 20_000), (4_000, 2_000), (1_000, None)):
        made = Assembler(wire).assemble(PREFIX, ONE, replace(params, output_limit=limit))
        body = loads(made.request.body())
        assert body["max_tokens"] == limit
        assert body.get("thinking", {}).get("budget_tokens") == budget
    assert loads(Assembler(wire).assemble(PREFIX, ONE, params).request.body())["max_tokens"] == 64_000
