"""A request for the context inspector and `/context`: the next one as things stand, or one that was sent."""

import asyncio
from collections.abc import Sequence

from msgspec import json

from overt.agent.agent import Agent
from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import Contents, ContextPiece, RequestBody
from overt.app.records.context_lines import origin_text
from overt.app.records.context_view import OpenedSession, RequestView, describe_request, exact_request, measure_cache
from overt.app.records.rebuild import RebuiltRequest
from overt.context.assemble import Assembler
from overt.context.provenance import RequestSpan, scale_tokens, trace_spans
from overt.context.text_calls import TextCallWire
from overt.core.errors import SessionError
from overt.core.messages import Message
from overt.core.protocols import Wire
from overt.core.requests import Request
from overt.core.spending.usage import Usage
from overt.lib.translations import say
from overt.providers.wires import WireKind
from overt.sessions.load import load


async def request_contents(conversation: Conversation, number: int) -> Contents:
    """Return a request by its number; any number that is not above 0 means the next request."""
    if number <= 0:
        return _contents(await next_request(conversation), await asyncio.to_thread(_count, conversation))
    return await asyncio.to_thread(lambda: _earlier(_open(conversation), number))


async def request_body(conversation: Conversation, number: int) -> RequestBody:
    """Return the body of a request that was sent, by its number, or of the next one."""
    if number <= 0:
        body = _assemble(conversation.agent, conversation.history.messages).body()
    else:
        rebuilt = await asyncio.to_thread(lambda: _rebuild(_open(conversation), number))
        body = rebuilt.request.body()
    return _lay_out(body)


def recorded_contents(path: str, wires: Sequence[WireKind], number: int) -> Contents:
    """Return request `number` of a session file, or the last one for 0."""
    return _earlier(_read(path, wires), number)


def recorded_body(path: str, wires: Sequence[WireKind], number: int) -> RequestBody:
    opened = _read(path, wires)
    return _lay_out(_rebuild(opened, number or measure_cache(opened.entries).requests).request.body())


def _lay_out(body: bytes) -> RequestBody:
    return RequestBody(json.format(body, indent=2).decode("utf-8", "replace"))


async def next_request(conversation: Conversation) -> RequestView:
    """The next request without what the person is about to say. A long one takes a while, in which a turn goes on."""
    agent, messages, turn = conversation.agent, conversation.history.messages, conversation.session.turn + 1
    budget, limit = agent.runtime.budget, conversation.window
    request, spans = await asyncio.to_thread(_traced, agent, messages)
    if budget is not None:
        spans = scale_tokens(spans, budget.count(agent.spec.prefix, messages))
        limit = budget.window or limit
    return RequestView(
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


def _traced(agent: Agent, messages: tuple[Message, ...]) -> tuple[Request, tuple[RequestSpan, ...]]:
    request = _assemble(agent, messages)
    return request, trace_spans(_wire(agent), request, vendor=agent.runtime.provider.name)


def _assemble(agent: Agent, messages: tuple[Message, ...]) -> Request:
    assembler = Assembler(_wire(agent), vendor=agent.runtime.provider.name)
    return assembler.assemble(agent.spec.prefix, messages, agent.spec.params).request


def _wire(agent: Agent) -> Wire:
    """One that has not encoded anything yet."""
    wire = agent.runtime.provider.wire
    return wire if agent.spec.calls == "native" else TextCallWire(wire, agent.spec.calls)


def _contents(request: RequestView, sent: int) -> Contents:
    whole = sum(span.tokens for span in request.spans) or 1
    spans = (span for span in request.spans if span.key != "wire")
    pieces = (
        ContextPiece(
            number=number,
            key=span.key,
            tokens=span.tokens,
            share=span.tokens / whole,
            cached=span.cached,
            origin=origin_text(span.origin),
            label=span.label,
            text=span.text,
        )
        for number, span in enumerate(spans, 1)
    )
    return Contents(request=request, sent=sent, pieces=tuple(pieces))


def _earlier(opened: OpenedSession, number: int) -> Contents:
    sent = measure_cache(opened.entries).requests
    return _contents(describe_request(opened, _rebuild(opened, number or sent)), sent)


def _rebuild(opened: OpenedSession, number: int) -> RebuiltRequest:
    return exact_request(opened, lambda made: made.number == number, str(number))


def _count(conversation: Conversation) -> int:
    """Return 0 if the file cannot be read: the next request can be shown all the same."""
    try:
        return measure_cache(_open(conversation).entries).requests
    except SessionError:
        return 0


def _open(conversation: Conversation) -> OpenedSession:
    if not conversation.path:
        raise SessionError(say("session.no_file", what="/context"), code="missing")
    return _read(conversation.path, conversation.setting.registries.wires)


def _read(path: str, wires: Sequence[WireKind]) -> OpenedSession:
    loaded = load(path)
    return OpenedSession(path=path, id=loaded.id, entries=loaded.entries, damage=loaded.damage, wires=tuple(wires))
