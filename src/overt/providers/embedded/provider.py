"""The embedded model: a server that is a child of this process, spoken to over the chat wire.

It is started when the conversation begins, so that it loads while the person types, serves every turn, and ends
with the provider. One that died is started again at the next request. What it has read of a first request is kept
in a file, so that the next run does not have to read the same beginning again.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib.util import find_spec
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from msgspec.structs import replace

from overt.core.errors import ConfigError, ProviderError
from overt.core.protocols import Wire
from overt.core.requests import Delta, Params, Prefix, Reply, Request, RetryDelta, WaitDelta
from overt.core.settings import ModelFacts, ProviderEntry
from overt.lib.logs.background import log_failure
from overt.providers.embedded.server_process import ServerProcess
from overt.providers.embedded.weights import (
    CONTEXT,
    LEAST_CONTEXT,
    WEIGHTS,
    Weights,
    context_for,
    find_weights,
    free_memory,
    mark_used,
    models_folder,
    threads,
)
from overt.providers.http_provider import HttpProvider
from overt.providers.transport.attempt import HttpWire

if TYPE_CHECKING:
    from overt.providers.embedded.server_program import ServerArguments

SCHEME = "file://"
POLL = 0.02
LONGEST_ANSWER = 2048


def installed_weights(cache_dir: str) -> ProviderEntry | None:
    """The entry for the weights that are on this machine; None when there are none or nothing to run them with."""
    folder = models_folder(cache_dir)
    here = tuple(each for each in WEIGHTS if each.here(folder))
    if not here or not is_runnable():
        return None
    return ProviderEntry(
        name="local",
        kind="local",
        base_url=SCHEME + folder,
        models=tuple(each.name for each in here),
        known=tuple(_facts(each) for each in here),
    )


def is_runnable() -> bool:
    """Whether the library that runs weights is installed; it is not imported here."""
    return find_spec("xllamacpp") is not None


def make(entry: ProviderEntry, key: str | None, model: str = "") -> "LocalProvider":
    """The provider for weights below the folder that the entry's `base_url` names as file://FOLDER."""
    if not entry.base_url.startswith(SCHEME + "/"):
        raise ConfigError(f"provider {entry.name}: base_url of kind local is the folder of the weights, file:///FOLDER")
    folder = entry.base_url.removeprefix(SCHEME)
    installed = next((each.name for each in WEIGHTS if each.here(folder)), "")
    weights = find_weights(model or entry.model or entry.default or installed, place=f"provider {entry.name}: ")
    return LocalProvider(entry, weights, folder=folder)


