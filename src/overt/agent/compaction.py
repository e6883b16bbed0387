"""Making room in a history: old results go where that pays, the older middle becomes a summary, and a hard cap holds.

Nothing is changed but by a `Compacted` that is emitted: a summary that fails, is no summary or is interrupted leaves
the history as it was. The summary is asked for with the same head, tools and history as the last request, so that
the server reads it from its cache.
"""

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from overt.agent.agent import Agent, LimitReached, SpendReservation, compacts_automatically
from overt.agent.request_cost import count_broken, counted_request, worst_case
from overt.agent.streamed_reply import call_model, request_sent
from overt.context.budget import Budget
from overt.context.compaction_facts import REMOVED
from overt.context.compaction_plan import (
    HistoryTail,
    MessageRange,
    PrunableResult,
    build_replacement,
    choose_pruning,
    describe_turns,
    expected_steps,
    find_middle,
    find_prunable,
    find_results,
    find_tail,
    summary_fault,
    summary_instruction,
    token_rates,
)
from overt.core.errors import ProviderError
from overt.core.events import Compacted, Emit, Event, Noticed, Replied, Retried, UserSpoke
from overt.core.history import History, fold
from overt.core.messages import Message, Result
from overt.lib.translations import say

Cause = Literal["limit", "asked", "overflow"]
TARGET_SHARE = 0.4
"""One compaction goes down to this share of the window, so that the next is far."""
TAIL_SHARE = 0.2
"""The most of the window that stays word for word."""
WORTH = 0.15
"""A middle that is less than this share of all is not worth a request for its summary by itself."""
SHORTEST = 500
"""Tokens below which a summary would hardly be shorter than what it stands for."""
SHORTER_TAILS = (0.5, 0.25, 0.0)
"""How much of the usual end stays when nothing else brings a request below the cap."""
SHORTER = 0.3
"""How much is cut if the limit of the server is not known."""


async def compact(agent: Agent, history: Callable[[], History], emit: Emit, *, cause: Cause, focus: str = "") -> None:
    """Make room once."""
    hooks = agent.runtime.hooks
    if hooks and (refusal := await hooks.before_compaction(cause, focus)):
        emit(Noticed(agent=agent.spec.path, text=refusal, level="warning"))
        return
    job = _Job(agent, history, emit, cause, agent.runtime.hide(focus.strip()))
    before = history().messages
    await job.run()
    if cause == "overflow" and history().messages == before and (pruned := job.last_resort()):
        job.emit(pruned)
    if cause != "asked":
        job.fit()
    agent.runtime.room.tried(job.budget, job.count())
    job.settle(before)
    if hooks and history().messages != before:
        for message in await hooks.after_compaction(cause):
            emit(UserSpoke(agent=agent.spec.path, message=message, steered=True))


async def make_room(agent: Agent, history: Callable[[], History], emit: Emit) -> None:
    """Before a request that is too large: a compaction when one is due, and the hard cap in any case."""
    job = _Job(agent, history, emit, "limit")
    if compacts_automatically(agent.runtime.budget) and agent.runtime.room.due(job.budget, job.count()):
        await compact(agent, history, emit, cause="limit")
        return
    before = history().messages
    job.fit()
    job.settle(before)


