"""The loop: ask the model, run what it calls, feed back, until it has nothing more to call.

It yields what happened and keeps nothing: recording, showing and healing belong to the conversation. An
error of the provider leaves as an exception, and an abort as a cancellation; both leave a history that the
conversation closes. Before each request room is made for it, if it is short.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import count

from msgspec.structs import replace

from overt.core.errors import ProviderError
from overt.core.events import Event, Noticed, PrefixReset, Replied, TurnEnded, UserSpoke
from overt.core.fragments import HARNESS
from overt.core.history import History
from overt.core.messages import said
from overt.engine.agent import Agent
from overt.engine.inbox import Inbox
from overt.engine.job_notices import announce_ended_jobs
from overt.engine.room import by_itself
from overt.engine.sample import request_sent, sample
from overt.engine.settle import settle
from overt.lib.catalogue import say
from overt.repair.storm import Storm

NUDGE = "[overt] The last reply was empty. Go on with the task, or say in words that it is done."
LIMIT = (
    "[overt] This turn has reached its step limit: answer now, without calls, with a summary of what is done, "
    "what is not, and what to do next. The user's next message lifts the limit."
)
CUT = {"length": "turn.cut", "filter": "turn.filtered"}


async def run_turn(
    agent: Agent, history: Callable[[], History], inbox: Inbox, workers: asyncio.TaskGroup
) -> AsyncGenerator[Event, None]:
    """`history` is asked before each request: by then everything yielded so far has been folded into it."""
    storm = Storm()
    limit = agent.limits.max_steps
    for step in range(1, limit + 1) if limit else count(1):
        if agent.purse and any(looked := agent.purse.look(history())):
            yield Noticed(agent=agent.path, text=looked.refusal or looked.warning, level="warning")
            if looked.refusal:
                yield TurnEnded(agent=agent.path, reason="limit", text=looked.refusal, kind="budget", steps=step - 1)
                return
        for message in (*inbox.messages(step, limit), *(agent.nested(history()) if agent.nested and step > 1 else ())):
            yield UserSpoke(agent=agent.path, message=message, steered=True)
        for announced in announce_ended_jobs(agent, steered=True) if step > 1 else ():
            yield announced

        reply: Replied | None = None
        async with aclosing(_ask(agent, history)) as events:
            async for event in events:
                reply = event if isinstance(event, Replied) else reply
                yield event
        assert reply is not None

        calls = reply.message.calls()
        if calls:
            async with aclosing(settle(agent, calls, storm, workers=workers, cut=reply.finish == "length")) as events:
                async for event in events:
                    yield event
        elif not reply.message.text().strip():
            storm.empty()
            if not storm.over():
                yield UserSpoke(agent=agent.path, message=said(NUDGE, origin=HARNESS))
        elif doubt := await agent.lead.doubt(history()) if agent.lead else "":
            yield UserSpoke(agent=agent.path, message=said(doubt, origin=HARNESS))
        elif step == limit or not inbox.has_steering():  # what came too late opens the next turn
            if reply.finish in CUT:
                yield Noticed(agent=agent.path, text=say(CUT[reply.finish]), level="warning")
            yield TurnEnded(agent=agent.path, reason="done", text=reply.message.text(), steps=step)
            return

        if over := storm.over():
            yield TurnEnded(agent=agent.path, reason="storm", text=over, steps=step)
            return

    if agent.purse and (refusal := agent.purse.look(history()).refusal):
        yield TurnEnded(agent=agent.path, reason="limit", text=refusal, kind="budget", steps=limit)
        return
    yield UserSpoke(agent=agent.path, message=said(LIMIT, origin=HARNESS))
    summary = ""
    async with aclosing(_ask(agent, history, forced=True)) as events:
        async for event in events:
            yield event
            if isinstance(event, Replied):
                summary = event.message.text()
    yield TurnEnded(agent=agent.path, reason="limit", text=summary, steps=limit)


async def _ask(agent: Agent, history: Callable[[], History], *, forced: bool = False) -> AsyncGenerator[Event, None]:
    """One request and its reply; when the server finds it too long, room is made once and it is sent once more."""
    budget = agent.budget
    if budget and agent.room.short(budget, budget.count(agent.prefix, history().messages)):
        from overt.engine.compaction import make_room  # late: 8 ms

        async with aclosing(make_room(agent, history)) as events:
            async for event in events:
                yield event
    try:
        async with aclosing(_send(agent, history(), forced=forced)) as events:
            async for event in events:
                yield event
        return
    except ProviderError as error:
        if error.kind != "overflow" or not by_itself(budget):
            raise
        refused, before = error, history().messages
    from overt.engine.compaction import compact  # late: 8 ms

    async with aclosing(compact(agent, history, cause="overflow")) as events:
        async for event in events:
            yield event
    if history().messages == before:
        raise refused
    async with aclosing(_send(agent, history(), forced=forced)) as events:
        async for event in events:
            yield event


async def _send(agent: Agent, history: History, *, forced: bool) -> AsyncGenerator[Event, None]:
    """One request as it stands. `forced` keeps the same tools, so the cache holds, but forbids calling them."""
    params = replace(agent.params, tool_choice="none") if forced and agent.prefix.tools else agent.params
    if agent.lead:
        params = replace(params, form=await agent.lead.form(history, forced=forced))
    made = agent.assembler.assemble(agent.prefix, history.messages, params)
    if made.reset:
        yield PrefixReset(agent=agent.path, cause=made.reset)
    yield request_sent(agent, made, forced=forced)
    async with aclosing(sample(agent, made.request, forced=forced)) as events:
        async for event in events:
            yield event
            if isinstance(event, Replied) and agent.budget:
                agent.budget.observe(agent.prefix, history.messages, event.usage)
