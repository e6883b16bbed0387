"""`/fork`: continue in a copy of this session, from its end or from an earlier turn."""

from collections.abc import Sequence

from overt import __version__
from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Action, Command, CommandOutcome, Offer, require_session_file
from overt.core.errors import OvertError
from overt.lib.text import whole_number
from overt.lib.translations import say
from overt.sessions.names import id_of


async def fork(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.sessions.fork import fork as fork_file  # late: 0.1 ms

    path = require_session_file(conversation, "/fork")
    turn = whole_number(argument)
    if argument and turn is None:
        raise OvertError(say("session.not_a_turn", text=argument))
    copy = fork_file(path, turn=turn, overt=__version__)
    lines = (say("session.forked", parent=conversation.id),)
    return CommandOutcome(action=Action.NEW, resume=id_of(copy), lines=lines)


async def offers(facts: CompletionFacts, _argument: str) -> Sequence[Offer]:
    return facts.turns(more=False)


COMMAND = Command(name="fork", run=fork, usage="[TURN]", aliases=("branch",), order=260, complete=offers)
