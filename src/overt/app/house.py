"""What a conversation needs of whoever built it, and where it stands when it is opened."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from overt.app.setting import Setting
from overt.core.errors import ProviderError
from overt.core.events import (
    Compacted,
    Event,
    Noticed,
    PermissionDecided,
    PrefixSet,
    Replied,
    RequestSent,
    ToolFinished,
)
from overt.core.history import History, Mark
from overt.core.messages import Call, Message
from overt.core.ports import UnsavedEntry
from overt.engine.agent import Agent


class Recorder(Protocol):
    """Where facts go. `append` never raises for a full disk: it keeps trying and tells of it beside."""

    def append(self, event: Event, *, turn: int, step: int) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> tuple[UnsavedEntry, ...]: ...


class Switch(Struct, frozen=True, kw_only=True):
    """The same model led another way, and the words that tell of it."""

    agent: Agent
    opening: PrefixSet
    said: str


class House(Protocol):
    """What a conversation needs of whoever built it.

    `troubles` is where the recorder tells of its own: a full disk, say. `choose` finds the agent for another
    model, `otherwise` another way to call tools when the server refused this one. `warm` gets a tool ready while
    its call still streams, `rest` lets go of it between turns, and `finish` ends what was started for them. `refer`
    gives what a prompt points at, `book` enters what a request cost into the ledger. `settled` calls `then` once
    everything is recorded that the calls of a turn have done.
    """

    troubles: deque[Noticed]

    def warm(self, tool: str) -> None: ...
    def rest(self) -> None: ...
    def redact(self, text: str) -> str: ...
    async def choose(self, reference: str, effort: str | None = None) -> tuple[Agent, PrefixSet]: ...
    async def title(self, prompt: str, record: Callable[[Event], None]) -> None: ...
    def otherwise(self, error: ProviderError) -> Switch | None: ...
    async def refer(self, prompt: str) -> tuple[Message, ...]: ...
    def book(self, event: RequestSent | Replied | Compacted, *, turn: int, step: int) -> None: ...
    async def settled(self, then: Callable[[], None]) -> None: ...
    async def finish(self) -> None: ...


class Standing(Struct, frozen=True, kw_only=True):
    """Where a conversation stands when it is opened, new or resumed; `offline` says why nothing leaves the machine.

    `setting` is the configuration that it was opened with, flags included.
    """

    id: str
    setting: Setting
    path: str = ""
    history: History = History()
    healing: tuple[ToolFinished, ...] = ()
    marks: tuple[Mark, ...] = ()
    turn: int = 0
    window: int = 0
    mode: str = ""
    prefix: PrefixSet | None = None
    notices: tuple[str, ...] = ()
    offline: str = ""


class Denial(Struct, frozen=True, kw_only=True):
    """A call that was denied, and who decided so."""

    call: Call
    reason: str
    decided: PermissionDecided
