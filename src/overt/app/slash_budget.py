"""`/budget`: what this session may cost."""

from overt.app.command_table import Done, misused
from overt.app.conversation import Conversation
from overt.app.gauges import bound_of
from overt.app.spending import Spending
from overt.config.paths import read_environment
from overt.core.cost import dollars
from overt.core.events import Noticed
from overt.lib.catalogue import say

OFF = ("off", "none", "0")
MOST = 1_000_000.0


async def budget(conversation: Conversation, argument: str) -> Done:
    """A person may raise what a configuration has set: it is their money."""
    if argument:
        amount = _amount(argument)
        text = say("budget.set", bound=dollars(amount)) if amount else say("budget.off")
        conversation.record(Noticed(text=text, budget=amount))
    return Done(lines=_lines(conversation))


def _amount(text: str) -> float:
    if text.lower() in OFF:
        return 0.0
    digits = text.removeprefix("$")
    if not digits.isascii() or not digits.replace(".", "", 1).isdecimal() or not 0 < float(digits) <= MOST:
        raise misused("budget")
    return float(digits)


def _lines(conversation: Conversation) -> tuple[str, ...]:
    bound = bound_of(conversation)
    spent = Spending(read_environment().data_dir, conversation.id).read(conversation.turn).session
    if not bound:
        return (say("budget.none", spent=dollars(spent.cost)),)
    agent = conversation.agent
    unknown = () if agent.price else (say("budget.no_price", model=agent.params.model),)
    share = f"{100 * spent.cost / bound:.0f}"
    return (say("budget.state", bound=dollars(bound), spent=dollars(spent.cost), share=share), *unknown)
