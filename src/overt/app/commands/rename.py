"""`/rename`: give this session a name."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome
from overt.core.errors import OvertError
from overt.core.events import TitleSet
from overt.lib.translations import say


async def rename(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.records.archive import clean_name  # late: 4 ms

    title = clean_name(conversation.redact(argument))
    if not title:
        raise OvertError(say("session.no_name"))
    conversation.record(TitleSet(title=title, model=""))
    return CommandOutcome(lines=(say("session.named", title=title),))


COMMAND = Command(name="rename", run=rename, usage="NAME", needs_argument=True, order=270, anytime=True)
