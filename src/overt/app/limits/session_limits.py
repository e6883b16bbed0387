"""Enforce the limits of a session: reserve the worst case of each request before it is sent.

    main        budget_usd, turn_usd …    used + reserved + worst case ≤ limit
     └ explore-1   agent_usd …            and the same at every agent above it

Each agent reserves at its own limits and at those of every agent above it. Once the real cost is recorded, or an
estimate if the reply broke off, the reservation is released.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf
from time import monotonic

from msgspec.structs import replace

from overt.agent.agent import LimitReached, SpendNotice
from overt.app.limits.caps import WARN_SHARE, Cap, agent_caps, session_caps, time_cap
from overt.app.session import MAIN, Session
from overt.core.events import BudgetSet, Emit, Event, TurnEnded, TurnStarted
from overt.core.questions import FormAnswer, FormField, QuestionForm
from overt.core.settings import Limits
from overt.core.spending.worst_case import STAND_IN, WorstCase, is_known
from overt.lib.translations import say

AskForm = Callable[[QuestionForm], Awaitable[FormAnswer]]
NEAR = "{used} of the {most} that this {scope} may take are used. Finish what matters most, and hand over soon."
SCOPES = {"budget": "session", "session": "session", "turn": "turn", "agent": "agent"}


class SessionLimits:
    """The limits of one agent's session. `parent` holds those of the agent that started it.

    `ask` shows a form to the user; None in a non-interactive run. Only the main agent asks: a sub-agent that cannot
    reserve waits for the reservations of others, then ends.
    """

    def __init__(
        self, limits: Limits, session: Session, *, parent: "SessionLimits | None" = None, ask: AskForm | None = None
    ) -> None:
        self._limits = limits
        self._session = session
        self._parent = parent
        self._root: SessionLimits = parent._root if parent else self
        self._ask = None if parent else ask
        self._reservations: set[Reservation] = set()
        self._raised_limits: dict[str, tuple[int, float]] = {}
        self._sent_notices: set[object] = set()
        self._changed = asyncio.Event()
        self._turn_start = monotonic()
        session.subscribe(self._see, name="limits")

    # ── what is left ─────────────────────────────────────────────────────────────────────────────────────

    def caps(self) -> tuple[Cap, ...]:
        """Return the limits of this agent's own session that are set in dollars and tokens."""
        spend = self._session.spend
        if self._parent:
            caps = agent_caps(self._limits, spend)
        else:
            caps = session_caps(self._limits, self._session.history, spend)
        return tuple(replace(cap, most=self._most(cap), reserved=self._reserved(cap)) for cap in caps)

    async def end_in_time(self, turn: Awaitable[TurnEnded]) -> TurnEnded:
        """Wait for a turn to end. Cancel it at its time limit and return that as its end."""
        cap = self._time_cap()
        try:
            async with asyncio.timeout(max(0.0, cap.most - cap.used) if cap else None) as deadline:
                return await turn
        except TimeoutError:
            if cap is None or not deadline.expired():
                raise
            text = say("limits.time", scope=cap.scope, most=cap.amount(cap.most))
            return TurnEnded(reason="limit", text=text, kind="time")

    def check(self) -> tuple[SpendNotice, ...]:
        """Return the notices that are due: one for each limit, once 80 % of it is used."""
        caps = (*(cap for owner in self._chain() for cap in owner.caps()), *filter(None, (self._time_cap(),)))
        due = [cap for cap in caps if cap.used >= WARN_SHARE * cap.most and self._is_first(cap)]
        return tuple(SpendNotice(text=cap.describe_state(), advice=_advice(cap)) for cap in due)

    # ── reservations ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_set(self) -> bool:
        return any(owner.caps() for owner in self._chain())

    async def reserve(self, worst: WorstCase, emit: Emit) -> "Reservation":
        """Reserve the worst case of a request. If it does not fit, wait for others, then ask the user.

        Raise LimitReached if the request may not be sent.
        """
        while True:
            if reservation := self.try_reserve(worst):
                return reservation
            blocking = self._blocking(worst)
            if blocking.reserved:
                await self._root._changed.wait()
            elif not await self._ask_to_raise(blocking, worst, emit):
                raise LimitReached(blocking.describe_end(worst))

    def try_reserve(self, worst: WorstCase) -> "Reservation | None":
        """Reserve the worst case of a request at once, with as much output as is left; None if that is too little."""
        output = min((cap.output_for(worst) for owner in self._chain() for cap in owner.caps()), default=inf)
        if output < worst.least:
            return None
        reservation = Reservation(self, worst, None if output == inf else int(min(output, worst.output)))
        for owner in self._chain():
            owner._reservations.add(reservation)
        return reservation

    def release(self, reservation: "Reservation") -> None:
        """Give back a reservation, here and at all agents above, and wake waiting requests."""
        for owner in self._chain():
            owner._reservations.discard(reservation)
        self._root._wake()

    def warn_unpriced(self, worst: WorstCase, model: str) -> str:
        """Return a warning that the price of a model is unknown, once for each model."""
        capped = [cap for owner in self._chain() for cap in owner.caps() if cap.unit == "usd"]
        if is_known(worst.price) or not capped or model in self._root._sent_notices:
            return ""
        self._root._sent_notices.add(model)
        cap = min(capped, key=lambda each: each.most)
        return say("limits.unpriced", model=model, most=cap.amount(cap.most), tokens=round(cap.most / STAND_IN * 1e6))

    def _chain(self) -> "tuple[SessionLimits, ...]":
        return (self, *self._parent._chain()) if self._parent else (self,)

    def _reserved(self, cap: Cap) -> float:
        return sum(each.dollars if cap.unit == "usd" else each.tokens for each in self._reservations)

    def _most(self, cap: Cap) -> float:
        turn, raised = self._raised_limits.get(cap.key, (0, 0.0))
        return raised if raised and turn == self._session.turn else cap.most

    def _time_cap(self) -> Cap | None:
        elapsed = monotonic() - self._turn_start
        return time_cap(self._limits, self._session.spend, elapsed=elapsed, is_agent=self._parent is not None)

    def _blocking(self, worst: WorstCase) -> Cap:
        caps = [cap for owner in self._chain() for cap in owner.caps()]
        return min(caps, key=lambda cap: cap.output_for(worst))

    def _is_first(self, cap: Cap) -> bool:
        mark = (cap.key, cap.most, self._session.turn if cap.key.startswith("turn") else 0)
        first = mark not in self._sent_notices
        self._sent_notices.add(mark)
        return first

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _see(self, event: Event) -> None:
        if isinstance(event, TurnStarted) and event.agent == MAIN:
            self._turn_start = monotonic()
        elif isinstance(event, BudgetSet):
            self._wake()

    # ── the user ─────────────────────────────────────────────────────────────────────────────────────────

    async def _ask_to_raise(self, cap: Cap, worst: WorstCase, emit: Emit) -> bool:
        """Ask the user for a higher limit. Return True if it was raised, by the answer or by `/budget`."""
        if self._ask is None:
            return False
        changed = asyncio.ensure_future(self._changed.wait())
        answer = asyncio.ensure_future(self._ask(_form(cap, worst)))
        try:
            await asyncio.wait((changed, answer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (changed, answer):
                if not task.done():
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task
        if answer.cancelled():
            return True
        amount = answer.result().values.get(cap.key)
        if answer.result().action != "accept" or not isinstance(amount, int | float):
            return False
        if cap.key == "budget_usd":
            emit(BudgetSet(dollars=float(amount)))
        elif cap.key == "session_tokens":
            emit(BudgetSet(tokens=int(amount)))
        else:
            self._raised_limits[cap.key] = (self._session.turn, float(amount))
        return True


class Reservation:
    """The most that one request may cost. `output` limits the tokens of its reply; None: no limit."""

    def __init__(self, limits: SessionLimits, worst: WorstCase, output: int | None) -> None:
        self.output = output
        self.dollars = worst.cost(output or 0)
        self.tokens = worst.input + (output or 0)
        self._limits = limits

    def release(self) -> None:
        """Give back what was reserved, once the real cost is recorded."""
        self._limits.release(self)


def _advice(cap: Cap) -> str:
    scope = SCOPES[cap.key.partition("_")[0]]
    unit = {"usd": "${:.2f}", "tokens": "{:.0f} tokens", "seconds": "{:.0f} seconds"}[cap.unit]
    return NEAR.format(used=unit.format(cap.used), most=unit.format(cap.most), scope=scope)


def _form(cap: Cap, worst: WorstCase) -> QuestionForm:
    """Return the question for a higher limit. Declining it ends the turn."""
    is_money = cap.unit == "usd"
    needed = cap.needed(worst)
    usual = max(2 * cap.most, needed)
    field = FormField(
        name=cap.key,
        kind="number" if is_money else "integer",
        title=say("limits.ask.usd" if is_money else "limits.ask.tokens", scope=cap.scope),
        required=True,
        default=round(usual, 4) if is_money else int(usual),
        minimum=round(needed + 0.00005, 4) if is_money else int(needed),
    )
    return QuestionForm(who=say("limits.who"), message=cap.describe_end(worst), fields=(field,))
