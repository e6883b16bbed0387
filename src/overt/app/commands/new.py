"""`/new`: begin a new session."""

from typing import TYPE_CHECKING

from overt.app.command import Action, Command, Done

if TYPE_CHECKING:
    from overt.app.conversation import Conversation


async def new(_conversation: "Conversation", _argument: str) -> Done:
    return Done(action=Action.NEW)


COMMAND = Command(name="new", run=new, aliases=("clear",), order=20)
