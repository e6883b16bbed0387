"""`/mode` and `/plan`: show or set what is asked about; plan a task without changing anything."""

from collections.abc import Sequence
from typing import get_args

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.options import CLAUDE_MODES
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.core.errors import OvertError
from overt.core.settings import Mode
from overt.lib.translations import say


async def mode(conversation: Conversation, argument: str) -> CommandOutcome:
    if argument:
        chosen = CLAUDE_MODES.get(argument)
        if chosen is None or argument == "dontAsk":
            raise OvertError(f"There is no mode {argument!r}; modes are {', '.join(get_args(Mode))}.")
        conversation.set_mode(chosen)  # type: ignore[arg-type]
    return CommandOutcome(lines=(say("chat.mode", mode=conversation.mode),))


async def plan(conversation: Conversation, task: str) -> CommandOutcome:
    done = await mode(conversation, "plan")
    return CommandOutcome(lines=done.lines, play=(lambda: conversation.prompt(task)) if task else None)


async def offers(facts: CompletionFacts, _argument: str) -> Sequence[Offer]:
    """Offer the mode in use first, so that an Enter too many changes nothing."""
    current = facts.conversation.mode
    ordered = (current, *(each for each in get_args(Mode) if each != current))
    return [Offer(each, say("tui.complete.current") if each == current else "") for each in ordered]


MODE = Command(
    name="mode",
    run=mode,
    usage="[review | auto | plan | yolo]",
    order=100,
    anytime=True,
    complete=offers,
    asks_for_argument=True,
)
PLAN = Command(name="plan", run=plan, usage="[TASK]", order=105)
