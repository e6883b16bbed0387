"""A provider that plays replies from a file, in order: for tests, demonstrations and replay.

The file is a JSON list of replies, an object with that list under `replies`, or one reply per line:

    {"text": "…", "reasoning": "…", "calls": [{"name": "read", "arguments": {"path": "a.py"}}],
     "usage": {"input": 10, "output": 3}, "delay_ms": 0, "chunk": 16}
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from msgspec import Struct, convert

from overt.core.codec import compact, decode
from overt.core.errors import ConfigError, ProviderError
from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.protocols import Wire
from overt.core.requests import CallDelta, Delta, Finish, ReasoningDelta, Reply, Request, TextDelta
from overt.core.settings import ProviderEntry
from overt.core.spending.usage import Usage


class ScriptedCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    arguments: Any = {}
    id: str = ""


class ScriptedReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`chunk` is how many characters come at once (0: all), `delay_ms` the pause before each of them."""

    text: str = ""
    reasoning: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    usage: Usage = Usage()
    delay_ms: float = 0.0
    chunk: int = 0
    finish: Finish | None = None


class ScriptedProvider:
    def __init__(self, name: str, replies: tuple[ScriptedReply, ...], *, wire: Wire) -> None:
        self.name = name
        self.wire = wire
        self._replies = replies
        self._next = 0

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        number, self._next = self._next, self._next + 1
        if number >= len(self._replies):
            raise ProviderError(
                f"The script of provider {self.name} is over: it has {len(self._replies)} replies, "
                f"and reply {number + 1} was asked for.",
                kind="script",
            )
        reply = self._replies[number]
        pause = reply.delay_ms / 1000
        for piece in _pieces(reply.reasoning or "", reply.chunk):
            await asyncio.sleep(pause)
            yield ReasoningDelta(text=piece)
        for piece in _pieces(reply.text, reply.chunk):
            await asyncio.sleep(pause)
            yield TextDelta(text=piece)
        calls = tuple(_call(call, number, index) for index, call in enumerate(reply.calls))
        for index, call in enumerate(calls):
            yield CallDelta(index=index, name=call.name, characters=len(call.arguments), ready=index)
        await asyncio.sleep(pause)
        yield Reply(
            parts=_parts(reply, calls),
            finish=reply.finish or ("calls" if calls else "stop"),
            usage=reply.usage,
            model=request.params.model,
        )

    async def models(self) -> tuple[str, ...]:
        return ("scripted",)

    async def balance(self) -> str:
        return ""

    def warm(self, head: bytes = b"") -> None:
        """Nothing is to be got ready."""

    def close(self) -> None:
        """Nothing is held."""


def make(entry: ProviderEntry, key: str | None, model: str = "") -> ScriptedProvider:
    """`base_url` is the path of the script, plain or as `file:…`; no key is needed."""
    path = entry.base_url.removeprefix("file://").removeprefix("file:")
    place = f"provider {entry.name}: script {path or '(none)'}"
    try:
        with open(path, "rb") as script:
            data = script.read()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"{place}: {reason}. base_url names a file of replies.") from None
    from overt.providers.wires.openai import OpenAIChat  # late: 1.4 ms

    wire: Wire = OpenAIChat(max_answer=entry.max_answer)
    return ScriptedProvider(entry.name, read_script(data, place=place), wire=wire)


def read_script(data: bytes, *, place: str) -> tuple[ScriptedReply, ...]:
    try:
        return convert(_items(data), tuple[ScriptedReply, ...])
    except ValueError as error:
        raise ConfigError(f"{place}: expected a JSON list of replies or one reply per line; {error}") from None


def _items(data: bytes) -> object:
    try:
        whole = decode(data)
    except ValueError:
        return [decode(line) for line in data.splitlines() if line.strip()]
    if isinstance(whole, dict):
        return whole.get("replies", [whole])
    return whole


def _parts(reply: ScriptedReply, calls: tuple[Call, ...]) -> tuple[Part, ...]:
    parts: list[Part] = []
    if reply.reasoning is not None:
        parts.append(Reasoning(text=reply.reasoning))
    if reply.text:
        parts.append(Text(text=reply.text))
    return (*parts, *calls)


def _call(call: ScriptedCall, number: int, index: int) -> Call:
    arguments = call.arguments if isinstance(call.arguments, str) else compact(call.arguments)
    return Call(id=call.id or f"call_{number}_{index}", name=call.name, arguments=arguments)


def _pieces(text: str, size: int) -> list[str]:
    if not text:
        return []
    return [text[at : at + size] for at in range(0, len(text), size)] if size > 0 else [text]
