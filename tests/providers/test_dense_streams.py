"""A stream of many small pieces is read with pauses, so that one reading finds several of them."""

import asyncio
import json

import pytest
from tests.providers.provider_kit import ask, request, run

from overt.core.requests import Delta, Reply, TextDelta
from overt.core.settings import ProviderEntry
from overt.providers.http_provider import HttpProvider
from overt.providers.transport import attempt as _attempt
from overt.providers.transport.attempt import DENSE, MUCH, PAUSE
from overt.providers.transport.client import Outgoing
from overt.providers.wires.openai import OpenAIChat

MEANWHILE = 5


def event(text: str, finish: str | None = None) -> bytes:
    return (
        b"data: " + json.dumps({"choices": [{"delta": {"content": text}, "finish_reason": finish}]}).encode() + b"\n\n"
    )


class Dripping:
    """One event for each reading, and as many as come meanwhile for each pause."""

    status = 200
    resent = 0

    def __init__(self, *events: bytes) -> None:
        self.headers = {"content-type": "text/event-stream"}
        self.paused: list[float] = []
        self._events = list(events)
        self._more = 0

    async def send(self, _request: Outgoing, *, connect_within: float, answer_within: float) -> "Dripping":
        return self

    async def read(self, _until: float) -> bytes | None:
        count, self._more = 1 + self._more, 0
        taken, self._events = self._events[:count], self._events[count:]
        return b"".join(taken)

    async def sleep(self, seconds: float) -> None:
        self.paused.append(seconds)
        self._more = MEANWHILE

    def finish(self) -> None: ...
    def close(self) -> None: ...


def streamed(server: Dripping, monkeypatch: pytest.MonkeyPatch) -> list[Delta]:
    """Read on a clock that stands still."""
    monkeypatch.setattr(_attempt, "_now", lambda: 0.0)
    monkeypatch.setattr(asyncio, "sleep", server.sleep)
    entry = ProviderEntry(name="fake", base_url="http://127.0.0.1:1/v1")
    deltas, error = run(ask(HttpProvider(entry, OpenAIChat(), key=None, transport=server), request()))
    assert error is None
    return deltas


def texts(deltas: list[Delta]) -> list[str]:
    return [delta.text for delta in deltas if isinstance(delta, TextDelta)]


def test_after_a_few_small_pieces_they_are_read_together_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Dripping(*(event(f"{number} ") for number in range(20)), event("end", "stop"), b"data: [DONE]\n\n")

    deltas = streamed(server, monkeypatch)

    alone = [f"{number} " for number in range(DENSE + 1)]
    assert texts(deltas) == [*alone, "9 10 11 12 13 14 ", "15 16 17 18 19 end"]
    assert server.paused == [PAUSE, PAUSE]
    last = deltas[-1]
    assert isinstance(last, Reply)
    assert last.finish == "stop"


def test_a_short_reply_and_large_pieces_are_never_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Dripping(*(event("x") for _ in range(DENSE)), event("y", "stop"), b"data: [DONE]\n\n")
    large = Dripping(*(event("x" * MUCH) for _ in range(DENSE * 3)), event("y", "stop"), b"data: [DONE]\n\n")

    assert texts(streamed(short, monkeypatch)) == [*("x" for _ in range(DENSE)), "y"]
    assert len("".join(texts(streamed(large, monkeypatch)))) == MUCH * DENSE * 3 + 1
    assert (short.paused, large.paused) == ([], [])
