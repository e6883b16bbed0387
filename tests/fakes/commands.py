"""Run the commands and queries of a conversation as a frontend does."""

from overt.app.command_registry import CommandRegistry
from overt.app.conversation import Conversation
from overt.app.slash_command import CommandOutcome

BUILT_IN = CommandRegistry()
NAMES = tuple(command.name for command in BUILT_IN.listed())


async def slash(conversation: Conversation, text: str, *, panels: bool = False) -> CommandOutcome:
    return await conversation.commands.run(conversation, text, panels=panels)


async def look(conversation: Conversation, kind: str, text: str = "", number: int = 0) -> object:
    return await conversation.commands.query(kind)(conversation, text, number)
