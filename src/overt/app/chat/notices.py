"""One line for a person about an event: a new spend limit, a compaction."""

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


def short_count(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
