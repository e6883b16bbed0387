"""Cells for the rows of sub-agents, in the live region and in the inspector."""

from typing import TYPE_CHECKING

from overt.frontends.tui.terminal.formats import count, money
from overt.frontends.tui.terminal.rows import Span
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.subagents.tree import AgentNode

STYLES = {"running": "good", "asking": "bold warn", "done": "muted", "stopped": "warn", "failed": "error"}


def name_cell(node: "AgentNode") -> Span:
    """The last part of the path, indented by its depth."""
    return Span("  " * (node.depth - 1) + one_line(node.path.rpartition("/")[2]), "bold" if node.is_live else "")


def state_cell(node: "AgentNode") -> Span:
    return Span(say(f"agents.state.{node.state}"), STYLES[node.state])


def tokens_cell(node: "AgentNode") -> Span:
    tokens = node.spent.input + node.spent.output
    return Span(count(tokens) if tokens else "", "muted")


def cost_cell(node: "AgentNode") -> Span:
    """The known cost; empty if it is unknown or zero."""
    return Span(money(node.spent.known_cost) if node.spent.known_cost else "", "muted")


def activity_cell(node: "AgentNode") -> Span:
    """The running call, or a word for a model that thinks."""
    if node.state == "asking":
        return Span(one_line(node.activity), "warn")
    if node.state != "running":
        return Span("")
    return Span(one_line(node.activity), "tool") if node.activity else Span(say("tui.live.thinking"), "dim")
