"""`/new` and `/clear`: begin a session with an empty history."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Action, Command, CommandOutcome


async def new(_conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(action=Action.NEW)


NEW = Command(name="new", run=new, aliases=("clear",), order=20)
