"""`/cost` and `/stats`: what this session, and this project, have cost."""

import asyncio

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, offer_words
from overt.core.spending.cost import dollars
from overt.core.spending.spend import Totals
from overt.lib.translations import say

SHOWN = {"24 h": "stats.day", "7 d": "stats.week", "30 d": "stats.month", "total": "stats.total"}


async def cost(conversation: Conversation, _argument: str) -> CommandOutcome:
    spend = conversation.spend
    lines = [*([_line("cost.turn", spend.turn)] if spend.turn.requests else []), _line("cost.session", spend.session)]
    if spend.session.saved > 0:
        lines.append(say("cost.saved", saved=dollars(spend.session.saved)))
    if spend.session.unpriced:
        lines.append(say("cost.unpriced", count=spend.session.unpriced))
    return CommandOutcome(lines=(*lines, *conversation.cache.told()))


async def stats(conversation: Conversation, argument: str) -> CommandOutcome:
    if argument not in ("", "all"):
        raise STATS.usage_error()
    from overt.app.records.statistics import usage_stats  # late: 1.4 ms

    everywhere = argument == "all"
    found = await asyncio.to_thread(usage_stats, conversation.setting, everywhere=everywhere)
    if not found.windows["total"].requests:
        return CommandOutcome(lines=(say("stats.none" if everywhere else "stats.none_here"),))
    lines = [_line(SHOWN[name], totals) for name, totals in found.windows.items()]
    if unpriced := found.windows["total"].unpriced:
        lines.append(say("cost.unpriced", count=unpriced))
    return CommandOutcome(lines=(say("stats.everywhere" if everywhere else "stats.here"), *lines))


def _line(key: str, totals: Totals) -> str:
    return say(
        key,
        requests=totals.requests,
        input=totals.input,
        cached=f"{100 * (totals.cached_share or 0):.0f}",
        output=totals.output,
        cost=totals.describe_cost(),
    )


COST = Command(name="cost", run=cost, aliases=("usage",), order=70, anytime=True)
STATS = Command(name="stats", run=stats, usage="[all]", order=80, anytime=True, complete=offer_words("all"))
