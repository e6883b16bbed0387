"""`/context`: what the next request holds as things stand, and how much room is left."""

from overt.app.conversation import Conversation
from overt.app.records.context_lines import table
from overt.app.records.context_view import View, columns
from overt.app.slash import Done
from overt.context.assemble import Assembler
from overt.context.provenance import measured, trace
from overt.core.errors import OvertError
from overt.core.late import late
from overt.core.usage import Usage


async def context(conversation: Conversation, argument: str) -> Done:
    if argument not in ("", "all"):
        raise OvertError(f"/context takes nothing or `all`, got {argument!r}; `overt context` shows what was sent.")
    shown = upcoming(conversation)
    return Done(lines=(*table(shown, columns(1), every=argument == "all"), *conversation.cache.told()))


def upcoming(conversation: Conversation) -> View:
    """The next request without what the person is about to say."""
    agent = conversation.agent
    vendor, messages = agent.provider.name, conversation.history.messages
    wire = agent.provider.wire if agent.calls == "native" else late("spoken")(agent.provider.wire, agent.calls)
    made = Assembler(wire, vendor=vendor).assemble(agent.prefix, messages, agent.params)
    fresh = agent.provider.wire if agent.calls == "native" else late("spoken")(agent.provider.wire, agent.calls)
    spans = trace(fresh, made.request, vendor=vendor)
    budget = agent.budget
    if budget is not None:
        spans = measured(spans, budget.count(agent.prefix, messages))
    return View(
        session=conversation.id,
        number=0,
        turn=conversation.turn + 1,
        step=1,
        purpose="step",
        provider=vendor,
        model=agent.params.model,
        wire=wire.name,
        length=made.request.length,
        digest=made.request.digest,
        limit=(budget.window if budget else 0) or conversation.window,
        used=sum(span.tokens for span in spans),
        reported=False,
        usage=Usage(),
        resets=(),
        spans=spans,
    )
