"""Small things that a small model does beside the conversation: today the title of a session."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from time import monotonic

from overt.app.house import House
from overt.context.assemble import Assembler
from overt.core.errors import OvertError
from overt.core.events import Event, TitleSet
from overt.core.fragments import HARNESS, USER, Fragment
from overt.core.messages import Text, said
from overt.core.ports import Provider, Wire
from overt.core.requests import Params, Prefix, Reply, Request
from overt.core.settings import ModelFacts
from overt.lib.background import log_failure
from overt.lib.log import LOG

INSTRUCTION = "Give the task below a title of at most six words, in its own language. Reply with the title alone."
MOST_ASKED, MOST_TITLE, MOST_TOKENS = 2000, 80, 400
WITHIN = 60.0


def title_request(wire: Wire, model: str, prompt: str) -> Request:
    """What asks for a title; the same again for whoever wants to see it later."""
    system = Fragment(key="title", text=INSTRUCTION, origin=HARNESS)
    params = Params(model=model, max_tokens=MOST_TOKENS)
    asked = said(prompt[:MOST_ASKED], origin=USER)
    return Assembler(wire).assemble(Prefix(system=(system,), tools=()), (asked,), params).request


def start_title(house: House, prompt: str, record: Callable[[Event], None]) -> "asyncio.Task[None]":
    """Ask for a title in the background. A failure is logged; the session goes on without a title."""

    async def work() -> None:
        if title := await house.title(prompt):
            record(title)

    task = asyncio.create_task(work())
    task.add_done_callback(log_failure("title"))
    return task


async def titled(provider: Provider, about: ModelFacts, prompt: str) -> TitleSet | None:
    """A title for a session that begins with this prompt; None when the model gives none, whatever the reason."""
    started = monotonic()
    request = title_request(provider.wire, about.name, prompt)
    reply: Reply | None = None
    try:
        async with asyncio.timeout(WITHIN), aclosing(provider.stream(request)) as deltas:
            async for delta in deltas:
                reply = delta if isinstance(delta, Reply) else reply
    except (OvertError, TimeoutError) as error:
        LOG.warning("title", f"the request for a title failed: {error or type(error).__name__}")
        return None
    text = "".join(part.text for part in reply.parts if isinstance(part, Text)) if reply else ""
    title = " ".join(text.split()).strip("\"'“”`*#. ")[:MOST_TITLE]
    if not title or reply is None:
        return None
    return TitleSet(
        title=title,
        model=about.name,
        usage=reply.usage,
        provider=provider.name,
        wire=provider.wire.name,
        about=about,
        digest=request.digest,
        length=request.length,
        ms=round((monotonic() - started) * 1000),
    )
