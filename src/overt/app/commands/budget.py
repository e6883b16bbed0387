"""`/budget`: what this session may spend, in US dollars or tokens."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, offer_words
from overt.core.events import BudgetSet
from overt.core.spending.worst_case import is_known
from overt.lib.text import dollar_amount, whole_number
from overt.lib.translations import say

OFF = ("off", "none", "0")
TOKENS = ("tokens", "token")


async def budget(conversation: Conversation, argument: str) -> CommandOutcome:
    """Show the limits, or set the limit of the session. It replaces the limit of the configuration, also upwards."""
    if argument:
        conversation.record(_limit(argument))
    return CommandOutcome(lines=_lines(conversation))


def _limit(text: str) -> BudgetSet:
    if text.lower() in OFF:
        return BudgetSet(dollars=0.0, tokens=0)
    amount, _, unit = text.partition(" ")
    if unit.strip().lower() in TOKENS:
        number = whole_number(amount)
        if not number:
            raise COMMAND.usage_error()
        return BudgetSet(tokens=number)
    number_of_dollars = dollar_amount(text)
    if number_of_dollars is None:
        raise COMMAND.usage_error()
    return BudgetSet(dollars=number_of_dollars)


def _lines(conversation: Conversation) -> tuple[str, ...]:
    spec, caps = conversation.agent.spec, conversation.limits.caps()
    if not caps:
        return (say("budget.none", spent=conversation.spend.session.describe_cost()),)
    limits_money = any(cap.unit == "usd" for cap in caps)
    unknown = (say("budget.no_price", model=spec.params.model),) if limits_money and not is_known(spec.price) else ()
    return (*(cap.describe_state() for cap in caps), *unknown)


COMMAND = Command(
    name="budget",
    run=budget,
    usage="[DOLLARS | N tokens | off]",
    order=140,
    anytime=True,
    complete=offer_words("off"),
)
