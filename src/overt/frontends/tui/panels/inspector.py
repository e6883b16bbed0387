"""One panel on the alternate screen: painted after every key and every answer, asked for what it wants, closed."""

from collections.abc import Callable, Sequence
from typing import Protocol

from overt.app.command import Command
from overt.frontends.tui.panels.pager import Kind, Lay, Screenful, Wish, Wishes
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row

ENDING = ("close", "slash")
"""Wishes with which a panel is over; for `slash` the chat then runs the text as if it had been typed."""
ACTING = ("stop", "revoke")
"""Wishes that change something: none takes the place of another that waits."""
NAMES = ("context", "jobs", "todos", "sessions", "rewind", "models", "permissions", "help", "details", "diff")


class Panel(Protocol):
    """A state machine without I/O. `every`: seconds between two ticks, 0 for none."""

    every: float

    def first(self) -> Wishes: ...
    def press(self, key: Key) -> Wishes: ...
    def given(self, wish: Wish, value: object) -> Wishes: ...
    def failed(self, wish: Wish, words: str) -> None: ...
    def tick(self) -> Wishes: ...
    def draw(self, columns: int, lines: int) -> Screenful: ...


class Full(Protocol):
    """What of a terminal an inspector needs."""

    @property
    def columns(self) -> int: ...
    @property
    def lines(self) -> int: ...
    def open_full(self, *, mouse: bool = False) -> None: ...
    def close_full(self) -> None: ...
    def show_full(self, rows: Sequence[Row], cursor: tuple[int, int] | None) -> None: ...


def open_panel(name: str, *, details: Lay | None = None, commands: Sequence[Command] = ()) -> Panel:
    """Make a panel. `details` makes the rows of the panel of that name; `commands` are what the help panel lists."""
    match name:
        case "details":
            from overt.frontends.tui.panels.texts import details as make_details  # late: 11 ms

            return make_details(details)
        case "context":
            from overt.frontends.tui.panels.context import ContextPanel  # late: 7 ms

            return ContextPanel()
        case "diff":
            from overt.frontends.tui.panels.texts import DiffPanel  # late: 11 ms

            return DiffPanel()
        case "help":
            from overt.frontends.tui.panels.help import HelpPanel  # late: 1.0 ms

            return HelpPanel(commands)
        case "jobs":
            from overt.frontends.tui.panels.jobs import JobsPanel  # late: 5 ms

            return JobsPanel()
        case "models":
            from overt.frontends.tui.panels.models import ModelsPanel  # late: 5 ms

            return ModelsPanel()
        case "permissions":
            from overt.frontends.tui.panels.permissions import PermissionsPanel  # late: 5 ms

            return PermissionsPanel()
        case "rewind":
            from overt.frontends.tui.panels.rewind import RewindPanel  # late: 13 ms

            return RewindPanel()
        case "sessions":
            from overt.frontends.tui.panels.sessions import SessionsPanel  # late: 5 ms

            return SessionsPanel()
        case "todos":
            from overt.frontends.tui.panels.texts import TodosPanel  # late: 11 ms

            return TodosPanel()
        case _:
            raise KeyError(name)


class Inspector:
    """What the chat drives. Wishes go to `carry`, which must not block: what came of one is brought to `given` or
    `failed` later. Of each kind one is on its way at a time, and the newest of those that wait follows it."""

    def __init__(self, panel: Panel, terminal: Full, carry: Callable[[Wish], None], *, mouse: bool = False) -> None:
        self._panel = panel
        self._terminal = terminal
        self._carry = carry
        self._mouse = mouse
        self._flying: dict[Kind, Wish] = {}
        self._waiting: dict[Kind, Wish] = {}
        self._ticked = 0.0
        self.closed = True

    def open(self, now: float) -> None:
        self._terminal.open_full(mouse=self._mouse)
        self.closed = False
        self._ticked = now
        wishes = self._panel.first()
        self.show()
        self._send(wishes)

    def show(self) -> None:
        """Paint it: also after the terminal was resized."""
        if not self.closed:
            columns, lines = self._terminal.columns, self._terminal.lines
            self._terminal.show_full(*self._panel.draw(columns, lines))

    def press(self, key: Key) -> None:
        if self.closed:
            return
        wishes = self._panel.press(key)
        if any(wish.kind in ENDING for wish in wishes):
            self.close()
        self.show()
        self._send(wishes)

    def given(self, wish: Wish, value: object) -> None:
        """What a wish came to; an answer that comes too late is nobody's."""
        if self.closed:
            return
        self._flying.pop(wish.kind, None)
        wishes = self._panel.given(wish, value)
        self.show()
        self._send(wishes)
        self._follow(wish.kind)

    def failed(self, wish: Wish, words: str) -> None:
        """A wish that came to nothing, and why in words."""
        if self.closed:
            return
        self._flying.pop(wish.kind, None)
        self._panel.failed(wish, words)
        self.show()
        self._follow(wish.kind)

    def due(self) -> float | None:
        """When `tick` is to be called next; None: never, so that nothing has to wake up."""
        return None if self.closed or not self._panel.every else self._ticked + self._panel.every

    def tick(self, now: float) -> None:
        due = self.due()
        if due is not None and now >= due:
            self._ticked = now
            wishes = [wish for wish in self._panel.tick() if wish.kind not in self._flying]
            self._send(wishes)

    def close(self) -> None:
        """Back to the scrollback; for wishes that end a panel it is closed before they are carried out."""
        if not self.closed:
            self.closed = True
            self._terminal.close_full()

    def _send(self, wishes: Wishes) -> None:
        for wish in wishes:
            if wish.kind in self._flying:
                self._waiting[wish.kind] = wish
                if wish == self._flying[wish.kind]:
                    del self._waiting[wish.kind]
                continue
            if wish.kind not in (*ENDING, *ACTING):
                self._flying[wish.kind] = wish
            self._carry(wish)

    def _follow(self, kind: Kind) -> None:
        if kind not in self._flying and (waiting := self._waiting.pop(kind, None)):
            self._send([waiting])
