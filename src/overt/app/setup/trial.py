"""Asking a server which models it has, and one small request that shows whether a model answers."""

import asyncio
from contextlib import aclosing
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from overt.context.assemble import Assembler
from overt.core.errors import OvertError, ProviderError
from overt.core.fragments import HARNESS, USER, Fragment
from overt.core.messages import Reasoning, Text, said
from overt.core.requests import Params, Prefix, Reply
from overt.core.settings import ProviderEntry
from overt.lib.catalogue import say
from overt.providers.discover import EMBEDDED, Surroundings, list_models, with_models
from overt.providers.registry import make

WITHIN, LISTED_WITHIN = 120.0, 10.0
"""Seconds: a server on a CPU reads slowly, and loads its model with the first request."""
MOST_TOKENS = 400
SYSTEM = "You are being tried out. Answer with one short sentence."
PROMPT = "Say that you are ready, and what you are called."


class TrialResult(Struct, frozen=True, kw_only=True):
    """`text` is what the model said; `thought`: it only thought, in the few tokens that it was given."""

    text: str
    thought: bool
    seconds: float
    input: int
    output: int


async def add_models(entry: ProviderEntry, key: str | None, around: Surroundings) -> ProviderEntry:
    """The entry with the models its server lists; as it is where servers list none. A refused key is an error."""
    if entry.kind in (EMBEDDED, "scripted"):
        return entry
    try:
        return with_models(entry, await list_models(_once(entry), key, around, within=LISTED_WITHIN))
    except OvertError as error:
        if isinstance(error, ProviderError) and error.kind in ("key", "down", "tls", "proxy"):
            raise
        return entry


async def find_address(entry: ProviderEntry, around: Surroundings) -> tuple[ProviderEntry, bool]:
    """The entry with the address at which a server lists its models, with `/v1` where a person left it out.

    Also whether the server wants a key. An address where nobody lists anything stays as it was given.
    """
    bare = entry.base_url.rstrip("/")
    beneath = "/" in bare.partition("://")[2]
    for address in (bare,) if beneath else (f"{bare}/v1", bare):
        there = replace(entry, base_url=address)
        try:
            if await list_models(_once(there), None, around, within=LISTED_WITHIN):
                return there, False
        except ProviderError as error:
            if error.kind == "key":
                return there, True
    return entry, False


def _once(entry: ProviderEntry) -> ProviderEntry:
    """One attempt: the person decides whether it is tried again."""
    return replace(entry, attempts=1)


async def trial(entry: ProviderEntry, key: str | None, model: str, around: Surroundings) -> TrialResult:
    """One request as every prompt makes them, without tools; an OvertError says what stands in the way."""
    provider = make(_once(entry), key, model, around.environ, around.wires)
    system = Fragment(key="system", text=SYSTEM, origin=HARNESS)
    asked = said(PROMPT, origin=USER)
    params = Params(model=model, max_tokens=MOST_TOKENS)
    request = Assembler(provider.wire).assemble(Prefix(system=(system,), tools=()), (asked,), params).request
    reply: Reply | None = None
    began = monotonic()
    try:
        async with asyncio.timeout(WITHIN), aclosing(provider.stream(request)) as deltas:
            async for delta in deltas:
                reply = delta if isinstance(delta, Reply) else reply
    except TimeoutError:
        raise ProviderError(say("probe.late", seconds=int(WITHIN)), kind="stalled") from None
    finally:
        provider.close()
    if reply is None:
        raise ProviderError(say("probe.silent"), kind="cut")
    return TrialResult(
        text=" ".join("".join(part.text for part in reply.parts if isinstance(part, Text)).split()),
        thought=any(isinstance(part, Reasoning) for part in reply.parts),
        seconds=monotonic() - began,
        input=reply.usage.input,
        output=reply.usage.output,
    )
