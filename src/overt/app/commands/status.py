"""`/status`: the model and its mode, the room that is left, and what the session has cost so far."""

from overt.agent.permission_gate import warn_about_sandbox
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome
from overt.lib.translations import say


async def status(conversation: Conversation, _argument: str) -> CommandOutcome:
    agent = conversation.agent
    sandbox = agent.runtime.hands.guess()
    balance = await agent.runtime.provider.balance()
    lines = (
        say(
            "status.model",
            model=f"{agent.runtime.provider.name}/{agent.spec.params.model}",
            mode=conversation.mode,
            sandbox=sandbox.kind,
        ),
        say("status.session", id=conversation.id, turns=conversation.session.turn),
        _context(conversation),
        _spent(conversation),
        *conversation.cache.told(),
        warn_about_sandbox(sandbox),
        say("chat.offline", why=conversation.offline) if conversation.offline else "",
        say("chat.balance", balance=balance) if balance else "",
    )
    return CommandOutcome(lines=tuple(filter(None, lines)))


def _context(conversation: Conversation) -> str:
    """What the next request takes before anything more is said."""
    agent, budget = conversation.agent, conversation.agent.runtime.budget
    used = budget.count(agent.spec.prefix, conversation.history.messages) if budget else 0
    limit = (budget.window if budget else 0) or conversation.window
    if not limit:
        return say("status.unbounded", used=used)
    return say("status.context", used=used, limit=limit, percent=f"{100 * used / limit:.1f}")


def _spent(conversation: Conversation) -> str:
    total = conversation.spend.session
    return say("status.spent", input=total.input, cached=total.cached, output=total.output, cost=total.describe_cost())


COMMAND = Command(name="status", run=status, order=90, anytime=True)
