"""Watches the messages between the SDK's session and a transport: which requests are open, and lists with faults.

The SDK rejects a whole list if one entry is malformed. Here such entries are taken out before the SDK sees the list.
"""

from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Self

from anyio import EndOfStream
from mcp.client._transport import ReadStream, WriteStream
from mcp.client.session import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId, methods
from pydantic import ValidationError

from overt.mcp.host.running_command import CURRENT, RunningCommand

LIST_KEYS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
ENVELOPE: dict[str, object] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""Fields that a list of 2026-07-28 must have; older revisions ignore them."""
MAX_PROBLEMS = 20


@dataclass(slots=True)
class MessageTap:
    """State shared by the two streams. `problems` say what was taken out of lists since they were last read."""

    on_end: Callable[[], None]
    session: ClientSession | None = None
    problems: list[str] = field(default_factory=list)
    _open: dict[RequestId, tuple[str, RunningCommand | None]] = field(default_factory=dict)

    def pending(self) -> tuple[RequestId, ...]:
        """Return the ids of requests that wait for an answer, without subscriptions, which never get one."""
        return tuple(id for id, (method, _) in self._open.items() if method != "subscriptions/listen")

    def latest_command(self) -> RunningCommand | None:
        """Return the command to which a question of the server belongs, as far as that can be known."""
        commands = [command for _, command in self._open.values() if command]
        return CURRENT.get() or (commands[-1] if commands else None)

    def outgoing(self, item: SessionMessage) -> None:
        if isinstance(item.message, JSONRPCRequest):
            self._open[item.message.id] = (item.message.method, CURRENT.get())
        elif isinstance(item.message, JSONRPCNotification) and item.message.method == "notifications/cancelled":
            self._open.pop((item.message.params or {}).get("requestId", ""), None)

    def sent(self) -> None:
        if command := CURRENT.get():
            command.sent = True

    def incoming(self, item: SessionMessage | Exception) -> None:
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse | JSONRPCError):
            id = item.message.id
            if isinstance(id, str) and id not in self._open and id.isdigit():
                id = int(id)
            method, _ = self._open.pop(id, ("", None)) if id is not None else ("", None)
            if method in LIST_KEYS and isinstance(item.message, JSONRPCResponse):
                item.message.result = self._repair_list(method, item.message.result)

    def take_problems(self) -> tuple[str, ...]:
        problems = tuple(self.problems[:MAX_PROBLEMS])
        if len(self.problems) > MAX_PROBLEMS:
            problems += (f"{len(self.problems) - MAX_PROBLEMS} more",)
        self.problems.clear()
        return problems

    def _repair_list(self, method: str, result: dict[str, object]) -> dict[str, object]:
        version = (self.session and self.session.protocol_version) or "2025-11-25"
        if _is_valid(method, version, result):
            return result
        key = LIST_KEYS[method]
        entries = result.get(key)
        if not isinstance(entries, list):
            return result
        kept = []
        for entry in entries:
            if (valid := _repair_entry(method, version, entry)) is not None:
                kept.append(valid)
            else:
                name = entry.get("name") if isinstance(entry, dict) else None
                self.problems.append(f"{method}: left out {str(name)[:100]!r}, which is malformed")
        cursor = result.get("nextCursor")
        return {**ENVELOPE, key: kept} | ({"nextCursor": cursor} if isinstance(cursor, str) else {})


def _repair_entry(method: str, version: str, entry: object) -> object:
    """Return the entry, with a missing type of its schema filled in, or None if it cannot be used."""
    key = LIST_KEYS[method]
    if _is_valid(method, version, {**ENVELOPE, key: [entry]}):
        return entry
    if isinstance(entry, dict) and method == "tools/list":
        schema = entry.get("inputSchema")
        repaired = entry | {"inputSchema": (schema if isinstance(schema, dict) else {}) | {"type": "object"}}
        repaired.pop("outputSchema", None)
        if _is_valid(method, version, {**ENVELOPE, key: [repaired]}):
            return repaired
    return None


def _is_valid(method: str, version: str, result: dict[str, object]) -> bool:
    try:
        methods.parse_server_result(method, version, result)
    except KeyError:
        return True
    except (ValidationError, RecursionError):
        return False
    return True


class TappedReader:
    """The read stream for the session. `last_context` is where the SDK looks for the context of a message."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], tap: MessageTap) -> None:
        self._inner = inner
        self._tap = tap

    @property
    def last_context(self) -> Context | None:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        item = await self._inner.receive()
        self._tap.incoming(item)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except (EndOfStream, StopAsyncIteration):
            self._tap.on_end()
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class TappedWriter:
    """The write stream for the session."""

    def __init__(self, inner: WriteStream[SessionMessage], tap: MessageTap) -> None:
        self._inner = inner
        self._tap = tap

    async def send(self, item: SessionMessage) -> None:
        self._tap.outgoing(item)
        await self._inner.send(item)
        self._tap.sent()

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