class _Job:
    """One attempt to make room."""

    def __init__(self, agent: Agent, history: Callable[[], History], emit: Emit, cause: Cause, focus: str = "") -> None:
        self.agent = agent
        self.budget = agent.runtime.budget or Budget(window=0)
        self.history = history
        self._emit = emit
        self.cause = cause
        self.focus = focus
        self._start = self.count()

    def emit(self, event: Event) -> None:
        self._emit(event)
        if isinstance(event, Compacted):
            self.agent.runtime.assembler.forget()

    def count(self, messages: tuple[Message, ...] | None = None) -> int:
        return self.budget.count(self.agent.spec.prefix, self.history().messages if messages is None else messages)

    def settle(self, before: tuple[Message, ...]) -> None:
        if self.agent.runtime.lead and self.history().messages != before:
            self.agent.runtime.lead.forget()

    # ── the usual way ────────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        if self.cause != "asked" and (pruned := self._worthwhile()):
            self.emit(pruned)
            if pruned.after <= self.target:
                return
        ask = summary_instruction(self.focus)
        if self._crowded(ask) and (pruned := self._pruned(self._old())):
            self.emit(pruned)
        tail = self._tail()
        span = find_middle(self.history().messages, tail.start)
        if span is None or self._tokens(span) < self._least():
            if self.cause == "asked":
                self.emit(self._pruned(list(tail.large)) or self._nothing())
            return
        if self._crowded(ask):
            if folded := self._folded(span, large=tail.large):
                self.emit(folded)
            return
        await self._summarise(span, tail, ask)

    def _worthwhile(self) -> Compacted | None:
        """A pruning that pays and is enough; after an overflow whatever can go, so that the summary has room."""
        messages = self.history().messages
        old = self._old()
        if self.cause == "overflow":
            return self._pruned(old)
        sizes = [self.budget.message(message) for message in messages]
        chosen = choose_pruning(old, sizes, steps=expected_steps(messages), rates=token_rates(self.agent.spec.price))
        pruned = self._pruned(list(chosen))
        return pruned if pruned and pruned.after <= self.target else None

    @property
    def target(self) -> int:
        """The tokens to go down to: 40 % of the window, and at most half of what made it necessary."""
        most = self._start / 2 if self.cause != "limit" else self.budget.due_above / 2 or self._start / 2
        return round(min(most, TARGET_SHARE * self.budget.window) if self.budget.window else most)

    def _tail(self, share: float = 1.0) -> HistoryTail:
        """The end that stays. A short conversation that the user wants compacted keeps a fifth of itself."""
        window = self.budget.window or self._start
        most = min(window, self._start) if self.cause == "asked" else window
        tokens = min(TAIL_SHARE * most, self.target / 2)
        return find_tail(
            self.history().messages,
            round(share * tokens),
            self.budget.message,
            find_tool=self.agent.runtime.find_tool,
            prune=self.budget.prune,
        )

    def _least(self) -> float:
        """The tokens of a middle that is worth a request for its summary; after an overflow any is."""
        return {"limit": WORTH * self.count(), "asked": SHORTEST, "overflow": 0}[self.cause]

    def _nothing(self) -> Noticed:
        return Noticed(agent=self.agent.spec.path, text=say("compaction.nothing"))

    def _crowded(self, ask: Message) -> bool:
        """True if even the request for a summary would not fit."""
        return self.budget.window > 0 and self.count((*self.history().messages, ask)) > self.budget.cap

    def _old(self) -> list[PrunableResult]:
        """Results that may go: all before the end that stays, and the large ones in it."""
        tail = self._tail()
        messages, find_tool = self.history().messages, self.agent.runtime.find_tool
        return [*find_prunable(messages, tail.start, self.budget.message, find_tool=find_tool), *tail.large]

    def _pruned(self, old: list[PrunableResult]) -> Compacted | None:
        if not old or not self.budget.prune:
            return None
        return self._measured(Compacted(cause=self.cause, pruned=tuple(each.call_id for each in old), text=REMOVED))

    def _folded(self, span: MessageRange, *, large: tuple[PrunableResult, ...], written: str = "") -> Compacted | None:
        """The span in the words of `written`, or of the record alone, and without the large results behind it.

        None when that would not be shorter.
        """
        history = self.history()
        found = build_replacement(
            history,
            replace(span, tokens=self._tokens(span)),
            written=written,
            turns=describe_turns(history, span, self.agent.runtime.marks()),
            find_tool=self.agent.runtime.find_tool,
            window=self.budget.window,
        )
        pruned = tuple(old.call_id for old in large if old.at >= span.end)
        made = self._measured(
            Compacted(
                cause=self.cause,
                pruned=pruned,
                text=REMOVED if pruned else "",
                start=span.start,
                end=span.end,
                summary=found,
            )
        )
        return made if made.after < made.before else None

    def _tokens(self, span: MessageRange) -> int:
        return sum(map(self.budget.message, self.history().messages[span.start : span.end]))

    def _measured(self, event: Compacted) -> Compacted:
        after = fold(self.history(), event).messages
        return replace(event, agent=self.agent.spec.path, before=self.count(), after=self.count(after))

    # ── the summary ──────────────────────────────────────────────────────────────────────────────────────

    async def _summarise(self, span: MessageRange, tail: HistoryTail, ask: Message) -> None:
        messages = (*self.history().messages, ask)
        self.emit(Noticed(agent=self.agent.spec.path, text=say("compaction.started", tokens=self.count(messages))))
        try:
            reply = await self._ask(ask)
        except (ProviderError, LimitReached) as error:
            count_broken(self.agent, "", self.emit)
            too_much = isinstance(error, LimitReached) or error.kind == "overflow"
            if too_much and self.cause != "asked" and (folded := self._folded(span, large=tail.large)):
                self.emit(folded)
                return
            if self.cause == "asked":
                raise
            self.emit(self._failed(self.agent.runtime.hide(error.message)))
            return
        self.budget.observe(self.agent.spec.prefix, messages, reply.usage)
        written = reply.message.text()
        why = summary_fault(written, reply.finish)
        compacted = None if why else self._folded(span, large=tail.large, written=written)
        if compacted is None:
            self.emit(replace(reply, message=replace(reply.message, parts=())))  # no answer, but it was paid for
            self.emit(self._failed(say(f"compaction.{why or 'longer'}")))
            return
        model = reply.model or self.agent.spec.params.model
        self.emit(replace(compacted, usage=reply.usage, model=model, ms=reply.ms))

    async def _ask(self, ask: Message) -> Replied:
        """Ask for the summary. Its text is not shown and does not join the history."""
        agent, history = self.agent, self.history()
        params = replace(agent.spec.params, tool_choice="none") if agent.spec.prefix.tools else agent.spec.params
        if agent.runtime.lead:
            params = replace(params, form=await agent.runtime.lead.form(history, forced=True))
        messages = (*history.messages, ask)
        if reservation := self._reserve(messages):
            params = replace(params, output_limit=reservation.output)
        with counted_request(agent, self.count(messages), reservation) as received:
            assembled = agent.runtime.assembler.beside().assemble(agent.spec.prefix, messages, params)
            self.emit(request_sent(agent, assembled, forced=True, purpose="summary", also=(ask,)))
            return await call_model(agent, assembled.request, self._emit_troubles, received=received, final=True)

    def _reserve(self, messages: tuple[Message, ...]) -> SpendReservation | None:
        """Reserve what the summary may cost. The user is not asked to raise the limit: old messages can be removed
        without a summary."""
        limit = self.agent.runtime.spend_limit
        if limit is None or not limit.is_set:
            return None
        reservation = limit.try_reserve(worst_case(self.agent, messages))
        if reservation is None:
            raise LimitReached(say("limits.summary"))
        return reservation

    def _emit_troubles(self, event: Event) -> None:
        if isinstance(event, Retried | Noticed):
            self.emit(event)

    def _failed(self, why: str) -> Noticed:
        return Noticed(agent=self.agent.spec.path, text=say("compaction.failed", why=why), level="warning")

    # ── the hard cap ─────────────────────────────────────────────────────────────────────────────────────

    def fit(self) -> None:
        """Cut on until the next request is below the cap, the least needed first; the person's words never."""
        cap = self.budget.cap
        if not self.budget.window or self.count() <= cap:
            return
        if compacts_automatically(self.agent.runtime.budget):
            if pruned := self._pruned(self._old()):
                self.emit(pruned)
            if self.count() > (self.budget.due_above or cap) and (folded := self._shorter()):
                self.emit(folded)
            if (over := self.count() - cap) > 0 and (pruned := self._pruned(self._largest(over))):
                self.emit(pruned)
            for share in SHORTER_TAILS:
                if self.count() > cap and (folded := self._shorter(share)):
                    self.emit(folded)
        if self.count() > cap:
            raise ProviderError(self._too_large(), kind="overflow")

    def _shorter(self, share: float = 1.0) -> Compacted | None:
        """Replace all but this share of the usual end by what the record itself tells."""
        tail = self._tail(share)
        span = find_middle(self.history().messages, tail.start)
        return self._folded(span, large=tail.large) if span else None

    def last_resort(self) -> Compacted | None:
        """The server found it too long and nothing old is left: the largest results of the end."""
        return self._pruned(self._largest(round(self.count() * SHORTER)))

    def _largest(self, tokens: int) -> list[PrunableResult]:
        chosen: list[PrunableResult] = []
        for old in find_results(self.history().messages, self.budget.message):
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
            model=self.agent.spec.params.model,
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
