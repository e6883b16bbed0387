"""One small request to a server that is being found out about, and everything that could be heard of the answer."""

import asyncio
from contextlib import aclosing
from time import monotonic

from msgspec import Raw, Struct

from overt.core.codec import decode
from overt.core.errors import ProviderError
from overt.core.fragments import HARNESS, USER, Fragment
from overt.core.messages import Call, Image, Message, Part, Reasoning, Text
from overt.core.ports import Provider, Wire
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
from overt.lib.catalogue import say
from overt.providers.transport.attempt import HttpWire, StreamDecoder

EACH = 120.0
"""Seconds for one request: a server on a CPU reads slowly."""
REASONING_FIELDS = ("reasoning_content", "reasoning_details", "reasoning", "thinking")
LOOKED_AT = 4096
"""Payloads are parsed again for what the decoder does not tell; this many are plenty."""


class Question(Struct, frozen=True, kw_only=True):
    user: str
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    image: bytes = b""
    choice: ToolChoice = "auto"
    form: Raw | None = None
    most: int | None = None


class Heard:
    """What came back. `first` is the seconds to the first event that said something, `last` to the end."""

    def __init__(self) -> None:
        self.reply: Reply | None = None
        self.error: ProviderError | None = None
        self.pieces = 0
        self.call_pieces = 0
        self.first = 0.0
        self.last = 0.0

    @property
    def text(self) -> str:
        return "".join(part.text for part in self._parts() if isinstance(part, Text))

    @property
    def thoughts(self) -> str:
        return "".join(part.text for part in self._parts() if isinstance(part, Reasoning))

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self._parts() if isinstance(part, Call))

    @property
    def usage(self) -> Usage:
        return self.reply.usage if self.reply else Usage()

    @property
    def cut(self) -> bool:
        """Whether it ran out of tokens before it said anything, as a model does that thinks first."""
        return bool(self.reply and self.reply.finish == "length" and not self.text.strip() and not self.calls)

    def _parts(self) -> tuple[Part, ...]:
        return self.reply.parts if self.reply else ()


class Watch:
    """What the raw events of all replies held: the field of reasoning, and tokens kept, which few decoders tell."""

    def __init__(self) -> None:
        self.events = 0
        self.reasoning = ""
        self.kept: int | None = None

    def restart(self) -> None:
        self.events, self.kept = 0, None

    def see(self, payload: bytes) -> None:
        self.events += 1
        if self.events > LOOKED_AT:
            return
        try:
            event = decode(payload)
        except (ValueError, RecursionError):
            return
        if isinstance(event, dict):
            self.reasoning = self.reasoning or _reasoning_field(event)
            kept = _kept(event)
            self.kept = kept if kept is not None else self.kept


class WatchedDecoder:
    """A decoder that lets somebody look at what it is fed."""

    def __init__(self, decoder: StreamDecoder, watch: Watch) -> None:
        self._decoder = decoder
        self._watch = watch
        self.take = decoder.take
        self.end = decoder.end

    @property
    def finished(self) -> bool:
        return self._decoder.finished

    @property
    def done(self) -> bool:
        return self._decoder.done

    def feed(self, payload: bytes) -> None:
        self._watch.see(payload)
        self._decoder.feed(payload)


class WatchedWire:
    """The wire of a provider, watched; it encodes and decodes as before."""

    def __init__(self, wire: HttpWire, watch: Watch) -> None:
        self.name, self.version, self.marks, self.path = wire.name, wire.version, wire.marks, wire.path
        self._wire = wire
        self._watch = watch
        self.headers, self.whole = wire.headers, wire.whole
        self.head, self.message, self.marked, self.tail = wire.head, wire.message, wire.marked, wire.tail

    def decoder(self) -> WatchedDecoder:
        return WatchedDecoder(self._wire.decoder(), self._watch)


async def ask(provider: Provider, wire: Wire, question: Question, model: str) -> Heard:
    """Ask, and report whatever happened; `wire` encodes, and may do so otherwise than the provider's own."""
    heard = Heard()
    began = monotonic()
    try:
        async with asyncio.timeout(EACH), aclosing(provider.stream(request_of(wire, question, model))) as deltas:
            async for delta in deltas:
                said = isinstance(delta, TextDelta | ReasoningDelta | CallDelta)
                if not heard.first and (said or isinstance(delta, Reply)):
                    heard.first = monotonic() - began
                heard.pieces += isinstance(delta, TextDelta | ReasoningDelta)
                heard.call_pieces += isinstance(delta, CallDelta)
                if isinstance(delta, Reply):
                    heard.reply = delta
    except ProviderError as error:
        heard.error = error
    except TimeoutError:
        heard.error = ProviderError(say("probe.late", seconds=int(EACH)), kind="stalled")
    if heard.reply is None and heard.error is None:
        heard.error = ProviderError(say("probe.silent"), kind="cut")
    heard.last = monotonic() - began
    return heard


def request_of(wire: Wire, question: Question, model: str) -> Request:
    system = (Fragment(key="system", text=question.system, origin=HARNESS),) if question.system else ()
    prefix = Prefix(system=system, tools=question.tools)
    params = Params(model=model, max_tokens=question.most, tool_choice=question.choice, form=question.form)
    parts: tuple[Part, ...] = (Text(text=question.user),)
    if question.image:
        parts = (Image(media="image/png", data=question.image), *parts)
    message = Message(role="user", parts=parts, origin=USER)
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
    kind = event.get("type")
    if isinstance(kind, str) and "reasoning" in kind:
        return "reasoning"
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    holders = (
        (choice.get("delta"), choice.get("message"))
        if isinstance(choice, dict)
        else (event.get("delta"), event.get("content_block"))
    )
    for holder in holders:
        if isinstance(holder, dict):
            for field in REASONING_FIELDS:
                if holder.get(field):
                    return field
    return ""


def _kept(event: dict[str, object]) -> int | None:
    """Tokens of the prompt that the server had kept, in any of the places where servers say so."""
    inner = event.get("message") if isinstance(event.get("message"), dict) else event.get("response")
    for holder in (event, inner):
        if not isinstance(holder, dict):
            continue
        usage, timings = holder.get("usage"), holder.get("timings")
        places = []
        if isinstance(usage, dict):
            places = [usage, usage.get("prompt_tokens_details"), usage.get("input_tokens_details")]
        for place in (timings, *places):
            if isinstance(place, dict):
                for field in ("cached_tokens", "cache_n", "prompt_cache_hit_tokens", "cache_read_input_tokens"):
                    if isinstance(place.get(field), int):
                        return int(place[field])
    return None
