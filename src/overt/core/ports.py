"""Interfaces with several real implementations, which higher rooms hold without knowing which one."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from overt.core.effects import Effect
from overt.core.events import Event, PermissionAsked
from overt.core.messages import Message
from overt.core.requests import Delta, Params, Prefix, Reply, Request


class Decoder(Protocol):
    """The state of one reply as its events arrive. Deltas of one feed are merged: one text, not many."""

    def feed(self, payload: bytes) -> None:
        """Take the data of one event; a payload that is not JSON raises ValueError."""
        ...

    def take(self) -> list[Delta]:
        """What has come since the last take."""
        ...

    def end(self) -> Reply:
        """The whole reply, or a ProviderError when the wire's own end-of-stream rule was not met."""
        ...


class Wire(Protocol):
    """Pure encode and decode of one wire. The body is head + messages joined by commas + tail."""

    name: str
    version: int

    def head(self, prefix: Prefix, params: Params) -> bytes: ...
    def message(self, message: Message) -> bytes: ...
    def tail(self, params: Params) -> bytes: ...
    def decoder(self) -> Decoder: ...


class Provider(Protocol):
    """One endpoint of one vendor. `stream` ends with a Reply or raises ProviderError; closing it aborts."""

    name: str
    wire: Wire

    def stream(self, request: Request) -> AsyncGenerator[Delta, None]: ...
    async def models(self) -> tuple[str, ...]: ...
    def close(self) -> None:
        """Let go of what waits for the next request."""
        ...


class Answer(Struct, frozen=True, kw_only=True):
    """`once` and `always` allow; `reason` of a denial goes to the model."""

    choice: Literal["once", "always", "deny"]
    reason: str = ""


class Asker(Protocol):
    async def ask(self, question: PermissionAsked) -> Answer: ...


class Journal:
    """What a call did through its capabilities, collected for the record."""

    def __init__(self) -> None:
        self.facts: list[Event] = []
        self.seen: dict[str, str] = {}


class Loan(Struct, frozen=True, kw_only=True):
    """Capabilities lent to one call, by parameter name, and the journal they write to."""

    capabilities: dict[str, Any]
    journal: Journal


class Hands(Protocol):
    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
    ) -> Loan:
        """With `preview`, writing only collects what would change; running is refused."""
        ...


class Profile(Struct, frozen=True, kw_only=True):
    """What a program may touch. Until a sandbox stands, every profile runs without walls and says so."""

    name: str = "command"
    writable: tuple[str, ...] = ()
    network: bool = True


class Child(Protocol):
    """A started program. Reading its output and waiting for it are separate; `kill` ends all descendants.

    `output` does not block. `left` counts what the program had left running and was ended after it.
    """

    pid: int
    output: int
    left: int

    async def wait(self) -> int:
        """The exit code, negative for a signal, once the program and all its descendants are gone."""
        ...

    async def kill(self, *, grace: float = 0.0) -> None: ...

    def close(self) -> None:
        """Let go of it and of `output`; what still runs is killed."""
        ...


class Spawner(Protocol):
    async def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], profile: Profile, linger: bool = False
    ) -> Child:
        """Start a program in its own session, stdin closed, stdout and stderr joined into `output`.

        With `linger`, what it leaves running lives on and is waited for: a declared background job.
        """
        ...

    async def close(self) -> None: ...
