"""One model call: deltas become events, and the whole reply comes last, with calls that had leaked into its text."""

import re
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING, Literal, assert_never

from msgspec.structs import replace

from overt.agent.agent import Agent
from overt.agent.request_cost import Received
from overt.context.assemble import AssembledRequest
from overt.core.events import (
    CallStreamed,
    Emit,
    Noticed,
    ReasoningStreamed,
    Repaired,
    Replied,
    RequestSent,
    Retried,
    TextStreamed,
)
from overt.core.ids import new_id
from overt.core.messages import Call, Message, Part, Text
from overt.core.requests import CallDelta, ReasoningDelta, Reply, Request, RetryDelta, TextDelta, WaitDelta
from overt.core.text_fragments import Origin
from overt.core.tool import Tool
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.repair.markup_filter import MarkupFilter


def request_sent(
    agent: Agent,
    made: AssembledRequest,
    *,
    forced: bool = False,
    purpose: Literal["step", "summary"] = "step",
    also: tuple[Message, ...] = (),
) -> RequestSent:
    """Return the event of a request that is sent; its body follows from the entries before it."""
    request = made.request
    return RequestSent(
        agent=agent.spec.path,
        digest=request.digest,
        length=request.length,
        stable=made.stable,
        stable_length=made.stable_length,
        params=request.params,
        messages=len(request.messages),
        encoder=agent.runtime.provider.wire.version,
        forced=forced,
        shared=made.shared,
        purpose=purpose,
        also=also,
    )


async def call_model(agent: Agent, request: Request, emit: Emit, *, received: Received, final: bool = False) -> Replied:
    """Send a request, emit what streams in, and return the reply. Calls in a `final` reply are dropped.

    What reads replies is loaded with the first piece of one, so that the request goes out first.
    """
    started = monotonic()
    path = agent.spec.path
    visible: MarkupFilter | None = None
    replied: Replied | None = None
    origin = Origin(kind="model", where=agent.runtime.provider.name)
    async with aclosing(agent.runtime.provider.stream(request)) as deltas:
        async for delta in deltas:
            received.see(delta)
            match delta:
                case TextDelta(text=text):
                    if visible is None:
                        from overt.repair import markup_filter as hide_markup  # late: 1.4 ms

                        visible = hide_markup.MarkupFilter(agent.spec.calls, agent.spec.tools)
                    if shown := visible.feed(text):
                        emit(TextStreamed(agent=path, text=shown))
                case ReasoningDelta(text=text):
                    emit(ReasoningStreamed(agent=path, text=text))
                case CallDelta(index=index, name=name, characters=characters, ready=ready):
                    emit(CallStreamed(agent=path, index=index, name=name, characters=characters, ready=ready))
                case RetryDelta(attempt=attempt, attempts=attempts, wait=wait, reason=reason):
                    emit(Retried(agent=path, attempt=attempt, attempts=attempts, wait=wait, reason=reason))
                case WaitDelta(seconds=seconds):
                    text = say("turn.waiting", seconds=round(seconds))
                    emit(Noticed(agent=path, text=text, level="warning", kind="waiting"))
                case Reply():
                    from overt.repair.leaked_calls import extract_leaked_calls  # late: 0.2 ms

                    salvaged = extract_leaked_calls(
                        delta.parts, _tools_named(agent, delta.parts), calls=agent.spec.calls, finish=delta.finish
                    )
                    parts = _identified(salvaged.parts, delta.parts)
                    if visible and (rest := visible.rest(kept=salvaged.parts == delta.parts)):
                        emit(TextStreamed(agent=path, text=rest))
                    ms = round((monotonic() - started) * 1000)
                    replied = _replied(replace(delta, parts=parts), agent=path, origin=origin, final=final, ms=ms)
                    emit(replied)
                    if salvaged.note:
                        emit(Repaired(agent=path, call_id=_first(parts), note=salvaged.note, before=salvaged.before))
                case _:
                    assert_never(delta)
    assert replied is not None  # a stream ends with a reply or raises
    return replied


def _tools_named(agent: Agent, parts: tuple[Part, ...]) -> dict[str, Tool]:
    """Return the tools of the agent, and those of MCP servers that a text of the reply names."""
    unlisted = agent.runtime.unlisted
    text = "".join(part.text for part in parts if isinstance(part, Text))
    names = set(re.findall(r"mcp__[\w-]+", text)) if unlisted and "mcp__" in text else set()
    named = (unlisted.find(name) for name in names - agent.spec.tools.keys()) if unlisted else ()
    return agent.spec.tools | {tool.name: tool for tool in named if tool}


def _replied(reply: Reply, *, agent: str, origin: Origin, final: bool, ms: int) -> Replied:
    parts = tuple(part for part in reply.parts if not (final and isinstance(part, Call)))
    calls = any(isinstance(part, Call) for part in parts)
    return Replied(
        agent=agent,
        message=Message(role="assistant", parts=parts, origin=origin),
        finish="calls" if calls and reply.finish == "stop" else reply.finish,
        usage=reply.usage,
        model=reply.model,
        forced=final,
        skipped=reply.skipped,
        ms=ms,
    )


def _identified(parts: tuple[Part, ...], sent: tuple[Part, ...]) -> tuple[Part, ...]:
    """Give calls that were found in the text ids that no other reply has given to one of its own."""
    found = (
        replace(part, id=f"call_{new_id()}") if isinstance(part, Call) and part not in sent else part for part in parts
    )
    return tuple(found)


def _first(parts: tuple[Part, ...]) -> str:
    return next((part.id for part in parts if isinstance(part, Call)), "")
