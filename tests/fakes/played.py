"""A provider in memory for tests of the loop: replies are given as parts, requests are kept."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from overt.core.codec import compact
from overt.core.errors import ProviderError
from overt.core.messages import Call, Part, Text
from overt.core.protocols import Wire
from overt.core.requests import Delta, Reply, Request, TextDelta
from overt.core.spending.usage import Usage
from overt.providers.wires.openai import OpenAIChat

Played = Reply | ProviderError | Callable[[Request], Reply]


def says(text: str, *calls: Call, finish: Any = None) -> Reply:
    parts: tuple[Part, ...] = (*((Text(text=text),) if text else ()), *calls)
    return Reply(parts=parts, finish=finish or ("calls" if calls else "stop"), usage=Usage(input=10, output=2))


def call(name: str, id: str = "", **arguments: Any) -> Call:
    return Call(id=id or f"c-{name}", name=name, arguments=compact(arguments))


class Player:
    """`hang` makes the stream wait for ever after its first delta."""

    name = "played"

    def __init__(self, replies: Sequence[Played], *, hang: bool = False) -> None:
        self.wire: Wire = OpenAIChat()
        self.requests: list[Request] = []
        self._replies = list(replies)
        self._hang = hang

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, ProviderError):
            yield TextDelta(text="half a ")
            raise reply
        if not isinstance(reply, Reply):
            reply = reply(request)
        for part in reply.parts:
            if isinstance(part, Text):
                yield TextDelta(text=part.text)
                await asyncio.sleep(0.005)  # as a network would: let the other side see it
        if self._hang:
            await asyncio.sleep(3600)
        yield reply

    async def models(self) -> tuple[str, ...]:
        return ("played-1",)

    async def balance(self) -> str:
        return ""

    def warm(self, head: bytes = b"") -> None:
        pass

    def close(self) -> None:
        pass
