"""`/compact`: make room in the context now."""

from typing import TYPE_CHECKING

from overt.app.command import Command, Done

if TYPE_CHECKING:
    from overt.app.conversation import Conversation


async def compact(conversation: "Conversation", argument: str) -> Done:
    return Done(play=lambda: conversation.compact(argument))


COMMAND = Command(name="compact", run=compact, usage="[WHAT TO KEEP]", order=50)