class LocalProvider:
    """A Provider whose server is its own child."""

    def __init__(self, entry: ProviderEntry, weights: Weights, *, folder: str) -> None:
        self.name = entry.name
        from overt.providers.wires.openai import OpenAIChat  # late: 0.8 ms

        self._wire: HttpWire = OpenAIChat(entry.facts(weights.name), max_answer=entry.max_answer)
        self.wire: Wire = self._wire
        self._entry = entry
        self._weights = weights
        self._folder = folder
        self._child: ServerProcess | None = None
        self._closed = False
        self._priming: asyncio.Task[None] | None = None

    def warm(self, head: bytes = b"") -> None:
        """Start the server; with `head`, the beginning that every request will have, let it be read as well."""
        try:
            self._started()
        except ProviderError:
            return  # the first request says it
        if head and self._priming is None:
            self._priming = asyncio.ensure_future(self._prime(head))
            self._priming.add_done_callback(log_failure("embedded model"))

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """What is being read for all requests is read first: it would else be read twice."""
        priming = self._priming
        if priming is not None and not priming.done():
            await asyncio.wait({priming}, timeout=self._entry.timeouts.notice)
            if not priming.done():
                yield WaitDelta(seconds=self._entry.timeouts.notice)
                await asyncio.wait({priming})
        async with aclosing(self._stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def _stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        if notice := self._exit_notice():
            yield RetryDelta(attempt=1, attempts=1, wait=0.0, reason=notice)
        child = self._started()
        async with aclosing(self._ready(child)) as waits:
            async for wait in waits:
                yield wait
        provider = self._provider(child)
        try:
            async with aclosing(provider.stream(request)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, Reply):
                        child.keep(delta.usage.input, delta.usage.cached)
                    yield delta
        except ProviderError as error:
            raise await self._explained(child, error) from None

    async def models(self) -> tuple[str, ...]:
        return tuple(each.name for each in WEIGHTS if each.here(self._folder))

    async def balance(self) -> str:
        return ""

    def close(self) -> None:
        """End the server for good; it is gone when this returns, and no request starts another."""
        self._closed = True
        if self._priming is not None:
            self._priming.cancel()
            self._priming = None
        if self._child is not None:
            self._end(self._child)

    @property
    def pid(self) -> int:
        """The process of the server, 0 when none runs."""
        return self._child.process.pid if self._child is not None else 0

    def _started(self) -> ServerProcess:
        if self._closed:
            raise _closed_error()
        if self._child is None:
            try:
                self._child = ServerProcess(self._arguments(), self._slot())
                mark_used(self._weights.path(self._folder))
            except OSError as error:
                why = error.strerror or type(error).__name__
                raise ProviderError(f"The embedded model's server could not be started: {why}.", kind="down") from None
        return self._child

    def _end(self, child: ServerProcess) -> None:
        """End a process, if it is the one in use: an earlier one that died must not end the one that replaced it."""
        if self._child is child:
            self._child = None
            child.end()

    def _arguments(self) -> "ServerArguments":
        """What the child has to know, or an error that says what is missing."""
        weights, library = self._weights, find_spec("xllamacpp")
        if library is None or not library.origin:
            raise ProviderError(
                "The embedded model needs xllamacpp, which is not installed: pip install 'overt[local]'.", kind="down"
            )
        if not weights.here(self._folder):
            raise ProviderError(
                f"The weights of {weights.name} are not on this machine: overt models fetch {weights.name}.",
                kind="model",
            )
        context = context_for(weights)
        if not context:
            raise ProviderError(_too_big(weights), kind="down")
        return {
            "path": weights.path(self._folder),
            "name": weights.name,
            "token": token_urlsafe(32),
            "context": min(context, self._entry.facts(weights.name).window or CONTEXT),
            "threads": threads(),
            "slot": self._slot(),
            "library": os.path.dirname(os.path.dirname(library.origin)),
            "parent": os.getpid(),
        }

    def _slot(self) -> str:
        return os.path.join(self._folder, f"{self._weights.name}-{self._weights.sha256[:8]}.context")

    def _exit_notice(self) -> str:
        """Why the previous server process exited unexpectedly; empty if it did not."""
        if self._child is None or self._child.process.poll() is None:
            return ""
        notice = f"The embedded model's server had ended ({self._child.death()}) and is started again."
        self._end(self._child)
        return notice

    async def _ready(self, child: ServerProcess) -> AsyncGenerator[Delta, None]:
        """Until it listens; a notice when that takes long."""
        now = asyncio.get_running_loop().time
        began, noticed = now(), False
        while not child.heard():
            if self._closed:
                raise _closed_error()
            if child.process.poll() is not None and not child.heard():
                raise self._start_failure(child, child.death(), forget=child.crashed)
            waited = now() - began
            if waited > self._entry.timeouts.notice and not noticed:
                noticed = True
                yield WaitDelta(seconds=self._entry.timeouts.notice)
            if waited > 600.0:
                raise self._start_failure(child, "it did not listen within 600 s", forget=True)
            await asyncio.sleep(POLL)
        if not child.port:
            raise self._start_failure(child, child.failure)

    def _start_failure(self, child: ServerProcess, why: str, *, forget: bool = False) -> ProviderError:
        if forget and self._child is child:
            child.forget()
        self._end(child)
        return ProviderError(
            f"The embedded model's server did not start: {why}. If the weights may be damaged, get them again: "
            f"overt models fetch {self._weights.name}.",
            kind="down",
        )

    def _provider(self, child: ServerProcess) -> HttpProvider:
        if child.provider is None:
            entry = replace(self._entry, kind="openai", base_url=f"http://127.0.0.1:{child.port}/v1", attempts=1)
            child.provider = HttpProvider(entry, self._wire, key=child.token)
        return child.provider

    async def _explained(self, child: ServerProcess, error: ProviderError) -> ProviderError:
        """A dying server closes its connections before its end can be seen."""
        for _ in range(25):
            if self._closed:
                return _closed_error()
            if child.process.poll() is not None:
                words = (
                    f"The embedded model's server ended in the middle of its work ({child.death()}). "
                    "The next request starts it again."
                )
                self._end(child)
                return ProviderError(words, kind="cut" if error.kind == "cut" else "down")
            if error.kind not in ("cut", "down"):
                break
            await asyncio.sleep(POLL)
        return error

    async def _prime(self, head: bytes) -> None:
        """One word of a reply to nothing: what counts is that the head has been read, and is kept."""
        separator = b"" if head.endswith(b"[") else b","
        request = Request(
            prefix=Prefix(system=(), tools=()),
            messages=(),
            params=Params(model=self._weights.name, max_tokens=1),
            stable=(head + separator,),
            closing=b'{"role":"user","content":"."}],"max_tokens":1}',
            digest="",
            length=0,
        )
        try:
            async with aclosing(self._stream(request)) as deltas:
                async for _ in deltas:
                    pass
        except ProviderError:
            pass  # whoever sends the first request is told


def _facts(weights: Weights) -> ModelFacts:
    return ModelFacts(
        name=weights.name,
        window=context_for(weights) or CONTEXT,
        output=LONGEST_ANSWER,
        images=False,
        documents=False,
        reasons=False,
        calls="schema",
        compact=True,
    )


def _closed_error() -> ProviderError:
    return ProviderError("The embedded model was closed; a new conversation starts it again.", kind="down")


def _too_big(weights: Weights) -> str:
    smaller = [each for each in WEIGHTS if each.size < weights.size and context_for(each)]
    way = f" {smaller[0].name} would fit: --model local/{smaller[0].name}." if smaller else ""
    return (
        f"Not enough memory for {weights.name}: it needs {weights.memory(LEAST_CONTEXT) / 1e9:.1f} GB, and "
        f"{(free_memory() or 0) / 1e9:.1f} GB are free. Close other programs or use a server.{way}"
    )
