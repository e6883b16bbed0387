"""What was cached, what could have been, and why it was not."""

from overt.context.cache import CacheMeter, CacheStep, CacheTotals
from overt.core.events import Compacted, Event, PrefixReset, Replied, RequestSent
from overt.core.messages import Message, said
from overt.core.requests import Params
from overt.core.spending.usage import Usage
from overt.core.text_fragments import MODEL, Origin

ANSWER = said("ok", role="assistant", origin=MODEL)


def sent(length: int, shared: int, **more: object) -> RequestSent:
    return RequestSent(
        digest="",
        length=length,
        stable="",
        stable_length=length,
        params=Params(model="m"),
        messages=1,
        encoder=1,
        shared=shared,
        **more,  # type: ignore[arg-type]
    )


def replied(input: int, cached: int, message: Message = ANSWER) -> Replied:
    return Replied(message=message, finish="stop", usage=Usage(input=input, cached=cached))


def fed(*events: Event) -> CacheMeter:
    meter = CacheMeter()
    for event in events:
        meter.feed(event)
    return meter


def test_the_best_possible_is_what_a_request_shares_with_the_one_before() -> None:
    meter = fed(sent(40_000, 0), replied(10_000, 0), sent(60_000, 39_996), replied(15_000, 9_984))
    assert meter.steps == [
        CacheStep(number=1, input=10_000),
        CacheStep(number=2, input=15_000, cached=9_984, possible=9_999, ideal=9_999),
    ]
    assert meter.totals() == CacheTotals(
        requests=2,
        input=25_000,
        cached=9_984,
        possible=9_999,
        ideal=9_999,
        kept=9_984 / 9_999,
        reached=9_984 / 9_999,
        reported=True,
    )


def test_a_miss_without_a_reset_is_the_servers() -> None:
    meter = fed(
        *(sent(40_000, 0), replied(10_000, 0)),
        *(sent(80_000, 40_000), replied(20_000, 9_984)),
        *(sent(120_000, 80_000), replied(30_000, 0)),
    )
    assert [step.missed for step in meter.steps] == ["", "", "20000 tokens: the server did not keep it"]


def test_a_request_that_got_no_answer_is_not_expected_to_be_in_the_cache() -> None:
    """It was refused: only what the server had answered before can be there."""
    meter = fed(
        *(sent(40_000, 0), replied(10_000, 0)),
        *(sent(80_000, 40_000), replied(20_000, 9_984)),
        sent(120_000, 80_000),
        *(sent(160_000, 120_000), replied(40_000, 19_968)),
    )
    assert meter.steps[-1] == CacheStep(number=4, input=40_000, cached=19_968, possible=20_000, ideal=20_000)
    refused = fed(sent(40_000, 0), sent(80_000, 40_000), sent(120_000, 80_000), replied(30_000, 0))
    assert refused.steps == [CacheStep(number=3, input=30_000)]
    parted = fed(
        sent(80_000, 0), replied(20_000, 0), sent(60_000, 40_000), sent(60_000, 59_000), replied(15_000, 9_984)
    )
    assert parted.steps[-1] == CacheStep(number=3, input=15_000, cached=9_984, possible=10_000, ideal=10_000)


def test_blocks_and_a_minimum_are_no_miss() -> None:
    small = fed(sent(2000, 0), replied(500, 0), sent(4000, 2000), replied(1000, 0))
    blocks = fed(sent(40_000, 0), replied(10_000, 0), sent(40_400, 40_000), replied(10_100, 9_216))
    assert [step.missed for step in (*small.steps, *blocks.steps)] == ["", "", "", ""]


def test_a_server_that_never_speaks_of_a_cache_has_missed_nothing() -> None:
    meter = fed(sent(40_000, 0), replied(10_000, 0), sent(80_000, 40_000), replied(20_000, 0))
    assert [step.missed for step in meter.steps] == ["", ""]
    assert (meter.totals().reported, meter.totals().possible) == (False, 10_000)


def test_a_reset_is_told_with_its_cause_and_what_it_cost() -> None:
    cause = "tool list changed: mcp__x__y added"
    meter = fed(
        *(sent(40_000, 0), replied(10_000, 0)),
        PrefixReset(cause=cause),
        PrefixReset(cause=cause),
        *(sent(44_000, 4_000), replied(11_000, 512)),
        *(sent(48_000, 44_000), replied(12_000, 11_000)),
    )
    assert meter.steps[1] == CacheStep(
        number=2,
        input=11_000,
        cached=512,
        possible=1_000,
        ideal=10_000,
        resets=(cause,),
        missed=f"9488 tokens: {cause}",
    )
    found = meter.totals()
    assert (found.kept, found.reached, found.resets) == (1.0, 11_512 / 21_000, 1)


def test_a_summary_reads_from_the_cache_and_is_no_step_that_others_build_on() -> None:
    meter = fed(
        *(sent(40_000, 0), replied(10_000, 0)),
        sent(40_100, 40_000, purpose="summary"),
        Compacted(cause="limit", usage=Usage(input=10_025, cached=9_984)),
        *(sent(8_000, 4_000), replied(2_000, 1_000)),
    )
    assert [(step.possible, step.ideal, step.summary, step.resets) for step in meter.steps] == [
        (0, 0, False, ()),
        (10_000, 10_000, True, ()),
        (1_000, 2_000 * 5, False, ("compaction (limit)",)),
    ]


def test_a_compaction_without_a_request_is_only_a_reset() -> None:
    meter = fed(sent(40_000, 0), replied(10_000, 0), Compacted(cause="asked"), sent(4_000, 400), replied(1_000, 100))
    assert [step.resets for step in meter.steps] == [(), ("compaction (asked)",)]


def test_what_the_server_had_was_possible() -> None:
    """After a rewind it may remember more than the last request had."""
    meter = fed(sent(400, 0), replied(100, 0), PrefixReset(cause="rewind", keep=1), sent(200, 80), replied(50, 40))
    assert (meter.steps[1].possible, meter.steps[1].ratio) == (40, 1.0)


def test_replies_that_cost_nothing_are_no_steps() -> None:
    """A command that the person ran, and an answer that broke off before it was counted."""
    ran = said("$ ls", role="assistant", origin=Origin(kind="tool", where="!"))
    meter = fed(sent(400, 0), replied(0, 0), replied(0, 0, ran), sent(800, 400), replied(200, 100))
    assert meter.steps == [CacheStep(number=2, input=200, cached=100, possible=100, ideal=100)]


def test_a_session_that_goes_on_measures_its_first_request_by_itself() -> None:
    assert fed(sent(800, 600), replied(200, 128)).steps == [
        CacheStep(number=1, input=200, cached=128, possible=150, ideal=150)
    ]
