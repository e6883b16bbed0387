"""The next request of a session as it would be sent now."""

import asyncio

from overt.agent.agent import Agent
from overt.app.conversation import Conversation
from overt.app.records.context_view import View
from overt.context.assemble import Assembler
from overt.context.provenance import Span, measured, trace
from overt.context.spoken import SpokenWire
from overt.core.messages import Message
from overt.core.ports import Wire
from overt.core.requests import Request
from overt.core.spending.usage import Usage


async def upcoming(conversation: Conversation) -> View:
    """The next request without what the person is about to say. A long one takes a while, in which a turn goes on."""
    agent, messages, turn = conversation.agent, conversation.history.messages, conversation.turn + 1
    budget, limit = agent.runtime.budget, conversation.window
    request, spans = await asyncio.to_thread(_traced, agent, messages)
    if budget is not None:
        spans = measured(spans, budget.count(agent.spec.prefix, messages))
        limit = budget.window or limit
    return View(
        session=conversation.id,
        number=0,
        turn=turn,
        step=1,
        purpose="step",
        provider=agent.runtime.provider.name,
        model=agent.spec.params.model,
        wire=_wire(agent).name,
        length=request.length,
        digest=request.digest,
        limit=limit,
        used=sum(span.tokens for span in spans),
        reported=False,
        usage=Usage(),
        resets=(),
        spans=spans,
    )


def _traced(agent: Agent, messages: tuple[Message, ...]) -> tuple[Request, tuple[Span, ...]]:
    vendor = agent.runtime.provider.name
    request = Assembler(_wire(agent), vendor=vendor).assemble(agent.spec.prefix, messages, agent.spec.params).request
    return request, trace(_wire(agent), request, vendor=vendor)


def _wire(agent: Agent) -> Wire:
    """One that has not been spoken yet."""
    if agent.spec.calls == "native":
        return agent.runtime.provider.wire
    spoken: Wire = SpokenWire(agent.runtime.provider.wire, agent.spec.calls)
    return spoken
