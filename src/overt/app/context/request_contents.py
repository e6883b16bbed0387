"""The pieces of a request for the context inspector: the next one as things stand, and every one that was sent."""

import asyncio
from collections.abc import Iterator

from msgspec import json

from overt.app.context.next_request import upcoming
from overt.app.conversation import Conversation
from overt.app.inspect.values import Contents, Fragment, RequestBody
from overt.app.records.context_lines import origin_text
from overt.app.records.context_view import Opened, View, exact, view
from overt.app.records.rebuild import Rebuilt
from overt.context.assemble import Assembler
from overt.context.spoken import SpokenWire
from overt.core.errors import SessionError
from overt.core.events import PrefixSet, RequestSent
from overt.lib.catalogue import say
from overt.sessions.load import load


async def context(conversation: Conversation, number: int) -> Contents:
    """A number that is not there means the next one, which nothing was sent of yet."""
    if number <= 0:
        sent = await asyncio.to_thread(_count, conversation)
        return _contents(await upcoming(conversation), sent)
    return await asyncio.to_thread(_earlier, conversation, number)


async def request(conversation: Conversation, number: int) -> RequestBody:
    """Return the body of a request that was sent, by its number, or of the next one."""
    if number <= 0:
        return _pretty(_next_body(conversation))
    return await asyncio.to_thread(_sent_body, conversation, number)


def _contents(shown: View, sent: int) -> Contents:
    whole = sum(span.tokens for span in shown.spans) or 1
    spoken = (span for span in shown.spans if span.key != "wire")
    return Contents(
        number=shown.number,
        sent=sent,
        turn=shown.turn,
        step=shown.step,
        summary=shown.purpose == "summary",
        model=f"{shown.provider}/{shown.model}",
        length=shown.length,
        used=shown.used,
        limit=shown.limit,
        reported=shown.reported,
        resets=shown.resets,
        pieces=tuple(
            Fragment(
                number=at,
                key=span.key,
                tokens=span.tokens,
                share=span.tokens / whole,
                cached=span.cached,
                origin=origin_text(span.origin),
                label=span.label,
                text=span.text,
            )
            for at, span in enumerate(spoken, 1)
        ),
    )


def _earlier(conversation: Conversation, number: int) -> Contents:
    opened = _opened(conversation)
    return _contents(view(opened, _made(opened, number)), sum(1 for _ in _sent(opened)))


def _sent_body(conversation: Conversation, number: int) -> RequestBody:
    return _pretty(_made(_opened(conversation), number).made.request.body())


def _made(opened: Opened, number: int) -> Rebuilt:
    return exact(opened, lambda made: made.number == number, str(number))


def _pretty(body: bytes) -> RequestBody:
    return RequestBody(json.format(body, indent=2).decode("utf-8", "replace"))


def _next_body(conversation: Conversation) -> bytes:
    agent = conversation.agent
    wire = agent.runtime.provider.wire
    if agent.spec.calls != "native":
        wire = SpokenWire(wire, agent.spec.calls)
    assembler = Assembler(wire, vendor=agent.runtime.provider.name)
    return assembler.assemble(agent.spec.prefix, conversation.history.messages, agent.spec.params).request.body()


def _count(conversation: Conversation) -> int:
    """None that can be shown is none, whatever the reason: the next one can be looked at all the same."""
    try:
        return sum(1 for _ in _sent(_opened(conversation)))
    except SessionError:
        return 0


def _opened(conversation: Conversation) -> Opened:
    if not conversation.path:
        raise SessionError(say("session.no_file", what="/context"), code="missing")
    loaded = load(conversation.path)
    return Opened(path=conversation.path, id=loaded.id, entries=loaded.entries, damage=loaded.damage)


def _sent(opened: Opened) -> Iterator[RequestSent]:
    """The requests of the main agent from its first prefix on, as they are numbered."""
    begun = False
    for entry in opened.entries:
        begun = begun or isinstance(entry.data, PrefixSet)
        if begun and entry.agent == "main" and isinstance(entry.data, RequestSent):
            yield entry.data
