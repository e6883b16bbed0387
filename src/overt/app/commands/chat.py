"""`/new`, `/retry`, `/compact`, `/editor` and `/exit`: commands that only start something."""

from overt.app.command import Action, Command, CommandOutcome
from overt.app.conversation import Conversation


async def new(_conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(action=Action.NEW)


async def retry(conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(play=conversation.retry)


async def compact(conversation: Conversation, argument: str) -> CommandOutcome:
    return CommandOutcome(play=lambda: conversation.compact(argument))


async def open_editor(_conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(action=Action.EDITOR)


async def leave(_conversation: Conversation, _argument: str) -> CommandOutcome:
    return CommandOutcome(action=Action.LEAVE)


NEW = Command(name="new", run=new, aliases=("clear",), order=20)
RETRY = Command(name="retry", run=retry, order=40)
COMPACT = Command(name="compact", run=compact, usage="[WHAT TO KEEP]", order=50)
EDITOR = Command(name="editor", run=open_editor, order=330, anytime=True, only_terminal=True)
EXIT = Command(name="exit", run=leave, aliases=("quit", "q"), order=340, anytime=True)
