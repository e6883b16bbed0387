"""The values that inspectors show, apart from how they are read, so that a frontend loads nothing else for them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from overt.core.capabilities import JobState
from overt.core.settings import Mode
from overt.core.views import FileDiff, Todo

if TYPE_CHECKING:
    from overt.app.inspect.permissions import RecordedDecision
    from overt.app.models.model_list import ModelListing
    from overt.app.records.context_view import RequestView
    from overt.app.subagents.tree import AgentNode
    from overt.core.agents.profile import AgentProfile
    from overt.core.events import Event
    from overt.sessions.index import Summary


class JobListing(NamedTuple):
    """Background commands, the newest first, those that run before those that have ended."""

    jobs: tuple[JobState, ...]


class AgentListing(NamedTuple):
    """The sub-agents of the session, parents first, and the profiles that can be started."""

    agents: "tuple[AgentNode, ...]"
    profiles: "tuple[AgentProfile, ...]"


class AgentEvents(NamedTuple):
    """What happened to an agent from event number `start` on, in its own session."""

    agent: "AgentNode"
    start: int
    events: "tuple[Event, ...]"


class ForkedAgent(NamedTuple):
    """A copy of an agent's session. `session` is its id."""

    agent: "AgentNode"
    session: str


class Todos(NamedTuple):
    items: tuple[Todo, ...]


class ModelChoices(NamedTuple):
    """`current` is what the conversation uses now: a provider and a model."""

    listing: "ModelListing"
    current: tuple[str, str]


class RequestBody(NamedTuple):
    """The body of a request, every value as it was sent, laid out for reading."""

    text: str


class ContextPiece(NamedTuple):
    """A fragment, a tool or a message. `share` is of the whole request, from 0 to 1; `text` is exactly what it says."""

    number: int
    key: str
    tokens: int
    share: float
    cached: str
    origin: str
    label: str
    text: str


class Contents(NamedTuple):
    """One request, whose number is 0 if it is the next one. `sent` is how many were sent so far."""

    request: "RequestView"
    sent: int
    pieces: tuple[ContextPiece, ...]


class SessionRow(NamedTuple):
    """A session that can be resumed. `here` is set for the one that is open; `hits` are lines that a search found."""

    session: "Summary"
    here: bool = False
    hits: tuple[str, ...] = ()


class SessionPage(NamedTuple):
    """A part of the list. `following` is where the next page begins, 0 after the last one; `total` counts sessions."""

    rows: tuple[SessionRow, ...]
    following: int
    total: int


class Preview(NamedTuple):
    """How a session ended: what was asked last and what came of it; empty where there is nothing of it."""

    prompt: str
    answer: str


class TurnRow(NamedTuple):
    """`files` is how many it changed; `undone`: they were put back. `speaks`: the conversation can go back to it."""

    turn: int
    text: str
    when: float
    files: int
    undone: bool
    speaks: bool


class Turns(NamedTuple):
    """The turns of a session, the newest first."""

    turns: tuple[TurnRow, ...]


class Changes(NamedTuple):
    """What differs between two moments. `others` are named without a comparison, each with why.

    `agents` maps paths to the agents that wrote them, except where only the main agent did.
    """

    files: tuple[FileDiff, ...]
    others: tuple[str, ...]
    agents: Mapping[str, str] = MappingProxyType({})


class RuleRow(NamedTuple):
    """`stored`: the user answered `always`, and the rule can be revoked."""

    text: str
    action: str
    origin: str
    stored: bool


class PermissionRules(NamedTuple):
    """`problem` says why stored rules do not hold."""

    mode: Mode
    rules: tuple[RuleRow, ...]
    problem: str = ""


class Decisions(NamedTuple):
    """Decisions of the project, the newest first."""

    decisions: "tuple[RecordedDecision, ...]"


class RevokedRule(NamedTuple):
    """`here`: it no longer holds in the conversation that is open either."""

    text: str
    here: bool
