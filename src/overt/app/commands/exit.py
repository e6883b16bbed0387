"""`/exit`: leave the chat."""

from typing import TYPE_CHECKING

from overt.app.command import Action, Command, Done

if TYPE_CHECKING:
    from overt.app.conversation import Conversation


async def leave(_conversation: "Conversation", _argument: str) -> Done:
    return Done(action=Action.LEAVE)


COMMAND = Command(name="exit", run=leave, aliases=("quit", "q"), order=340, anytime=True)
