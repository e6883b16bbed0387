"""What a session has cost, as a fold over its events: the same sums live, after a resume and for a spend limit.

Each reply is charged at the price that the `PrefixSet` of its agent recorded that day, so what a session cost does not
change with a price list. Sub-agents, titles and summaries count for the session and for the turn they happened in.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from overt.core.agents.agent_events import AgentCharged
from overt.core.events import Compacted, Event, PrefixSet, Replied, RequestSent, TitleSet, TurnEnded, TurnStarted
from overt.core.settings import Price
from overt.core.spending.cache_estimate import CacheEstimate
from overt.core.spending.cost import cost, dollars, savings
from overt.core.spending.usage import Usage

Purpose = Literal["step", "summary", "title", "web"]


class Charge(Struct, frozen=True, kw_only=True):
    """One request that was answered. `possible` counts the tokens of it that a cache could have held.

    `cost` and `saved` (by the cache) are US dollars; None: no price is known. `estimated`: the reply broke off before
    the server had counted it, so the tokens and the cost are our estimate.
    """

    agent: str
    provider: str
    model: str
    purpose: Purpose
    usage: Usage
    possible: int = 0
    cost: float | None = None
    saved: float | None = None
    ms: int = 0
    estimated: bool = False


class Totals(Struct, frozen=True, kw_only=True):
    """Sums over requests. Of the `unpriced` ones the cost is not known, so `cost` and `saved` are of the others.

    `unpriced_tokens` are their uncached tokens. `estimated` counts requests that broke off.
    """

    requests: int = 0
    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    possible: int = 0
    cost: float = 0.0
    saved: float = 0.0
    unpriced: int = 0
    unpriced_tokens: int = 0
    estimated: int = 0

    @property
    def usage(self) -> Usage:
        return Usage(
            input=self.input,
            output=self.output,
            cached=self.cached,
            cache_write=self.cache_write,
            reasoning=self.reasoning,
        )

    @property
    def kept(self) -> float | None:
        """The share of what a cache could have held that it did hold."""
        return min(1.0, self.cached / self.possible) if self.possible else None

    @property
    def cached_share(self) -> float | None:
        """The share of the prompt tokens that came from the cache; None if there were none."""
        return min(1.0, self.cached / self.input) if self.input else None

    @property
    def known_cost(self) -> float | None:
        """None if there were requests and the cost of none of them is known."""
        return None if self.requests and self.unpriced == self.requests else self.cost

    def add(self, charge: Charge) -> "Totals":
        usage = charge.usage
        return Totals(
            requests=self.requests + 1,
            input=self.input + usage.input,
            cached=self.cached + usage.cached,
            cache_write=self.cache_write + usage.cache_write,
            output=self.output + usage.output,
            reasoning=self.reasoning + usage.reasoning,
            possible=self.possible + charge.possible,
            cost=self.cost + (charge.cost or 0.0),
            saved=self.saved + (charge.saved or 0.0),
            unpriced=self.unpriced + (charge.cost is None),
            unpriced_tokens=self.unpriced_tokens + (usage.uncached if charge.cost is None else 0),
            estimated=self.estimated + charge.estimated,
        )

    def describe_cost(self) -> str:
        """Return the cost as text: with `~` if some of it is estimated, with a plus if some requests have no price."""
        known = self.known_cost
        about = "~" if self.estimated and known else ""
        return about + dollars(known) + ("+" if self.unpriced and known is not None else "")


class AgentModel(Struct, frozen=True, kw_only=True):
    """The model that one agent sends its requests to, and what that model's cache may hold."""

    provider: str = ""
    model: str = ""
    price: Price | None = None
    cache: CacheEstimate = CacheEstimate()


class Spend(Struct, frozen=True, kw_only=True):
    """`turn` are the sums of the turn with `turn_number`. `last` is the newest charge; a ledger writes each one.

    `ms` is the time that all turns took.
    """

    session: Totals = Totals()
    turn: Totals = Totals()
    turn_number: int = 0
    last: Charge | None = None
    agents: dict[str, AgentModel] = {}
    ms: int = 0


def fold_spend(spend: Spend, event: Event) -> Spend:
    """Return the sums after an event. Only the start of a turn, a prefix, a request and a reply change them."""
    match event:
        case Replied(message=message) if message.origin.kind == "model":
            return _receive(spend, event)
        case RequestSent():
            model = _model_of(spend, event)
            return _put(spend, event, replace(model, cache=model.cache.send(event)))
        case Compacted():
            request = _model_of(spend, event).cache.waiting
            return _receive(spend, event) if request and request.purpose == "summary" else spend
        case TurnStarted(turn=number):
            return replace(spend, turn=Totals(), turn_number=number)
        case TurnEnded(agent="main", ms=ms):
            return replace(spend, ms=spend.ms + ms)
        case AgentCharged():
            return _add(spend, _charge_of_agent(event))
        case PrefixSet(provider=provider, model=name, about=about):
            price = about.price if about else None
            return _put(spend, event, replace(_model_of(spend, event), provider=provider, model=name, price=price))
        case TitleSet(about=about) if event.digest or event.usage != Usage():
            # An earlier version recorded the title alone, with what its request had cost.
            price = about.price if about else _model_of(spend, event).price
            model = AgentModel(provider=event.provider, model=event.model, price=price)
            return _charge(spend, event, model, purpose="title")
        case _:
            return spend


def _model_of(spend: Spend, event: Event) -> AgentModel:
    return spend.agents.get(event.agent, AgentModel())


def _put(spend: Spend, event: Event, model: AgentModel) -> Spend:
    return replace(spend, agents=spend.agents | {event.agent: model})


def _receive(spend: Spend, event: Replied | Compacted) -> Spend:
    """Charge the request that a reply answers; a reply without a request costs nothing."""
    model = _model_of(spend, event)
    request = model.cache.waiting
    if request is None:
        return spend
    spend = _put(spend, event, replace(model, cache=model.cache.receive(event.usage)))
    if isinstance(event, Replied) and event.finish == "interrupted" and event.usage == Usage():
        model = replace(model, price=None)  # earlier versions did not estimate a reply that broke off
    return _charge(spend, event, model, purpose=request.purpose)


def _charge(spend: Spend, event: Replied | Compacted | TitleSet, model: AgentModel, *, purpose: Purpose) -> Spend:
    usage = event.usage
    charge = Charge(
        agent=event.agent,
        provider=model.provider,
        model=model.model,
        purpose=purpose,
        usage=usage,
        possible=model.cache.possible(usage),
        cost=cost(usage, model.price),
        saved=savings(usage, model.price),
        ms=event.ms,
        estimated=isinstance(event, Replied) and event.estimated,
    )
    return _add(spend, charge)


def _add(spend: Spend, charge: Charge) -> Spend:
    return replace(spend, session=spend.session.add(charge), turn=spend.turn.add(charge), last=charge)


def charged(charge: Charge, *, agent: str) -> AgentCharged:
    """Return the event by which the sessions above a sub-agent record its charge."""
    return AgentCharged(**asdict(charge) | {"agent": agent})


def _charge_of_agent(event: AgentCharged) -> Charge:
    return Charge(**asdict(event))
