"""`/memory`: the notes that join at the start of a session."""

from overt.app.command_table import Done
from overt.app.conversation import Conversation
from overt.app.notes import Notebook, perform


async def memory(conversation: Conversation, argument: str) -> Done:
    return Done(lines=perform(Notebook(conversation.setting), conversation.redact(argument), how="/memory"))
