"""Describe an event in one line: a new spend limit, a compaction, the start or the end of a sub-agent."""

from overt.core.agents.agent_events import AgentEnded, AgentStarted
from overt.core.events import BudgetSet, Compacted
from overt.core.spending.cost import dollars
from overt.lib.translations import say


def describe_budget(event: BudgetSet) -> str:
    if event.tokens:
        return say("budget.set", bound=say("limits.tokens", number=event.tokens))
    return say("budget.set", bound=dollars(event.dollars)) if event.dollars else say("budget.off")


def describe_compaction(event: Compacted) -> str:
    count, pruned = event.end - event.start, len(event.pruned)
    what = say("compaction.done.summary", count=count) if event.summary else say("compaction.done.pruned", count=pruned)
    return say("compaction.done", before=short_count(event.before), after=short_count(event.after), what=what)


def describe_agent_start(event: AgentStarted) -> str:
    what = event.description or event.profile
    return say("agents.started", path=event.agent, what=" ".join(what.split()))


def describe_agent_end(event: AgentEnded) -> str:
    """`main/explore-1 done · 12 steps · 34k tokens · $0.02`."""
    figures = agent_figures(event.steps, event.usage.input + event.usage.output, event.cost)
    return " · ".join((f"{event.agent} {say(f'agents.ended.{event.reason}')}", *figures))


def agent_figures(steps: int, tokens: int, cost: float | None) -> tuple[str, ...]:
    """Return the steps, tokens and cost of an agent. An unknown or zero cost is left out."""
    counted = say("agents.step" if steps == 1 else "agents.steps", count=steps)
    spent = (f"${cost:.4f}" if cost < 0.01 else f"${cost:,.2f}") if cost else ""
    return tuple(filter(None, (counted, say("agents.tokens", count=short_count(tokens)), spent)))


def short_count(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
