"""Events that a session records about its sub-agents. Everything else is in the session of each sub-agent.

The `agent` of these events is the path of the sub-agent, `main/explore-1`, as seen from the session that records it.
"""

from overt.core.events import EndReason, Event
from overt.core.redaction import Exact
from overt.core.spending.usage import Usage


class AgentStarted(Event, frozen=True, kw_only=True):
    """A call has started a sub-agent. `session` is the id of its session, `profile` the name of its profile."""

    session: Exact
    profile: str
    call_id: Exact
    description: str = ""
    model: Exact = ""
    isolated: bool = False


class AgentCharged(Event, frozen=True, kw_only=True):
    """A request of a sub-agent was answered. The fields are those of a `Charge` (`core/spending/spend.py`)."""

    provider: Exact
    model: Exact
    usage: Usage
    purpose: Exact = "step"
    possible: int = 0
    cost: float | None = None
    saved: float | None = None
    ms: int = 0
    estimated: bool = False


class AgentEnded(Event, frozen=True, kw_only=True):
    """A sub-agent and everything that it started have ended."""

    reason: EndReason
    steps: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    ms: int = 0
