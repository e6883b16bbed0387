"""What a session starts with: where it is recorded and its state when it is opened."""

from typing import Protocol

from msgspec import Struct

from overt.app.setting import Setting
from overt.core.events import Event, PermissionDecided
from overt.core.history import History, Mark
from overt.core.messages import Call
from overt.core.ports import UnsavedEntry
from overt.core.spending.spend import Spend


class Recorder(Protocol):
    """Where events are recorded. `append` never raises for a full disk: it keeps trying and reports it elsewhere."""

    def append(self, event: Event, *, turn: int, step: int) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> tuple[UnsavedEntry, ...]: ...


class OpeningState(Struct, frozen=True, kw_only=True):
    """The state of a session when it is opened, new or resumed.

    `setting` is the configuration that it was opened with, flags included; `path` is empty if it is not recorded.
    """

    id: str
    setting: Setting
    path: str = ""
    history: History = History()
    marks: tuple[Mark, ...] = ()
    turn: int = 0
    mode: str = ""
    spend: Spend = Spend()


class Denial(Struct, frozen=True, kw_only=True):
    """A call that was denied, and who decided so."""

    call: Call
    reason: str
    decided: PermissionDecided
