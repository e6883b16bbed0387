"""`/exit`, `/quit` and `/q`: leave the chat."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Action, Command, CommandOutcome


async def leave(_conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(action=Action.LEAVE)


EXIT = Command(name="exit", run=leave, aliases=("quit", "q"), order=340, anytime=True)
