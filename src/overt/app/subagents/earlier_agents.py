"""Restore the sub-agents of a resumed session from its record."""

from collections.abc import Sequence

from msgspec.structs import replace

from overt.app.subagents.tree import AgentNode, state_after
from overt.core.agents.agent_events import AgentCharged, AgentEnded, AgentStarted
from overt.core.agents.agent_paths import is_below
from overt.core.events import Event
from overt.core.spending.spend import Spend, fold_spend
from overt.sessions.names import id_of


def restore_agents(events: Sequence[Event], session_path: str) -> tuple[AgentNode, ...]:
    """Return the agents in the order of their start. One without a recorded end counts as stopped."""
    if not events:
        return ()
    from overt.sessions.index import agent_paths  # late: 0.2 ms

    files = {id_of(path): path for path in agent_paths(session_path)} if session_path else {}
    nodes: dict[str, AgentNode] = {}
    for event in events:
        path = event.agent
        match event:
            case AgentStarted(session=session):
                nodes[path] = AgentNode(
                    path=path,
                    session=session,
                    session_path=files.get(session, ""),
                    profile=event.profile,
                    description=event.description,
                    model=event.model,
                    state="stopped",
                    isolated=event.isolated,
                )
            case AgentCharged():
                _charge(nodes, event)
            case AgentEnded(reason=reason, steps=steps) if path in nodes:
                nodes[path] = replace(nodes[path], state=state_after(reason), steps=steps)
            case _:
                pass
    return tuple(nodes.values())


def _charge(nodes: dict[str, AgentNode], charged: AgentCharged) -> None:
    """Add a request to the agent that sent it and to those above it."""
    for path, node in nodes.items():
        if is_below(charged.agent, path):
            spent = fold_spend(Spend(session=node.spent), charged).session
            own_step = charged.agent == path and charged.purpose == "step"
            nodes[path] = replace(node, spent=spent, steps=node.steps + own_step)
