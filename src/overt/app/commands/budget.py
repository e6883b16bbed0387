"""`/budget`: the spend limit of this session."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, offer_words
from overt.app.spend_limit import spend_limit
from overt.core.events import BudgetSet
from overt.core.spending.cost import dollars
from overt.lib.translations import say

OFF = ("off", "none", "0")
HIGHEST_LIMIT = 1_000_000.0


async def budget(conversation: Conversation, argument: str) -> CommandOutcome:
    """Show the limit, or set it. A person may raise what a configuration has set: it is their money."""
    if argument:
        conversation.record(BudgetSet(dollars=_amount(argument)))
    return CommandOutcome(lines=_lines(conversation))


def _amount(text: str) -> float:
    if text.lower() in OFF:
        return 0.0
    digits = text.removeprefix("$")
    if not digits.isascii() or not digits.replace(".", "", 1).isdecimal() or not 0 < float(digits) <= HIGHEST_LIMIT:
        raise COMMAND.usage_error()
    return float(digits)


def _lines(conversation: Conversation) -> tuple[str, ...]:
    agent, spent = conversation.agent, conversation.spend.session.cost
    limit = spend_limit(conversation.history, agent.spec.limits.budget_usd)
    if not limit:
        return (say("budget.none", spent=dollars(spent)),)
    unknown = () if agent.spec.price else (say("budget.no_price", model=agent.spec.params.model),)
    share = f"{100 * spent / limit:.0f}"
    return (say("budget.state", bound=dollars(limit), spent=dollars(spent), share=share), *unknown)


COMMAND = Command(
    name="budget", run=budget, usage="[DOLLARS | off]", order=140, anytime=True, complete=offer_words("off")
)
