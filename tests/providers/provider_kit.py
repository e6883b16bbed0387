"""What the tests of providers share: a request, a provider with little patience, and its deltas."""

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from overt.core.errors import ProviderError
from overt.core.messages import Message, said
from overt.core.requests import Delta, Params, Prefix, Reply, Request
from overt.core.settings import ProviderEntry
from overt.core.text_fragments import HARNESS, USER, Fragment
from overt.providers.http_provider import HttpProvider
from overt.providers.transport.retry import Patience
from overt.providers.wires.openai import OpenAIChat

KEY = "sk-secret-0123456789abcdefghij"
QUICK = Patience(first=0.01, growth=1.0, loopback=0.4, comments=0.5, ending=0.2)

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T], *, within: float = 30.0) -> T:
    async def guarded() -> T:
        async with asyncio.timeout(within):
            return await main

    return asyncio.run(guarded())


def request(*messages: Message, model: str = "fake-model", system: str = "You are a test.") -> Request:
    wire = OpenAIChat()
    prefix = Prefix(system=(Fragment(key="system", text=system, origin=HARNESS),), tools=())
    params = Params(model=model)
    given = messages or (said("hello", origin=USER),)
    stable = (wire.head(prefix, params), *(b"," + wire.message(message) for message in given))
    closing = wire.tail(params)
    length = sum(map(len, stable)) + len(closing)
    return Request(
        prefix=prefix, messages=given, params=params, stable=stable, closing=closing, digest="", length=length
    )


def provider(url: str, *, patience: Patience = QUICK, **settings: Any) -> HttpProvider:
    entry = ProviderEntry(name="fake", base_url=url, api_key_env="FAKE_API_KEY", **settings)
    return HttpProvider(entry, OpenAIChat(max_answer=entry.max_answer), key=KEY, patience=patience)


async def ask(source: HttpProvider, wanted: Request | None = None) -> tuple[list[Delta], ProviderError | None]:
    """Every delta, and the error that ended the stream if one did."""
    deltas: list[Delta] = []
    try:
        async with aclosing(source.stream(wanted or request())) as stream:
            async for delta in stream:
                deltas.append(delta)
    except ProviderError as error:
        return deltas, error
    return deltas, None


async def reply(source: HttpProvider, wanted: Request | None = None) -> Reply:
    deltas, error = await ask(source, wanted)
    if error is not None:
        raise error
    last = deltas[-1]
    assert isinstance(last, Reply)
    return last


def failure(url: str, wanted: Request | None = None, **settings: Any) -> tuple[list[Delta], ProviderError]:
    """Ask once with a provider of its own, and expect it to fail."""

    async def main() -> tuple[list[Delta], ProviderError | None]:
        source = provider(url, **settings)
        try:
            return await ask(source, wanted)
        finally:
            source.close()

    deltas, error = run(main())
    assert error is not None, deltas
    assert KEY not in error.message
    return deltas, error


def bytecode_of_pip() -> dict[str, int]:
    """The compiled modules of the installed pip with their sizes."""
    spec = find_spec("pip")
    assert spec and spec.origin
    return {str(path): path.stat().st_size for path in Path(spec.origin).parent.rglob("*.pyc")}
