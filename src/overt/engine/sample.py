"""One model call: deltas become events, the whole reply comes last, with the calls that had leaked into its text.

What reads replies is loaded when the first of one comes, not before the request goes out.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import monotonic
from typing import Any, Literal, assert_never

from msgspec.structs import replace

from overt.context.assemble import Assembled
from overt.core.events import (
    CallStreamed,
    Event,
    Noticed,
    ReasoningStreamed,
    Repaired,
    Replied,
    RequestSent,
    Retried,
    TextStreamed,
)
from overt.core.fragments import Origin
from overt.core.ids import new_id
from overt.core.messages import Call, Message, Part
from overt.core.requests import CallDelta, ReasoningDelta, Reply, Request, RetryDelta, TextDelta, WaitDelta
from overt.engine.agent import Agent
from overt.lib.catalogue import say


def request_sent(
    agent: Agent,
    made: Assembled,
    *,
    forced: bool = False,
    purpose: Literal["step", "summary"] = "step",
    also: tuple[Message, ...] = (),
) -> RequestSent:
    """The fact that a request goes out; its body follows from the entries before it."""
    request = made.request
    return RequestSent(
        agent=agent.path,
        digest=request.digest,
        length=request.length,
        stable=made.stable,
        stable_length=made.stable_length,
        params=request.params,
        messages=len(request.messages),
        encoder=agent.provider.wire.version,
        forced=forced,
        shared=made.shared,
        purpose=purpose,
        also=also,
    )


async def sample(agent: Agent, request: Request, *, forced: bool = False) -> AsyncGenerator[Event, None]:
    """With `forced` the reply is a summary for display: calls in it are dropped."""
    started = monotonic()
    path = agent.path
    veil: Any = None
    origin = Origin(kind="model", where=agent.provider.name)
    async with aclosing(agent.provider.stream(request)) as deltas:
        async for delta in deltas:
            match delta:
                case TextDelta(text=text):
                    if veil is None:
                        from overt.repair.veil import Veil  # late: 3 ms

                        veil = Veil(agent.calls)
                    if shown := veil.feed(text):
                        yield TextStreamed(agent=path, text=shown)
                case ReasoningDelta(text=text):
                    yield ReasoningStreamed(agent=path, text=text)
                case CallDelta(index=index, name=name, characters=characters, ready=ready):
                    yield CallStreamed(agent=path, index=index, name=name, characters=characters, ready=ready)
                case RetryDelta(attempt=attempt, wait=wait, reason=reason):
                    yield Retried(agent=path, attempt=attempt, wait=wait, reason=reason)
                case WaitDelta(seconds=seconds):
                    yield Noticed(agent=path, text=say("turn.waiting", seconds=round(seconds)), level="warning")
                case Reply():
                    from overt.repair.scavenge import scavenge  # late: 1.4 ms

                    found = scavenge(delta.parts, agent.tools, calls=agent.calls, finish=delta.finish)
                    parts = _identified(found.parts, delta.parts)
                    if veil and (rest := veil.rest(kept=found.parts == delta.parts)):
                        yield TextStreamed(agent=path, text=rest)
                    whole = replace(delta, parts=parts)
                    ms = round((monotonic() - started) * 1000)
                    yield _replied(whole, agent=path, origin=origin, forced=forced, ms=ms)
                    if found.note:
                        yield Repaired(agent=path, call_id=_first(parts), note=found.note, before=found.before)
                case _:
                    assert_never(delta)


def _replied(reply: Reply, *, agent: str, origin: Origin, forced: bool, ms: int) -> Replied:
    parts = tuple(part for part in reply.parts if not (forced and isinstance(part, Call)))
    calls = any(isinstance(part, Call) for part in parts)
    return Replied(
        agent=agent,
        message=Message(role="assistant", parts=parts, origin=origin),
        finish="calls" if calls and reply.finish == "stop" else reply.finish,
        usage=reply.usage,
        model=reply.model,
        forced=forced,
        skipped=reply.skipped,
        ms=ms,
    )


def _identified(parts: tuple[Part, ...], sent: tuple[Part, ...]) -> tuple[Part, ...]:
    """A call that was found in the text gets an id that no other reply has given to one of its own."""
    found = (
        replace(part, id=f"call_{new_id()}") if isinstance(part, Call) and part not in sent else part for part in parts
    )
    return tuple(found)


def _first(parts: tuple[Part, ...]) -> str:
    return next((part.id for part in parts if isinstance(part, Call)), "")
