"""`/pin`: keep words of a prompt through every compaction."""

from collections.abc import Sequence

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.core.errors import OvertError
from overt.core.events import Pinned
from overt.lib.text import first_line, shorten, whole_number
from overt.lib.translations import say

OFF = "--off"


async def pin(conversation: Conversation, argument: str) -> CommandOutcome:
    """List, add or remove pins. Only words of a prompt can be pinned: a compaction must not invent a message."""
    pins = conversation.history.pins
    if not argument:
        listed = tuple(f"  {number}  {_short(text)}" for number, text in enumerate(pins, 1))
        return CommandOutcome(lines=(say("pin.list"), *listed) if pins else (say("pin.none"),))
    if argument.split()[0] == OFF:
        typed = argument.removeprefix(OFF).strip()
        number = whole_number(typed) or 0
        if not 1 <= number <= len(pins):
            raise OvertError(say("pin.no_number", number=typed or "?"))
        text = pins[number - 1]
        conversation.record(Pinned(text=text, off=True))
        return CommandOutcome(lines=(say("pin.removed", text=_short(text)),))
    text = _last(conversation) if argument == "last" else _said(conversation, argument)
    conversation.record(Pinned(text=text))
    return CommandOutcome(lines=(say("pin.added", text=_short(text)),))


def _prompts(conversation: Conversation) -> list[str]:
    return [message.text() for message in conversation.history.messages if message.origin.kind == "user"]


def _last(conversation: Conversation) -> str:
    prompts = _prompts(conversation)
    if not prompts:
        raise OvertError(say("pin.no_prompt"))
    return prompts[-1]


def _said(conversation: Conversation, words: str) -> str:
    """The words as they were said; how they were broken into lines does not matter for finding them."""
    wanted = words.split()
    for prompt in reversed(_prompts(conversation)):
        if words in prompt:
            return words
        if " ".join(wanted) in " ".join(prompt.split()):
            return " ".join(wanted)
    raise OvertError(say("pin.not_said"))


def _short(text: str) -> str:
    return shorten(" ".join(text.split()), 100)


async def offers(facts: CompletionFacts, argument: str) -> Sequence[Offer]:
    pins = facts.conversation.history.pins
    if argument.startswith("--off "):
        return [Offer(f"--off {number}", first_line(pin), str(number)) for number, pin in enumerate(pins, 1)]
    last = [Offer("last", say("tui.complete.pin_last"))] if facts.conversation.session.marks else []
    return [*last, *([Offer("--off", say("tui.complete.pin_off"), more=True)] if pins else [])]


COMMAND = Command(name="pin", run=pin, usage="[last | WORDS | --off N]", order=240, anytime=True, complete=offers)
