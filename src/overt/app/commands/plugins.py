"""`/plugins`: which plugins there are, what they bring, and why one is off."""

import asyncio

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome


async def plugins(conversation: Conversation, argument: str) -> CommandOutcome:
    if argument.strip():
        raise COMMAND.usage_error()
    from overt.app.plugins.describe import list_lines  # late: 15 ms

    return CommandOutcome(lines=tuple(await asyncio.to_thread(lambda: tuple(list_lines(conversation.setting)))))


COMMAND = Command(name="plugins", run=plugins, order=265, anytime=True, panel="lines")
