"""What a request costs: the most that is reserved before it is sent, and an estimate if it breaks off uncounted."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from overt.agent.agent import Agent, SpendReservation
from overt.core.errors import ProviderError
from overt.core.events import Emit, Noticed, Replied
from overt.core.messages import Message, Text
from overt.core.requests import CallDelta, Delta, ReasoningDelta, TextDelta
from overt.core.spending.usage import Usage
from overt.core.spending.worst_case import LEAST_OUTPUT, UNKNOWN_OUTPUT, WorstCase
from overt.core.text_fragments import MODEL
from overt.lib.tokens import estimate

BILLED_ERRORS = ("cut", "stalled")
"""Kinds of errors after which the server may bill the request although we received nothing."""
CALL_CHARACTERS = 4
"""Characters per token in the arguments of a call."""


async def reserve(agent: Agent, messages: tuple[Message, ...], emit: Emit) -> SpendReservation | None:
    """Reserve the most that a request with these messages can cost. Return None if no limit is set.

    An earlier request that broke off is recorded first: this one would wait for its reservation.
    """
    count_broken(agent, "", emit)
    limit = agent.runtime.spend_limit
    if limit is None or not limit.is_set:
        return None
    worst = worst_case(agent, messages)
    if text := limit.warn_unpriced(worst, agent.spec.params.model):
        emit(Noticed(agent=agent.spec.path, text=text, level="warning"))
    return await limit.reserve(worst, emit)


def worst_case(agent: Agent, messages: tuple[Message, ...]) -> WorstCase:
    spec, budget = agent.spec, agent.runtime.budget
    counted = budget.count(spec.prefix, messages) if budget else 0
    output = spec.params.max_tokens or spec.max_output or UNKNOWN_OUTPUT
    if budget and budget.window:
        output = max(1, min(output, budget.window - counted))
    return WorstCase(
        input=budget.most() if budget else 0,
        output=output,
        least=min(LEAST_OUTPUT, output) if spec.limits_output else output,
        price=spec.price,
    )


class Received:
    """The part of a reply that was received so far, to estimate its tokens if it breaks off."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: dict[int, int] = {}

    def see(self, delta: Delta) -> None:
        if isinstance(delta, TextDelta | ReasoningDelta):
            self._texts.append(delta.text)
        elif isinstance(delta, CallDelta):
            self._calls[delta.index] = delta.characters

    def __bool__(self) -> bool:
        return bool(self._texts or self._calls)

    def tokens(self) -> int:
        return estimate("".join(self._texts)) + sum(self._calls.values()) // CALL_CHARACTERS


class UncountedRequest(Struct, frozen=True, kw_only=True):
    """A request that broke off: its estimated usage, and `release` for its reservation."""

    usage: Usage
    release: Callable[[], None]


@contextmanager
def counted_request(agent: Agent, tokens: int, reservation: SpendReservation | None) -> Iterator[Received]:
    """Release the reservation of a request of `tokens` tokens when it ends.

    If it breaks off, add an estimate to `runtime.uncounted`; `count_broken` records it and releases the reservation.
    """
    received, release = Received(), reservation.release if reservation else _release_nothing
    try:
        yield received
    except BaseException as error:
        if is_billed(error, received):
            usage = Usage(input=tokens, output=received.tokens())
            agent.runtime.uncounted.append(UncountedRequest(usage=usage, release=release))
        else:
            release()
        raise
    release()


def is_billed(error: BaseException, received: Received) -> bool:
    """True if the server may bill a request that has ended with this error."""
    interrupted = isinstance(error, asyncio.CancelledError | TimeoutError)
    return interrupted or bool(received) or (isinstance(error, ProviderError) and error.kind in BILLED_ERRORS)


def count_broken(agent: Agent, text: str, emit: Callable[[Replied], None]) -> None:
    """Record the replies that broke off: the text that was shown of the last, and the estimated usage of each."""
    uncounted = agent.runtime.uncounted
    if text and not uncounted:
        emit(_broken_reply(text, Usage(), estimated=False))
    while uncounted:
        request = uncounted.pop(0)
        try:
            emit(_broken_reply("" if uncounted else text, request.usage, estimated=True))
        finally:
            request.release()


def _broken_reply(text: str, usage: Usage, *, estimated: bool) -> Replied:
    message = Message(role="assistant", parts=(Text(text=text),) if text else (), origin=MODEL)
    return Replied(message=message, finish="interrupted", usage=usage, estimated=estimated)


def _release_nothing() -> None:
    """Do nothing: without a limit, nothing was reserved."""
