"""`/effort`: how hard the model is to think."""

from overt.app.command_table import Done
from overt.app.conversation import Conversation
from overt.core.errors import OvertError
from overt.lib.catalogue import say

USUAL = ("low", "medium", "high")
DEFAULT = "default"


async def effort(conversation: Conversation, argument: str) -> Done:
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
    return Done(lines=(say("effort.now", effort=conversation.agent.spec.params.effort or DEFAULT, levels=levels),))
