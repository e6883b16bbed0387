"""`/editor`: write the prompt in an editor."""

from typing import TYPE_CHECKING

from overt.app.command import Action, Command, Done

if TYPE_CHECKING:
    from overt.app.conversation import Conversation


async def open_editor(_conversation: "Conversation", _argument: str) -> Done:
    return Done(action=Action.EDITOR)


COMMAND = Command(name="editor", run=open_editor, order=330, anytime=True, only_terminal=True)
