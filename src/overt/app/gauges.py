"""The gauges of a conversation, cheap enough to be read after every event; for the thread that the engine runs in."""

from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from overt.app.branch import Branch
from overt.app.conversation import Conversation
from overt.app.spending import Spending, cached_share, known_cost
from overt.config.paths import read_environment
from overt.core.effects import JobState
from overt.core.events import TitleSet
from overt.core.gauges import Gauges
from overt.sessions.tail import Tail

TITLE = b',"type":"title","data":{'
LONGEST = 80
"""Characters of a prompt that stands in for a title."""


@runtime_checkable
class Working(Protocol):
    """Hands that know of background commands."""

    def jobs(self) -> tuple[JobState, ...]: ...


def gauges(conversation: Conversation) -> Gauges:
    found = _DIALS.get(conversation)
    if found is None:
        found = _DIALS[conversation] = Dials(conversation)
    return found.read(conversation)


def bound_of(conversation: Conversation) -> float:
    """What the session may cost: as said in it, else as set; 0 is no bound."""
    said = conversation.history.budget
    return conversation.agent.limits.budget_usd if said is None else said


class _Line(Struct, frozen=True, kw_only=True):
    data: Raw


class Dials:
    """What one conversation's gauges remember between two readings."""

    def __init__(self, conversation: Conversation) -> None:
        fresh = conversation.turn == 0
        self._spending = Spending(read_environment().data_dir, conversation.id, fresh=fresh)
        self._branch = Branch(conversation.workspace)
        self._titles = Tail(conversation.path, TITLE) if conversation.path else None
        self._title = ("", "")

    def read(self, conversation: Conversation) -> Gauges:
        agent = conversation.agent
        budget, hands = agent.budget, agent.hands
        sandbox = hands.guess()
        spent = self._spending.read(conversation.turn)
        return Gauges(
            model=agent.params.model,
            provider=agent.provider.name,
            mode=conversation.mode,
            sandbox=sandbox.kind,
            lacking=sandbox.missing if sandbox.boxed else (),
            used=budget.count(agent.prefix, conversation.history.messages) if budget else 0,
            limit=(budget.window if budget else 0) or conversation.window,
            cost=known_cost(spent.turn),
            session_cost=known_cost(spent.session),
            unpriced=spent.session.unpriced > 0,
            budget=bound_of(conversation),
            cache=cached_share(spent.turn),
            session_cache=cached_share(spent.session),
            jobs=sum(job.state == "running" for job in hands.jobs()) if isinstance(hands, Working) else 0,
            branch=self._branch.name(),
            offline=conversation.offline,
            title=self._named(conversation),
            turn=conversation.turn,
        )

    def _named(self, conversation: Conversation) -> str:
        """The name a person gave last, else the one a model found, else the first prompt."""
        for text in self._titles.fresh() if self._titles else ():
            try:
                fact = _fact.decode(_line.decode(text).data)
            except (DecodeError, UnicodeDecodeError):
                continue
            by_person, by_model = self._title
            self._title = (by_person, fact.title) if fact.model else (fact.title, by_model)
        first = next((mark.text for mark in conversation.marks if mark.text), "")
        return self._title[0] or self._title[1] or first.strip().partition("\n")[0][:LONGEST]


_line, _fact = Decoder(_Line), Decoder(TitleSet)
_DIALS: WeakKeyDictionary[Conversation, Dials] = WeakKeyDictionary()
