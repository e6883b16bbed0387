"""Making room in a history: old results go where that pays, the older middle becomes a summary, and a hard cap holds.

Nothing is changed but by a `Compacted` that is yielded: a summary that fails, is no summary or is interrupted leaves
the history as it was. The summary is asked for with the same head, tools and history as the last request, so that
the server reads it from its cache.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Literal

from msgspec.structs import replace

from overt.context.budget import Budget
from overt.context.compaction import (
    KEPT,
    REMOVED,
    Old,
    Span,
    fault,
    instruction,
    middle,
    prunable,
    rates,
    replacement,
    results,
    steps_to_come,
    tail_start,
    turns_of,
    worth_pruning,
)
from overt.core.errors import ProviderError
from overt.core.events import Compacted, Event, Noticed, Replied, Retried
from overt.core.history import History, fold
from overt.core.messages import Message, Result
from overt.engine.agent import Agent
from overt.engine.room import by_itself
from overt.engine.sample import request_sent, sample
from overt.lib.catalogue import say

Cause = Literal["limit", "asked", "overflow"]
ENOUGH = 0.6
"""Pruning alone will do when it comes below this share of what is due."""
WORTH = 0.15
"""A middle that is less than this share of all is not worth a request for its summary."""
FEWER = (4, 2, 1)
"""How much of the end stays when nothing else brings a request below the cap."""
SHORTER = 0.3
"""How much is cut when nobody knows how long is too long."""


async def compact(
    agent: Agent, history: Callable[[], History], *, cause: Cause, focus: str = ""
) -> AsyncGenerator[Event, None]:
    """Make room once. `history` is asked again after each event: by then it has been folded in."""
    job = _Job(agent, history, cause, agent.hide(focus.strip()))
    before = history().messages
    async with aclosing(job.run()) as events:
        async for event in events:
            yield event
    if cause == "overflow" and history().messages == before and (pruned := job.last_resort()):
        yield pruned
    if cause != "asked":
        async with aclosing(job.fit()) as events:
            async for event in events:
                yield event
    agent.room.tried(job.budget, job.count())
    job.settle(before)


async def make_room(agent: Agent, history: Callable[[], History]) -> AsyncGenerator[Event, None]:
    """Before a request that is too large: a compaction when one is due, and the hard cap in any case."""
    job = _Job(agent, history, "limit")
    if by_itself(agent.budget) and agent.room.due(job.budget, job.count()):
        async with aclosing(compact(agent, history, cause="limit")) as events:
            async for event in events:
                yield event
        return
    before = history().messages
    async with aclosing(job.fit()) as events:
        async for event in events:
            yield event
    job.settle(before)


class _Job:
    """One attempt to make room."""

    def __init__(self, agent: Agent, history: Callable[[], History], cause: Cause, focus: str = "") -> None:
        self.agent = agent
        self.budget = agent.budget or Budget(window=0)
        self.history = history
        self.cause = cause
        self.focus = focus

    def count(self, messages: tuple[Message, ...] | None = None) -> int:
        return self.budget.count(self.agent.prefix, self.history().messages if messages is None else messages)

    def settle(self, before: tuple[Message, ...]) -> None:
        if self.agent.lead and self.history().messages != before:
            self.agent.lead.forget()

    # ── the usual way ────────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> AsyncGenerator[Event, None]:
        if self.cause != "asked" and (pruned := self._worthwhile()):
            yield pruned
            if pruned.after <= self._enough(pruned.before):
                return
        ask = instruction(self.focus)
        if self._crowded(ask) and (pruned := self._pruned(self._old())):
            yield pruned
        span = middle(self.history().messages)
        if span is None:
            if self.cause == "asked":
                yield Noticed(agent=self.agent.path, text=say("compaction.nothing"))
            return
        if self.cause == "limit" and self._tokens(span) < WORTH * self.count():
            return
        if self._crowded(ask):
            if folded := self._folded(span):
                yield folded
            return
        async with aclosing(self._summarise(span, ask)) as events:
            async for event in events:
                yield event

    def _worthwhile(self) -> Compacted | None:
        """A pruning that pays and is enough; after an overflow whatever can go, so that the summary has room."""
        messages = self.history().messages
        old = self._old()
        if self.cause == "overflow":
            return self._pruned(old)
        sizes = [self.budget.message(message) for message in messages]
        chosen = worth_pruning(old, sizes, steps=steps_to_come(messages), rates=rates(self.agent.price))
        found = self._pruned(list(chosen))
        return found if found and found.after <= self._enough(found.before) else None

    def _enough(self, before: int) -> int:
        return round(ENOUGH * (min(before, self.budget.due_above) if self.budget.due_above else before))

    def _crowded(self, ask: Message) -> bool:
        """Whether even the request for a summary would not fit."""
        return self.budget.window > 0 and self.count((*self.history().messages, ask)) > self.budget.cap

    def _old(self) -> list[Old]:
        messages = self.history().messages
        return prunable(messages, tail_start(messages), self.budget.message)

    def _pruned(self, old: list[Old]) -> Compacted | None:
        if not old or not self.budget.prune:
            return None
        return self._measured(Compacted(cause=self.cause, pruned=tuple(each.call_id for each in old), text=REMOVED))

    def _folded(self, span: Span, *, written: str = "") -> Compacted | None:
        """The span in the words of `written`, or of the record alone; None when that would not be shorter."""
        history = self.history()
        found = replacement(
            history,
            span,
            written=written,
            turns=turns_of(history, span, self.agent.marks()),
            tokens=self._tokens(span),
            window=self.budget.window,
        )
        made = self._measured(Compacted(cause=self.cause, start=span.start, end=span.end, summary=found))
        return made if made.after < made.before else None

    def _tokens(self, span: Span) -> int:
        return sum(map(self.budget.message, self.history().messages[span.start : span.end]))

    def _measured(self, event: Compacted) -> Compacted:
        after = fold(self.history(), event).messages
        return replace(event, agent=self.agent.path, before=self.count(), after=self.count(after))

    # ── the summary ──────────────────────────────────────────────────────────────────────────────────────

    async def _summarise(self, span: Span, ask: Message) -> AsyncGenerator[Event, None]:
        asked = (*self.history().messages, ask)
        yield Noticed(agent=self.agent.path, text=say("compaction.started", tokens=self.count(asked)))
        reply: Replied | None = None
        try:
            async with aclosing(self._asked(ask)) as events:
                async for event in events:
                    if isinstance(event, Replied):
                        reply = event
                    else:
                        yield event
        except ProviderError as error:
            if error.kind == "overflow" and self.cause != "asked" and (folded := self._folded(span)):
                yield folded
                return
            if self.cause == "asked":
                raise
            yield self._failed(self.agent.hide(error.message))
            return
        assert reply is not None
        self.budget.observe(self.agent.prefix, asked, reply.usage)
        written = reply.message.text()
        why = fault(written, reply.finish)
        made = None if why else self._folded(span, written=written)
        if made is None:
            yield replace(reply, message=replace(reply.message, parts=()))  # no answer, but it was paid for
            yield self._failed(say(f"compaction.{why or 'longer'}"))
            return
        yield replace(made, usage=reply.usage, model=reply.model or self.agent.params.model, ms=reply.ms)

    async def _asked(self, ask: Message) -> AsyncGenerator[Event, None]:
        agent, history = self.agent, self.history()
        params = replace(agent.params, tool_choice="none") if agent.prefix.tools else agent.params
        if agent.lead:
            params = replace(params, form=await agent.lead.form(history, forced=True))
        messages = (*history.messages, ask)
        made = agent.assembler.beside().assemble(agent.prefix, messages, params)
        yield request_sent(agent, made, forced=True, purpose="summary", also=(ask,))
        async with aclosing(sample(agent, made.request, forced=True)) as events:
            async for event in events:
                if isinstance(event, Replied | Retried | Noticed):
                    yield event

    def _failed(self, why: str) -> Noticed:
        return Noticed(agent=self.agent.path, text=say("compaction.failed", why=why), level="warning")

    # ── the hard cap ─────────────────────────────────────────────────────────────────────────────────────

    async def fit(self) -> AsyncGenerator[Event, None]:
        """Cut on until the next request is below the cap, the least needed first; the person's words never."""
        cap = self.budget.cap
        if not self.budget.window or self.count() <= cap:
            return
        if by_itself(self.agent.budget):
            if pruned := self._pruned(self._old()):
                yield pruned
            if folded := self._shorter(KEPT):
                yield folded
            if (over := self.count() - cap) > 0 and (pruned := self._pruned(self._largest(over))):
                yield pruned
            for kept in FEWER:
                if folded := self._shorter(kept):
                    yield folded
        if self.count() > cap:
            raise ProviderError(self._too_large(), kind="overflow")

    def _shorter(self, kept: int) -> Compacted | None:
        """All but so many messages at the end, where it is still needed."""
        span = middle(self.history().messages, kept) if self.count() > self.budget.cap else None
        return self._folded(span) if span else None

    def last_resort(self) -> Compacted | None:
        """The server found it too long and nothing old is left: the largest results of the end."""
        return self._pruned(self._largest(round(self.count() * SHORTER)))

    def _largest(self, tokens: int) -> list[Old]:
        chosen: list[Old] = []
        for old in results(self.history().messages, self.budget.message):
            if tokens <= 0:
                break
            chosen.append(old)
            tokens -= old.tokens
        return chosen

    def _too_large(self) -> str:
        messages = self.history().messages
        size, largest = max(((self.budget.message(message), message) for message in messages), key=lambda pair: pair[0])
        head = self.count(())
        what = _named(largest) if size > head else say("compaction.is.head")
        return say(
            "compaction.too_large",
            tokens=self.count(),
            model=self.agent.params.model,
            cap=self.budget.cap,
            what=what,
            size=max(size, head),
        )


def _named(message: Message) -> str:
    kind = message.origin.kind
    if kind == "file":
        return message.origin.where
    if any(isinstance(part, Result) for part in message.parts):
        return say("compaction.is.result")
    return say(f"compaction.is.{kind if kind in ('user', 'summary', 'model') else 'message'}")
