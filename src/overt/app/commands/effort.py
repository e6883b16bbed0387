"""`/effort`: how hard the model is to think."""

from collections.abc import Sequence

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.core.errors import OvertError
from overt.lib.translations import say

USUAL = ("low", "medium", "high")
DEFAULT = "default"


async def effort(conversation: Conversation, argument: str) -> CommandOutcome:
    """Holds from the next turn; a request with another effort begins anew, which the record says."""
    agent = conversation.agent
    model, efforts = agent.spec.params.model, agent.spec.efforts
    if efforts is None:
        raise OvertError(say("effort.none", model=model))
    levels = ", ".join((*(efforts or USUAL), DEFAULT))
    if argument:
        if argument != DEFAULT and argument not in (efforts or USUAL):
            raise OvertError(say("effort.unknown", model=model, wanted=argument, levels=levels))
        wanted = "" if argument == DEFAULT else argument
        await conversation.set_model(f"{agent.runtime.provider.name}/{model}", effort=wanted)
    return CommandOutcome(
        lines=(say("effort.now", effort=conversation.agent.spec.params.effort or DEFAULT, levels=levels),)
    )


async def offers(facts: CompletionFacts, _argument: str) -> Sequence[Offer]:
    efforts = facts.conversation.agent.spec.efforts
    return [] if efforts is None else [Offer(level) for level in (*(efforts or USUAL), DEFAULT)]


COMMAND = Command(name="effort", run=effort, usage="[LEVEL]", order=130, anytime=True, complete=offers)
