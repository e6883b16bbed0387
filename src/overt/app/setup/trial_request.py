"""Asking a server which models it has, and one small request that shows whether a model answers."""

from msgspec.structs import replace

from overt.core.errors import OvertError, ProviderError
from overt.core.settings import ProviderEntry
from overt.providers.model_choice import EMBEDDED, Surroundings, list_models, with_models
from overt.providers.probing.probe_request import ProbeQuestion, ProbeReply, ask
from overt.providers.registry import make

LISTED_WITHIN = 10.0
QUESTION = ProbeQuestion(
    system="You are being tried out. Answer with one short sentence.",
    user="Say that you are ready, and what you are called.",
    most=400,
)


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


async def trial(entry: ProviderEntry, key: str | None, model: str, around: Surroundings) -> ProbeReply:
    """Send one small request without tools. An OvertError says what stands in the way."""
    provider = make(_once(entry), key, model, around.environ, around.wires)
    try:
        reply = await ask(provider, provider.wire, QUESTION, model)
    finally:
        provider.close()
    if reply.error is not None:
        raise reply.error
    return reply
