"""`/theme`: show or set the colours."""

from overt.app.conversation import Conversation
from overt.app.slash_command import Action, Command, CommandOutcome, offer_words

THEMES = ("auto", "dark", "light")


async def theme(_conversation: Conversation, argument: str) -> CommandOutcome:
    if argument and argument not in THEMES:
        raise COMMAND.usage_error()
    return CommandOutcome(action=Action.THEME, value=argument)


COMMAND = Command(
    name="theme",
    run=theme,
    usage="[auto | dark | light]",
    order=320,
    anytime=True,
    only_terminal=True,
    complete=offer_words(*THEMES),
    asks_for_argument=True,
)
