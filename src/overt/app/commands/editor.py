"""`/editor`: write the prompt in the editor of the user."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Action, Command, CommandOutcome


async def open_editor(_conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(action=Action.EDITOR)


EDITOR = Command(name="editor", run=open_editor, order=330, anytime=True, only_terminal=True)
