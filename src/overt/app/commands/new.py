"""`/new` and `/clear`: begin a session with an empty history."""

from overt.app.command import Action, Command, CommandOutcome
from overt.app.conversation import Conversation


async def new(_conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(action=Action.NEW)


NEW = Command(name="new", run=new, aliases=("clear",), order=20)
