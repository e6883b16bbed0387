"""`/editor`: write the prompt in the editor of the user."""

from overt.app.command import Action, Command, CommandOutcome
from overt.app.conversation import Conversation


async def open_editor(_conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(action=Action.EDITOR)


EDITOR = Command(name="editor", run=open_editor, order=330, anytime=True, only_terminal=True)
