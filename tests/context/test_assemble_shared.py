"""How much of a request stood in the one before it: what a cache could hold."""

from msgspec import Raw
from tests.context.test_assemble import PARAMS, PREFIX

from overt.context.assemble import Assembler
from overt.core.messages import Message, said
from overt.core.requests import Prefix, ToolSpec
from overt.core.text_fragments import MODEL, USER, Fragment, Origin
from overt.providers.wires.anthropic import Anthropic
from overt.providers.wires.openai import OpenAIChat

ONE, TWO, THREE = said("one", origin=USER), said("two", role="assistant", origin=MODEL), said("three", origin=USER)


def test_a_first_request_shares_nothing() -> None:
    assert Assembler(OpenAIChat()).assemble(PREFIX, (ONE,), PARAMS).shared == 0


def test_a_request_that_goes_on_shares_all_of_the_one_before_but_its_closing_bytes() -> None:
    assembler = Assembler(OpenAIChat())
    first = assembler.assemble(PREFIX, (ONE,), PARAMS)
    second = assembler.assemble(PREFIX, (ONE, TWO, THREE), PARAMS)
    assert second.shared == first.stable_length
    assert assembler.assemble(PREFIX, (ONE, TWO, THREE), PARAMS).shared == second.stable_length


def test_marks_for_a_cache_do_not_count_as_a_difference() -> None:
    assembler = Assembler(Anthropic())
    assembler.assemble(PREFIX, (ONE,), PARAMS)
    second = assembler.assemble(PREFIX, (ONE, TWO, THREE), PARAMS)
    alone = Assembler(Anthropic()).assemble(PREFIX, (ONE, TWO), PARAMS)
    assert second.shared == alone.stable_length


def test_after_a_reset_the_common_beginning_is_found_byte_by_byte() -> None:
    long = tuple(said(f"{number} " * 5000, origin=USER) for number in range(20))
    assembler = Assembler(OpenAIChat())
    before = assembler.assemble(PREFIX, long, PARAMS).request.body()
    for changed in ((*long[:7], ONE, *long[8:]), long[:3], (TWO, *long)):
        made = assembler.assemble(PREFIX, changed, PARAMS)
        body = made.request.body()
        same = next(index for index, pair in enumerate(zip(before, body, strict=False)) if pair[0] != pair[1])
        assert made.reset.startswith("history changed: ")
        assert abs(made.shared - same) <= len(made.request.closing)
        before = body


def test_a_reset_that_was_recorded_shares_what_it_shares() -> None:
    assembler = Assembler(OpenAIChat())
    assembler.assemble(PREFIX, (ONE, TWO), PARAMS)
    assembler.forget()
    more = Prefix(
        system=(*PREFIX.system, Fragment(key="rules", text="Be kind.", origin=Origin(kind="file", where="AGENTS.md"))),
        tools=PREFIX.tools,
    )
    made = assembler.assemble(more, (ONE, TWO), PARAMS)
    assert made.reset == ""
    assert 0 < made.shared < made.stable_length
    tools = Prefix(system=PREFIX.system, tools=(ToolSpec(name="x", description="", schema=Raw(b"{}")), *PREFIX.tools))
    assembler.forget()
    assert assembler.assemble(tools, (ONE, TWO), PARAMS).shared < made.shared


def test_a_side_request_is_never_heard_of_again() -> None:
    assembler = Assembler(OpenAIChat())
    first = assembler.assemble(PREFIX, (ONE,), PARAMS)
    aside = assembler.beside().assemble(PREFIX, (ONE, TWO), PARAMS)
    assert aside.shared == first.stable_length
    then = assembler.assemble(PREFIX, (ONE, THREE), PARAMS)
    assert (then.reset, then.shared) == ("", first.stable_length)
    assert then.request.body() == Assembler(OpenAIChat()).assemble(PREFIX, (ONE, THREE), PARAMS).request.body()


def test_what_an_earlier_process_sent_counts_when_it_is_extended() -> None:
    earlier = Assembler(OpenAIChat()).assemble(PREFIX, (ONE, TWO), PARAMS)
    going_on = Assembler(OpenAIChat())
    going_on.recall(earlier.stable, earlier.stable_length)
    assert going_on.assemble(PREFIX, (ONE, TWO, THREE), PARAMS).shared == earlier.stable_length
    another = Assembler(OpenAIChat())
    another.recall(earlier.stable, earlier.stable_length)
    changed: tuple[Message, ...] = (THREE, TWO, THREE)
    assert another.assemble(PREFIX, changed, PARAMS).shared == 0
