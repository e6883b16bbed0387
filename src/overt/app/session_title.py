"""Ask a small model for the title of a session, beside the conversation.

The request, its reply and failures are entries of the session under an agent of their own, so that this request can
be rebuilt and counted like all others.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from time import monotonic

from overt.app.services import ModelSource
from overt.context.assemble import AssembledRequest, Assembler, fingerprint
from overt.core.errors import OvertError
from overt.core.events import (
    CallStreamed,
    Event,
    Noticed,
    PrefixSet,
    ReasoningStreamed,
    Replied,
    RequestSent,
    TextStreamed,
    TitleSet,
)
from overt.core.messages import Message, Text, said
from overt.core.protocols import Provider, Wire
from overt.core.requests import Finish, Params, Prefix, Reply, RetryDelta, WaitDelta
from overt.core.settings import ModelFacts
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, USER, Fragment, Origin
from overt.lib.logs.background import log_failure
from overt.lib.logs.log import LOG

AGENT = "title"
INSTRUCTION = "Give the task below a title of at most six words, in its own language. Reply with the title alone."
MOST_ASKED, MOST_TITLE, MOST_TOKENS = 2000, 80, 400
WITHIN = 60.0

Record = Callable[[Event], None]


def title_request(wire: Wire, model: str, prompt: str) -> AssembledRequest:
    """Build the request for the title of a session that begins with this prompt."""
    system = Fragment(key="title", text=INSTRUCTION, origin=HARNESS)
    params = Params(model=model, max_tokens=MOST_TOKENS)
    asked = said(prompt[:MOST_ASKED], origin=USER)
    return Assembler(wire).assemble(Prefix(system=(system,), tools=()), (asked,), params)


class Titling:
    """Asks for a title in the background, but not before the first reply has begun: nothing delays that request.

    A failure is logged; the session goes on without a title.
    """

    def __init__(self, models: ModelSource, record: Record) -> None:
        self._models = models
        self._record = record
        self._prompt = ""
        self._task: asyncio.Task[None] | None = None

    def want(self, prompt: str) -> None:
        self._prompt = prompt

    def see(self, event: Event) -> None:
        if self._prompt and isinstance(event, ReasoningStreamed | TextStreamed | CallStreamed | Replied):
            prompt, self._prompt = self._prompt, ""
            self._task = asyncio.create_task(self._models.title(prompt, self._record))
            self._task.add_done_callback(log_failure("title"))

    async def close(self) -> None:
        """Cancel the request: its answer is not worth waiting for."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


async def ask_title(provider: Provider, about: ModelFacts, prompt: str, record: Record) -> None:
    """Ask for a title and record the request, what it cost and the title. A failure is recorded and logged."""
    made = title_request(provider.wire, about.name, prompt)
    _record_request(provider, about, made, record)
    started, begun, reply = monotonic(), False, None

    def record_reply(finish: Finish, usage: Usage, model: str = "") -> None:
        message = Message(role="assistant", parts=(), origin=Origin(kind="model", where=provider.name))
        ms = round((monotonic() - started) * 1000)
        record(Replied(agent=AGENT, message=message, finish=finish, usage=usage, model=model, ms=ms))

    try:
        async with asyncio.timeout(WITHIN), aclosing(provider.stream(made.request)) as deltas:
            async for delta in deltas:
                begun = begun or not isinstance(delta, RetryDelta | WaitDelta)
                reply = delta if isinstance(delta, Reply) else reply
    except asyncio.CancelledError:
        record_reply("interrupted", Usage())
        raise
    except (OvertError, TimeoutError) as error:
        if begun or isinstance(error, TimeoutError):  # tokens that nobody has counted may have been spent
            record_reply("interrupted", Usage())
        why = f"the request for a title failed: {error or type(error).__name__}"
        record(Noticed(agent=AGENT, text=why, level="warning"))
        LOG.warning("title", why)
        return
    if reply is None:
        return
    record_reply(reply.finish, reply.usage, reply.model)
    text = "".join(part.text for part in reply.parts if isinstance(part, Text))
    if title := " ".join(text.split()).strip("\"'“”`*#. ")[:MOST_TITLE]:
        record(TitleSet(title=title, model=about.name, provider=provider.name))


def _record_request(provider: Provider, about: ModelFacts, made: AssembledRequest, record: Record) -> None:
    """Record the prefix and the message, from which the same bytes can be built again."""
    request, wire = made.request, provider.wire
    record(
        PrefixSet(
            agent=AGENT,
            prefix=request.prefix,
            provider=provider.name,
            model=about.name,
            wire=wire.name,
            encoder=wire.version,
            fingerprint=fingerprint(wire, request.prefix, request.params),
            about=about,
        )
    )
    record(
        RequestSent(
            agent=AGENT,
            digest=request.digest,
            length=request.length,
            stable=made.stable,
            stable_length=made.stable_length,
            params=request.params,
            messages=len(request.messages),
            encoder=wire.version,
            purpose="title",
            also=request.messages,
        )
    )
