"""`/retry`: ask the model once more for the answer to the last prompt."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome


async def retry(conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(play=conversation.retry)


RETRY = Command(name="retry", run=retry, order=40)
