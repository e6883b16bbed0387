"""Requests to a model beside the conversation: for the title of a session, or about a web page.

The request, its reply and failures are entries of the session under an agent of their own, so that such a request can
be rebuilt and counted like all others.
"""

import asyncio
from contextlib import aclosing
from time import monotonic
from typing import Literal

from overt.agent.agent import SpendLimit, SpendReservation
from overt.agent.request_cost import Received, is_billed
from overt.context.assemble import AssembledRequest, Assembler, fingerprint
from overt.context.budget import ADDED, MARGIN
from overt.core.errors import OvertError
from overt.core.events import Emit, Noticed, PrefixSet, Replied, RequestSent
from overt.core.messages import Message, Text
from overt.core.protocols import Provider, Wire
from overt.core.requests import Finish, Params, Prefix, Reply, Request
from overt.core.settings import ModelFacts
from overt.core.spending.usage import Usage
from overt.core.spending.worst_case import UNKNOWN_OUTPUT, WorstCase
from overt.core.text_fragments import HARNESS, Fragment, Origin
from overt.lib.logs.log import LOG
from overt.lib.tokens import estimate
from overt.lib.translations import say

SidePurpose = Literal["title", "web"]
"""Also the name of the agent under which the request is recorded."""
ANSWER_WITHIN_S = 60.0
SUBJECTS: dict[SidePurpose, str] = {"title": "a title", "web": "an answer about a web page"}


def build_side_request(
    wire: Wire, model: str, instruction: str, messages: tuple[Message, ...], *, purpose: SidePurpose, max_tokens: int
) -> AssembledRequest:
    system = Fragment(key=purpose, text=instruction, origin=HARNESS)
    params = Params(model=model, max_tokens=max_tokens)
    return Assembler(wire).assemble(Prefix(system=(system,), tools=()), messages, params)


async def send_side_request(
    provider: Provider,
    about: ModelFacts,
    made: AssembledRequest,
    emit: Emit,
    *,
    purpose: SidePurpose,
    limits: SpendLimit | None = None,
) -> str:
    """Send a request and return the text of its reply. Record the request, what it cost, and a failure, which is also
    logged and raised as an OvertError. If the `limits` leave too little, send nothing and raise one too."""
    reservation: SpendReservation | None = None
    if limits and limits.is_set and (reservation := limits.try_reserve(_worst_case(about, made.request))) is None:
        raise OvertError(say("limits.side"))
    try:
        return await _send_recorded(provider, about, made, emit, purpose)
    finally:
        if reservation:
            reservation.release()


async def _send_recorded(
    provider: Provider, about: ModelFacts, made: AssembledRequest, emit: Emit, purpose: SidePurpose
) -> str:
    _record_request(provider, about, made, emit, purpose)
    started, received, reply = monotonic(), Received(), None

    def record_reply(finish: Finish, usage: Usage, model: str = "") -> None:
        message = Message(role="assistant", parts=(), origin=Origin(kind="model", where=provider.name))
        ms, estimated = round((monotonic() - started) * 1000), finish == "interrupted"
        emit(
            Replied(agent=purpose, message=message, finish=finish, usage=usage, model=model, ms=ms, estimated=estimated)
        )

    try:
        async with asyncio.timeout(ANSWER_WITHIN_S), aclosing(provider.stream(made.request)) as deltas:
            async for delta in deltas:
                received.see(delta)
                reply = delta if isinstance(delta, Reply) else reply
    except (OvertError, TimeoutError, asyncio.CancelledError) as error:
        if is_billed(error, received):
            record_reply("interrupted", Usage(input=estimate_tokens(made.request), output=received.tokens()))
        if isinstance(error, asyncio.CancelledError):
            raise
        why = f"the request for {SUBJECTS[purpose]} failed: {error or type(error).__name__}"
        emit(Noticed(agent=purpose, text=why, level="warning"))
        LOG.warning(purpose, why)
        raise OvertError(why) from error
    if reply is None:
        return ""
    record_reply(reply.finish, reply.usage, reply.model)
    return "".join(part.text for part in reply.parts if isinstance(part, Text))


def _worst_case(about: ModelFacts, request: Request) -> WorstCase:
    """Return the most that a request can cost. Its output is never shortened to fit a limit."""
    sends_limit = about.quirks is None or about.quirks.limit
    output = (sends_limit and request.params.max_tokens) or about.output or UNKNOWN_OUTPUT
    tokens = round((1 + MARGIN) * estimate_tokens(request) + ADDED)
    return WorstCase(input=tokens, output=output, least=output, price=about.price)


def estimate_tokens(request: Request) -> int:
    """Estimate the tokens of a request outside of the conversation."""
    return estimate("\n".join([request.prefix.system_text(), *(message.text() for message in request.messages)]))


def _record_request(
    provider: Provider, about: ModelFacts, made: AssembledRequest, emit: Emit, purpose: SidePurpose
) -> None:
    """Record the prefix and the messages, from which the same bytes can be built again."""
    request, wire = made.request, provider.wire
    emit(
        PrefixSet(
            agent=purpose,
            prefix=request.prefix,
            provider=provider.name,
            model=about.name,
            wire=wire.name,
            encoder=wire.version,
            fingerprint=fingerprint(wire, request.prefix, request.params),
            about=about,
        )
    )
    emit(
        RequestSent(
            agent=purpose,
            digest=request.digest,
            length=request.length,
            stable=made.stable,
            stable_length=made.stable_length,
            params=request.params,
            messages=len(request.messages),
            encoder=wire.version,
            purpose=purpose,
            also=request.messages,
        )
    )
