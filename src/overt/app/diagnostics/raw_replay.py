"""`overt replay --raw`: decode a saved reply again with the decoder of its wire."""

import asyncio
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from overt.app.diagnostics.crash import prepare_log
from overt.core.errors import OvertError
from overt.core.requests import Delta
from overt.lib.logs.log import LOG
from overt.lib.logs.raw_replies import RawReply, load_reply
from overt.lib.logs.tracebacks import describe_error, summarize
from overt.providers.saved_reply import decode_saved
from overt.providers.wires import WireKind

BLOCK_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class DecodedReply(Struct, frozen=True, kw_only=True):
    """`steps` are the deltas, each with the byte and the number of the event that completed it.

    `error` is empty if the reply was decoded; `byte` and `event` say where decoding ended.
    """

    reply: RawReply
    steps: tuple[tuple[int, int, Delta], ...]
    byte: int
    event: int
    error: str = ""
    traceback: tuple[str, ...] = ()


async def replay_reply(path: str, wires: Sequence[WireKind] = ()) -> DecodedReply:
    prepare_log()
    reply = load_reply(path)
    blocks = _Blocks(reply.data)
    steps: list[tuple[int, int, Delta]] = []

    async def decode() -> None:
        for delta in decode_saved(reply, blocks, wires):
            steps.append((blocks.byte, blocks.event, delta))

    task = asyncio.ensure_future(decode())
    await asyncio.wait([task])
    error = task.exception()
    return DecodedReply(
        reply=reply,
        steps=tuple(steps),
        byte=blocks.byte,
        event=blocks.event,
        error=summarize(error, LOG.clean) if error else "",
        traceback=tuple(describe_error(error, LOG.clean)) if error and not isinstance(error, OvertError) else (),
    )


class _Blocks:
    """The events of a stream one by one; `byte` and `event` are the place of the last one that was handed out."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.byte = self.event = 0

    def __iter__(self) -> Iterator[bytes]:
        while self.byte < len(self._data):
            end = BLOCK_END.search(self._data, self.byte)
            start, self.byte = self.byte, end.end() if end else len(self._data)
            self.event += 1
            yield self._data[start : self.byte]
