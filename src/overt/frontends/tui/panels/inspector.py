"""One panel on the alternate screen: painted after every key and every answer, asked for what it wants, closed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from overt.frontends.tui.panels.pager import PanelInputs, PanelRequest, Screenful
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row

ENDING = ("close", "slash")
"""Requests with which a panel is over; for `slash` the chat then runs the text as if it had been typed."""
ACTING = ("stop", "revoke", "agent_stop", "agent_steer", "agent_fork")
"""Requests that change something: none takes the place of another that waits."""


class Panel(Protocol):
    """A state machine without I/O. What `load` asks for is fetched when it opens and `every` so many seconds."""

    every: float

    def load(self) -> list[PanelRequest]: ...
    def press(self, key: Key) -> list[PanelRequest]: ...
    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]: ...
    def failed(self, request: PanelRequest, words: str) -> None: ...
    def draw(self, columns: int, lines: int) -> Screenful: ...


MakePanel = Callable[[PanelInputs], Panel]


class Full(Protocol):
    """What of a terminal an inspector needs."""

    @property
    def columns(self) -> int: ...
    @property
    def lines(self) -> int: ...
    def open_full(self, *, mouse: bool = False) -> None: ...
    def close_full(self) -> None: ...
    def show_full(self, rows: Sequence[Row], cursor: tuple[int, int] | None) -> None: ...


def open_panel(name: str, inputs: PanelInputs, extra: Mapping[str, MakePanel] = {}) -> Panel:
    """Make a panel: one of another package, or that of the module `panels/NAME`."""
    from overt.lib.module_discovery import find_module  # late: 0.2 ms

    if name in extra:
        return extra[name](inputs)
    module = find_module("overt.frontends.tui.panels", name)
    if module is None or not hasattr(module, "make"):
        raise KeyError(name)
    make: MakePanel = module.make
    return make(inputs)


class Inspector:
    """What the chat drives. Requests go to `carry`, which must not block: what came of one is brought to `receive` or
    `failed` later. Of each kind one is on its way at a time, and the newest of those that wait follows it."""

    def __init__(
        self, panel: Panel, terminal: Full, carry: Callable[[PanelRequest], None], *, mouse: bool = False
    ) -> None:
        self._panel = panel
        self._terminal = terminal
        self._carry = carry
        self._mouse = mouse
        self._flying: dict[str, PanelRequest] = {}
        self._waiting: dict[str, PanelRequest] = {}
        self._ticked = 0.0
        self.closed = True

    def open(self, now: float) -> None:
        self._terminal.open_full(mouse=self._mouse)
        self.closed = False
        self._ticked = now
        requests = self._panel.load()
        self.show()
        self._send(requests)

    def show(self) -> None:
        """Paint it: also after the terminal was resized."""
        if not self.closed:
            columns, lines = self._terminal.columns, self._terminal.lines
            self._terminal.show_full(*self._panel.draw(columns, lines))

    def press(self, key: Key) -> None:
        if self.closed:
            return
        requests = self._panel.press(key)
        if any(request.kind in ENDING for request in requests):
            self.close()
        self.show()
        self._send(requests)

    def receive(self, request: PanelRequest, value: object) -> None:
        """What a request came to; an answer that comes too late is nobody's."""
        if self.closed:
            return
        self._flying.pop(request.kind, None)
        requests = self._panel.receive(request, value)
        self.show()
        self._send(requests)
        self._follow(request.kind)

    def failed(self, request: PanelRequest, words: str) -> None:
        """A request that came to nothing, and why in words."""
        if self.closed:
            return
        self._flying.pop(request.kind, None)
        self._panel.failed(request, words)
        self.show()
        self._follow(request.kind)

    def due(self) -> float | None:
        """When `tick` is to be called next; None: never, so that nothing has to wake up."""
        return None if self.closed or not self._panel.every else self._ticked + self._panel.every

    def tick(self, now: float) -> None:
        due = self.due()
        if due is not None and now >= due:
            self._ticked = now
            requests = [request for request in self._panel.load() if request.kind not in self._flying]
            self._send(requests)

    def close(self) -> None:
        """Back to the scrollback; for requests that end a panel it is closed before they are carried out."""
        if not self.closed:
            self.closed = True
            self._terminal.close_full()

    def _send(self, requests: list[PanelRequest]) -> None:
        for request in requests:
            if request.kind in self._flying:
                self._waiting[request.kind] = request
                if request == self._flying[request.kind]:
                    del self._waiting[request.kind]
                continue
            if request.kind not in (*ENDING, *ACTING):
                self._flying[request.kind] = request
            self._carry(request)

    def _follow(self, kind: str) -> None:
        if kind not in self._flying and (waiting := self._waiting.pop(kind, None)):
            self._send([waiting])
