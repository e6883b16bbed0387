"""What a person is told of a new spending limit, in one line."""

from overt.core.events import BudgetSet
from overt.core.spending.cost import dollars
from overt.lib.catalogue import say


def describe_budget(event: BudgetSet) -> str:
    return say("budget.set", bound=dollars(event.dollars)) if event.dollars else say("budget.off")
