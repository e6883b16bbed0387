"""The fold over what a session costs: which replies are charged, at which price, and to whom."""

from msgspec.structs import replace

from overt.core.events import Compacted, Event, PrefixSet, Replied, RequestSent, TextStreamed, TitleSet, TurnStarted
from overt.core.messages import said
from overt.core.requests import Params, Prefix
from overt.core.settings import ModelFacts, Price
from overt.core.spending.spend import Charge, Spend, Totals, fold_spend
from overt.core.spending.usage import Usage
from overt.core.text_fragments import MODEL, Origin

USAGE = Usage(input=1_000_000, output=100_000, cached=400_000)
PRICE = Price(input=2.0, output=10.0, cached=0.5)
COST, SAVED = 1.2 + 0.2 + 1.0, 0.6
SMALL = ModelFacts(name="small", price=Price(input=0.5, output=0.0))


def prefix(price: Price | None = PRICE, agent: str = "main", model: str = "big") -> PrefixSet:
    about = ModelFacts(name=model, price=price)
    empty = Prefix(system=(), tools=())
    return PrefixSet(
        agent=agent, prefix=empty, provider="here", model=model, wire="w", encoder=1, fingerprint="", about=about
    )


def sent(agent: str = "main", **more: object) -> RequestSent:
    request = RequestSent(
        agent=agent, digest="", length=100, stable="", stable_length=90, params=Params(model=""), messages=1, encoder=1
    )
    return replace(request, **more)


def replied(usage: Usage = USAGE, agent: str = "main", **more: object) -> Replied:
    message = said("ok", role="assistant", origin=MODEL)
    return replace(Replied(agent=agent, message=message, finish="stop", usage=usage), **more)


def fold_all(*events: Event) -> Spend:
    spend = Spend()
    for event in events:
        spend = fold_spend(spend, event)
    return spend


def test_reply_is_charged_at_the_recorded_price_with_what_a_cache_could_have_held() -> None:
    spend = fold_all(TurnStarted(turn=3), prefix(), sent(), replied(ms=7), sent(shared=90), replied())
    first = Totals(
        requests=1, input=1_000_000, cached=400_000, output=100_000, possible=400_000, cost=COST, saved=SAVED
    )
    assert spend.last == Charge(
        agent="main",
        provider="here",
        model="big",
        purpose="step",
        usage=USAGE,
        possible=900_000,
        cost=COST,
        saved=SAVED,
    )
    assert spend.session == spend.turn == first.add(spend.last)
    assert (spend.session.cached_share, spend.session.kept) == (0.4, 800 / 1300)


def test_turn_sums_begin_anew_and_session_sums_go_on() -> None:
    spend = fold_all(TurnStarted(turn=1), prefix(), sent(), replied(), TurnStarted(turn=2), TextStreamed(text="x"))
    assert (spend.turn, spend.turn_number, spend.session.requests) == (Totals(), 2, 1)


def test_another_model_is_charged_from_its_prefix_on() -> None:
    spend = fold_all(prefix(), sent(), replied(), prefix(SMALL.price, model="small"), sent(), replied())
    assert spend.last and (spend.last.model, spend.last.cost, spend.session.cost) == ("small", 0.5, COST + 0.5)


def test_summary_is_charged_whether_it_was_of_use_or_not() -> None:
    asked = sent(purpose="summary")
    pruned = Compacted(cause="limit", pruned=("c1",))
    spend = fold_all(prefix(), asked, Compacted(cause="limit", usage=USAGE), asked, replied(), pruned)
    assert spend.last and spend.last.purpose == "summary"
    assert (spend.session.requests, spend.session.cost) == (2, 2 * COST)


def test_compaction_without_a_summary_leaves_the_waiting_request_alone() -> None:
    spend = fold_all(prefix(), sent(), Compacted(cause="overflow", pruned=("c1",)), sent(), replied())
    assert (spend.session.requests, spend.session.cost) == (1, COST)


def test_titles_and_sub_agents_count_for_the_session_at_their_own_prices() -> None:
    spend = fold_all(
        *(prefix(), sent()),
        *(prefix(SMALL.price, "title", "small"), sent("title", purpose="title"), replied(agent="title")),
        *(prefix(None, "main/explore-1", "unknown"), sent("main/explore-1"), replied(agent="main/explore-1")),
        replied(),
    )
    assert (spend.session.requests, spend.session.unpriced, spend.session.cost) == (3, 1, COST + 0.5)
    assert spend.session.describe_cost() == "$2.90+"


def test_title_of_an_earlier_version_is_charged_with_its_own_entry() -> None:
    counted = TitleSet(title="T", model="small", provider="here", usage=USAGE, about=SMALL, digest="ab")
    by_person, recorded_apart = TitleSet(title="T", model=""), TitleSet(title="T", model="small", provider="here")
    uncounted = replace(counted, usage=Usage())
    spend = fold_all(prefix(), counted, by_person, recorded_apart, uncounted)
    assert (spend.session.requests, spend.session.cost, spend.session.unpriced) == (2, 0.5, 0)


def test_reply_that_broke_off_uncounted_has_no_known_cost() -> None:
    spend = fold_all(prefix(), sent(), replied(Usage(), finish="interrupted"))
    assert spend.session == Totals(requests=1, unpriced=1)
    assert (spend.session.known_cost, spend.session.describe_cost()) == (None, "?")


def test_typed_command_costs_nothing_even_after_a_request_that_failed() -> None:
    message = said("$ ls", role="assistant", origin=Origin(kind="tool", where="!"))
    typed = Replied(message=message, finish="stop", usage=Usage())
    assert fold_all(prefix(), typed, sent(), typed).session == Totals()


def test_reply_without_a_recorded_price_is_counted_as_unpriced() -> None:
    no_facts = replace(prefix(), about=None)
    assert fold_all(no_facts, sent(), replied()).session.unpriced == 1
    assert fold_all(sent(), replied()).session.unpriced == 1
    assert fold_all(prefix(Price(input=1.0)), sent(), replied()).session.unpriced == 1


def test_unknown_cost_is_not_zero() -> None:
    assert (Totals().known_cost, Totals().describe_cost(), Totals().cached_share) == (0.0, "$0", None)
    assert Totals(requests=2, unpriced=2).known_cost is None
    assert Totals(requests=2, unpriced=1, cost=0.5).known_cost == 0.5
