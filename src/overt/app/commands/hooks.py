"""`/hooks`: the hooks that are configured, and what they did last."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome
from overt.lib.translations import say

MOST_FIRINGS = 20


async def hooks(conversation: Conversation, _argument: str) -> CommandOutcome:
    from overt.app.hooks.inspect import describe_firing, hook_lines, ledger_lines  # late: 12 ms

    firings = ledger_lines(conversation.setting, MOST_FIRINGS)
    lines = [*hook_lines(conversation.setting), *((say("hooks.last"),) if firings else ())]
    lines += [text for line in reversed(firings) for text in describe_firing(line)]
    return CommandOutcome(lines=tuple(conversation.redact(line) for line in lines))


COMMAND = Command(name="hooks", run=hooks, order=245, anytime=True, panel="lines")
