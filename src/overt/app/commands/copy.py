"""`/copy`: an answer of the model for the clipboard."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Action, Command, CommandOutcome
from overt.core.errors import OvertError
from overt.lib.text import whole_number
from overt.lib.translations import say


async def copy(conversation: Conversation, argument: str) -> CommandOutcome:
    """The last answer, or the one before it with 2, and so on; replies that only call tools do not count."""
    back = whole_number(argument or "1")
    if not back:
        raise COMMAND.usage_error()
    replies = [message.text() for message in conversation.history.messages if message.role == "assistant"]
    answers = [text for text in replies if text.strip()]
    if len(answers) < back:
        raise OvertError(say("copy.none") if not answers else say("copy.fewer", count=len(answers)))
    text = answers[-back]
    return CommandOutcome(action=Action.COPY, value=text, lines=(say("copy.done", characters=len(text)),))


COMMAND = Command(name="copy", run=copy, usage="[N]", order=290, anytime=True, only_terminal=True)
