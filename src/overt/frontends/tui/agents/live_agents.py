"""Rows for the running sub-agents in the live region."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overt.core.agents.agent_events import AgentEnded, AgentStarted
from overt.core.agents.agent_paths import is_below, path_order
from overt.core.events import Event, TurnEnded
from overt.frontends.tui.terminal.rows import Row, Span, cut
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.conversation import Conversation
    from overt.app.subagents.tree import AgentNode

READ_EVERY_S = 0.3
"""How often the rows are updated from the tree of agents."""
MOST_ROWS = 6
WIDE = 60
"""From this many columns on, the number of steps has a label."""


def read_running_agents(conversation: "Conversation") -> "Sequence[AgentNode]":
    """Return the agents for `update`. Call it in the session's thread."""
    return conversation.agents.running() if conversation.agents else ()


class LiveAgents:
    """`nodes` are the running agents. Events add and remove them; `update` sets what each one does."""

    def __init__(self) -> None:
        self.nodes: tuple[AgentNode, ...] = ()
        self._read_at = 0.0

    def feed(self, event: Event) -> None:
        match event:
            case AgentStarted(agent=path):
                from overt.app.subagents.tree import AgentNode  # late: 2 ms

                node = AgentNode(
                    path=path,
                    session=event.session,
                    session_path="",
                    profile=event.profile,
                    description=event.description,
                    model=event.model,
                )
                self.set((*self.nodes, node))
            case AgentEnded(agent=path):
                self.nodes = tuple(node for node in self.nodes if not is_below(node.path, path))
            case TurnEnded(agent="main"):
                self.nodes = ()
            case _:
                pass

    def is_due(self, now: float) -> bool:
        """True if it is time to read the tree again; call `update` with the result."""
        if not self.nodes or now - self._read_at < READ_EVERY_S:
            return False
        self._read_at = now
        return True

    def update(self, nodes: "Sequence[AgentNode]") -> None:
        """Update what the agents do. Only events add or remove agents."""
        known = {node.session: node for node in nodes}
        self.nodes = tuple(known.get(node.session, node) for node in self.nodes)

    def set(self, nodes: "Sequence[AgentNode]") -> None:
        self.nodes = tuple(sorted(nodes, key=lambda node: path_order(node.path)))

    def rows(self, columns: int, most: int, mark: str) -> list[Row]:
        """Return at most `most` rows. `mark` is drawn before a working agent."""
        from overt.frontends.tui.panels.cells import Column, lay_out_cells, widths  # late: 0.4 ms

        spec = (
            Column(most=24),
            Column(most=10, right=True),
            Column(most=6, right=True),
            Column(most=9, right=True, least=WIDE),
            Column(most=24, least=WIDE + 10),
            Column(rest=True),
        )
        most = min(most, MOST_ROWS)
        shown = self.nodes if len(self.nodes) <= most else self.nodes[: max(most - 1, 0)]
        cells = [_cells(node, columns) for node in shown]
        wanted = widths(([cell.text for cell in each] for each in cells), spec)
        rows: list[Row] = []
        for node, each in zip(shown, cells, strict=True):
            asks = node.state == "asking"
            head = Span("? " if asks else f"{mark} ", "bold warn" if asks else "accent")
            rows.append(cut((head, *lay_out_cells(each, wanted, spec, columns - 2)), columns))
        if hidden := len(self.nodes) - len(shown):
            rows.append(cut((Span(f"  {say('tui.agents.more', count=hidden)}", "dim"),), columns))
        return rows[:most]


def _cells(node: "AgentNode", columns: int) -> list[Span]:
    from overt.frontends.tui.agents import agent_cells as cells  # late: 2 ms

    steps = say("agents.step" if node.steps == 1 else "agents.steps", count=node.steps) if node.steps else ""
    return [
        cells.name_cell(node),
        Span(steps if columns >= WIDE else str(node.steps or ""), "muted"),
        cells.tokens_cell(node),
        cells.cost_cell(node),
        Span(one_line(node.description), "dim"),
        cells.activity_cell(node),
    ]
