"""One model call: deltas become events, the whole reply comes last."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import monotonic
from typing import assert_never

from overt.core.events import CallStreamed, Event, Noticed, ReasoningStreamed, Replied, Retried, TextStreamed
from overt.core.fragments import MODEL
from overt.core.messages import Call, Message
from overt.core.ports import Provider
from overt.core.requests import CallDelta, ReasoningDelta, Reply, Request, RetryDelta, TextDelta, WaitDelta
from overt.lib.catalogue import say


async def sample(
    provider: Provider, request: Request, *, agent: str, forced: bool = False
) -> AsyncGenerator[Event, None]:
    """With `forced` the reply is a summary for display: calls in it are dropped."""
    started = monotonic()
    async with aclosing(provider.stream(request)) as deltas:
        async for delta in deltas:
            match delta:
                case TextDelta(text=text):
                    yield TextStreamed(agent=agent, text=text)
                case ReasoningDelta(text=text):
                    yield ReasoningStreamed(agent=agent, text=text)
                case CallDelta(index=index, name=name, characters=characters, ready=ready):
                    yield CallStreamed(agent=agent, index=index, name=name, characters=characters, ready=ready)
                case RetryDelta(attempt=attempt, wait=wait, reason=reason):
                    yield Retried(agent=agent, attempt=attempt, wait=wait, reason=reason)
                case WaitDelta(seconds=seconds):
                    yield Noticed(agent=agent, text=say("turn.waiting", seconds=round(seconds)))
                case Reply():
                    yield _replied(delta, agent=agent, forced=forced, ms=round((monotonic() - started) * 1000))
                case _:
                    assert_never(delta)


def _replied(reply: Reply, *, agent: str, forced: bool, ms: int) -> Replied:
    parts = tuple(part for part in reply.parts if not (forced and isinstance(part, Call)))
    return Replied(
        agent=agent,
        message=Message(role="assistant", parts=parts, origin=MODEL),
        finish=reply.finish,
        usage=reply.usage,
        model=reply.model,
        forced=forced,
        skipped=reply.skipped,
        ms=ms,
    )
