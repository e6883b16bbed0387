"""One small request to a server that is being probed, and what can be told from the reply."""

import asyncio
from contextlib import aclosing
from time import monotonic

from msgspec import Raw, Struct

from overt.core.codec import decode
from overt.core.errors import ProviderError
from overt.core.messages import Call, Image, Message, Part, Reasoning, Text
from overt.core.protocols import Provider, Wire
from overt.core.requests import (
    CallDelta,
    Params,
    Prefix,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    ToolChoice,
    ToolSpec,
)
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, USER, Fragment
from overt.lib.translations import say

REPLY_WITHIN = 120.0
"""Seconds for one request: a server on a CPU reads slowly."""
REASONING_FIELDS = ("reasoning_content", "reasoning_details", "reasoning", "thinking")
MOST_EVENTS = 4096
"""Events are parsed a second time to find the field of the reasoning; this many are plenty."""


class ProbeQuestion(Struct, frozen=True, kw_only=True):
    user: str
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    image: bytes = b""
    choice: ToolChoice = "auto"
    form: Raw | None = None
    most: int | None = None


class ProbeReply(Struct, kw_only=True):
    """What came back. `first` is the seconds to the first event that said something, `last` to the end.

    `pieces` and `call_pieces` count the deltas of text and of calls, `events` the events that carried them.
    """

    error: ProviderError | None = None
    parts: tuple[Part, ...] = ()
    usage: Usage = Usage()
    truncated: bool = False
    pieces: int = 0
    call_pieces: int = 0
    events: int = 0
    first: float = 0.0
    last: float = 0.0

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thoughts(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def out_of_tokens(self) -> bool:
        """True if it ran out of tokens before it said anything, as a model does that thinks first."""
        return self.truncated and not self.text.strip() and not self.calls


class EventWatch:
    """Looks at the raw events of all replies, for what no decoder tells: how many, and the field of reasoning."""

    def __init__(self) -> None:
        self.events = 0
        self.reasoning = ""

    def __call__(self, payload: bytes) -> None:
        self.events += 1
        if self.reasoning or self.events > MOST_EVENTS:
            return
        try:
            event = decode(payload)
        except (ValueError, RecursionError):
            return
        if isinstance(event, dict):
            self.reasoning = _reasoning_field(event)


async def ask(provider: Provider, wire: Wire, question: ProbeQuestion, model: str) -> ProbeReply:
    """Ask, and report whatever happened; `wire` encodes, and may do so otherwise than the provider's own."""
    answer = ProbeReply()
    reply: Reply | None = None
    began = monotonic()
    try:
        request = _request(wire, question, model)
        async with asyncio.timeout(REPLY_WITHIN), aclosing(provider.stream(request)) as deltas:
            async for delta in deltas:
                if not answer.first and isinstance(delta, TextDelta | ReasoningDelta | CallDelta | Reply):
                    answer.first = monotonic() - began
                answer.pieces += isinstance(delta, TextDelta | ReasoningDelta)
                answer.call_pieces += isinstance(delta, CallDelta)
                reply = delta if isinstance(delta, Reply) else reply
        if reply is None:
            raise ProviderError(say("probe.silent"), kind="cut")
        answer.parts, answer.usage, answer.truncated = reply.parts, reply.usage, reply.finish == "length"
    except ProviderError as error:
        answer.error = error
    except TimeoutError:
        answer.error = ProviderError(say("probe.late", seconds=int(REPLY_WITHIN)), kind="stalled")
    answer.last = monotonic() - began
    return answer


def _request(wire: Wire, question: ProbeQuestion, model: str) -> Request:
    system = (Fragment(key="system", text=question.system, origin=HARNESS),) if question.system else ()
    prefix = Prefix(system=system, tools=question.tools)
    params = Params(model=model, max_tokens=question.most, tool_choice=question.choice, form=question.form)
    image = (Image(media="image/png", data=question.image),) if question.image else ()
    message = Message(role="user", parts=(*image, Text(text=question.user)), origin=USER)
    head = wire.head(prefix, params)
    body = wire.marked(message) if wire.marks else wire.message(message)
    stable, closing = head + (b"" if head.endswith(b"[") else b",") + body, wire.tail(params)
    return Request(
        prefix=prefix,
        messages=(message,),
        params=params,
        stable=(stable,),
        closing=closing,
        digest="",
        length=len(stable) + len(closing),
    )


def _reasoning_field(event: dict[str, object]) -> str:
    """The field that carries reasoning, where this event has one; the event's type on wires that name theirs."""
    if "reasoning" in str(event.get("type")):
        return "reasoning"
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    inner = choice if isinstance(choice, dict) else event
    for holder in (inner.get("delta"), inner.get("message"), inner.get("content_block")):
        if isinstance(holder, dict):
            for field in REASONING_FIELDS:
                if holder.get(field):
                    return field
    return ""
