"""`/retry`: run the last prompt again."""

from typing import TYPE_CHECKING

from overt.app.command import Command, Done

if TYPE_CHECKING:
    from overt.app.conversation import Conversation


async def retry(conversation: "Conversation", _argument: str) -> Done:
    return Done(play=conversation.retry)


COMMAND = Command(name="retry", run=retry, order=40)
