"""One request to the model and its reply, with room made in the history where the request would be too long."""

from collections.abc import Callable

from msgspec.structs import replace

from overt.agent.agent import Agent, compacts_automatically
from overt.agent.request_cost import counted_request, reserve
from overt.agent.streamed_reply import call_model, request_sent
from overt.core.errors import ProviderError
from overt.core.events import Emit, PrefixReset, Replied
from overt.core.history import History


async def ask(agent: Agent, history: Callable[[], History], emit: Emit, *, final: bool = False) -> Replied:
    """Send the history and return the reply. If `final`, the model may not call tools.

    If the server finds the request too long, the history is compacted once and the request is sent once more.
    """
    budget = agent.runtime.budget
    if budget and agent.runtime.room.short(budget, budget.count(agent.spec.prefix, history().messages)):
        from overt.agent.compaction import make_room  # late: 1.4 ms

        await make_room(agent, history, emit)
    try:
        return await _send(agent, history(), emit, final=final)
    except ProviderError as error:
        if error.kind != "overflow" or not compacts_automatically(budget):
            raise
        overflow, before = error, history().messages
    from overt.agent.compaction import compact  # late: 1.4 ms

    await compact(agent, history, emit, cause="overflow")
    if history().messages == before:
        raise overflow
    return await _send(agent, history(), emit, final=final)


async def _send(agent: Agent, history: History, emit: Emit, *, final: bool) -> Replied:
    """Send one request. A final one lists the same tools, so that the cache holds, but forbids calling them."""
    params = replace(agent.spec.params, tool_choice="none") if final and agent.spec.prefix.tools else agent.spec.params
    if agent.runtime.lead:
        params = replace(params, form=await agent.runtime.lead.form(history, forced=final))
    budget = agent.runtime.budget
    if reservation := await reserve(agent, history.messages, emit):
        params = replace(params, output_limit=reservation.output)
    with counted_request(agent, budget.counted if budget else 0, reservation) as received:
        assembled = agent.runtime.assembler.assemble(agent.spec.prefix, history.messages, params)
        if assembled.reset:
            emit(PrefixReset(agent=agent.spec.path, cause=assembled.reset))
        emit(request_sent(agent, assembled, forced=final))
        reply = await call_model(agent, assembled.request, emit, received=received, final=final)
    if budget:
        budget.observe(agent.spec.prefix, history.messages, reply.usage)
    return reply
