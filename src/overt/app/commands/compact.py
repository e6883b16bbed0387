"""`/compact [WHAT TO KEEP]`: summarise the history now."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome


async def compact(conversation: Conversation, argument: str) -> CommandOutcome:
    return CommandOutcome(play=lambda: conversation.compact(argument))


COMPACT = Command(name="compact", run=compact, usage="[WHAT TO KEEP]", order=50)
