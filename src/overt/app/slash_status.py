"""`/status`: the model and its mode, the room that is left, and what the session has cost so far."""

import asyncio

from overt.app.command_table import Done
from overt.app.conversation import Conversation
from overt.config.paths import read_environment
from overt.core.cost import dollars
from overt.core.errors import SessionError
from overt.core.spend import Totals
from overt.engine.gate import told_of_sandbox
from overt.lib.catalogue import say
from overt.sessions.ledger import read
from overt.sessions.stats import stats


async def status(conversation: Conversation, _argument: str) -> Done:
    agent = conversation.agent
    sandbox = agent.hands.guess()
    balance = await agent.provider.balance()
    lines = (
        say(
            "status.model",
            model=f"{agent.provider.name}/{agent.params.model}",
            mode=conversation.mode,
            sandbox=sandbox.kind,
        ),
        say("status.session", id=conversation.id, turns=conversation.turn),
        _context(conversation),
        _spent(conversation, await asyncio.to_thread(_booked, conversation.id)),
        *conversation.cache.told(),
        told_of_sandbox(sandbox),
        say("chat.offline", why=conversation.offline) if conversation.offline else "",
        say("chat.balance", balance=balance) if balance else "",
    )
    return Done(lines=tuple(filter(None, lines)))


def _context(conversation: Conversation) -> str:
    """What the next request takes before anything more is said."""
    agent, budget = conversation.agent, conversation.agent.budget
    used = budget.count(agent.prefix, conversation.history.messages) if budget else 0
    limit = (budget.window if budget else 0) or conversation.window
    if not limit:
        return say("status.unbounded", used=used)
    return say("status.context", used=used, limit=limit, percent=f"{100 * used / limit:.1f}")


def _spent(conversation: Conversation, booked: Totals | None) -> str:
    """As the ledger has it, which knows of earlier runs too; without one, what this run has used."""
    found = booked or conversation.session.usage
    cost = _cost(booked) if booked else "?"
    return say("status.spent", input=found.input, cached=found.cached, output=found.output, cost=cost)


def _cost(booked: Totals) -> str:
    """A plus where some requests have no known price."""
    if booked.unpriced == booked.requests:
        return "?" if booked.requests else dollars(0)
    return dollars(booked.cost) + ("+" if booked.unpriced else "")


def _booked(session: str) -> Totals | None:
    try:
        lines = [line for line in read(read_environment().data_dir) if line.session == session]
    except SessionError:
        return None
    return stats(lines, now=0.0).windows["total"]
