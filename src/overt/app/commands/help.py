"""`/help`: list the commands."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome
from overt.lib.translations import say


async def help(conversation: Conversation, _argument: str) -> CommandOutcome:
    commands = conversation.commands.listed()
    return CommandOutcome(lines=(say("chat.help"), *(f"  /{each.name:11} {each.describe()}" for each in commands)))


COMMAND = Command(name="help", run=help, aliases=("?",), order=10, anytime=True, panel="help")
