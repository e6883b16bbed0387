"""The loop of the thread that owns the terminal: keys, what others posted, ticks, signals, and when to paint.

Keys are painted at once, what streams at a bounded rate, and while nothing happens nothing wakes up.
"""

import select
import signal
from collections.abc import Callable
from errno import EIO
from os import strerror
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn, Protocol, Self, TypeAlias

from overt.frontends.tui.terminal.keyboard import Key, KeyDecoder
from overt.frontends.tui.terminal.screen import Gone, Terminal
from overt.frontends.wakeup_queue import Wake

if TYPE_CHECKING:
    from overt.frontends.session_thread import SessionItem

ESCAPE_AFTER = 0.05
"""Seconds after which a lone ESC is the key, not the beginning of one."""
PATIENCE = 1.0
"""Seconds that a terminal has to take the last bytes, once we are told to end."""
FRAME = 1 / 30
"""Seconds between two paintings of what streams."""
SPELL = 0.01
"""Seconds after which keys come before the rest of what was posted."""


class Callback(NamedTuple):
    """A call that the terminal thread is to make."""

    do: Callable[[], None]


class ThreadCrash(NamedTuple):
    """An unexpected exception of another thread of ours. As an item it ends the loop."""

    error: BaseException


Item: TypeAlias = "SessionItem | Callback | ThreadCrash"
"""What other threads post to the terminal thread."""


class Player(Protocol):
    """The chat, as the loop sees it. `due` is the time of the next tick, or None if it needs none."""

    over: bool

    def key(self, key: Key) -> None: ...
    def item(self, item: "SessionItem | Callback") -> None: ...
    def tick(self, now: float) -> None: ...
    def due(self, now: float) -> float | None: ...
    def paint(self) -> None: ...
    def resized(self) -> None: ...


Handler: TypeAlias = Callable[[int, FrameType | None], object] | int | None
"""What `signal.signal` returns: a function, `SIG_DFL` or `SIG_IGN`, or None if a handler was not set by Python."""
Phase = Literal["entering", "running", "leaving", "closing"]
"""A signal that ends us interrupts only "running"; entering and leaving the terminal are always completed."""


class Loop:
    """Event loop of the terminal thread. It installs signal handlers on entry and restores them on exit."""

    def __init__(self, terminal: Terminal, wake: Wake[Item], clock: Callable[[], float] = monotonic) -> None:
        self._terminal = terminal
        self._wake = wake
        self._clock = clock
        self._decoder = KeyDecoder()
        self._painted = self._fed = 0.0
        self._stale = True
        self._interrupted = self._resized = self._continued = self._stopped = False
        self._handlers: dict[int, Handler] = {}
        self._phase: Phase = "entering"
        self._ended = 0

    def __enter__(self) -> Self:
        self._on(signal.SIGWINCH, self._note_resize)
        self._on(signal.SIGINT, self._note_interrupt)
        self._on(signal.SIGTSTP, self._note_stop)
        self._on(signal.SIGCONT, self._note_continue)
        self._on(signal.SIGALRM, _too_late)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup means it
                self._on(number, self._note_end)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def run(self, player: Player, entered: Callable[[], None]) -> None:
        """Enter the terminal, serve it until the chat is over, and leave it however that ends."""
        try:
            self._terminal.enter()
            entered()
            self._play(player)
        finally:
            self._phase = "leaving"
            self._terminal.leave()
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._phase = "closing"

    def _play(self, player: Player) -> None:
        self._phase = "running"
        if self._ended:
            raise SystemExit(128 + self._ended)
        while not player.over:
            self._turn(player)

    def soon(self) -> None:
        """Paint with the next frame."""
        self._stale = True

    def _turn(self, player: Player) -> None:
        now = self._clock()
        if self._stale and now - self._painted >= FRAME:
            self._paint(player)
        ready, _, _ = select.select([0, self._wake.awake], [], [], self._patience(player, now))
        if self._wake.awake in ready:
            self._wake.drain()
        self._signals(player)
        pressed = self._keys(0 in ready)
        for key in pressed:
            if key.name == "ctrl-z":
                self._stop()
            else:
                player.key(key)
        if pressed and not player.over:
            self._paint(player)
        now = self._clock()
        while self._wake.items and not player.over and self._clock() - now < SPELL:
            item = self._wake.items.popleft()
            if isinstance(item, ThreadCrash):
                raise item.error
            player.item(item)
            self._stale = True
        now = self._clock()
        if self._terminal.wait == 0:
            self._stale = True
        due = player.due(now)
        if due is not None and now >= due:
            player.tick(now)
            self._stale = True

    def _patience(self, player: Player, now: float) -> float | None:
        ends = [due for due in (player.due(now),) if due is not None]
        if self._wake.items:
            ends.append(now)
        if self._stale:
            ends.append(self._painted + FRAME)
        if self._decoder.pending:
            ends.append(self._fed + ESCAPE_AFTER)
        if (held := self._terminal.wait) is not None:
            ends.append(now + held)
        return max(min(ends) - now, 0.0) if ends else None

    def _keys(self, ready: bool) -> list[Key]:
        now = self._clock()
        if not ready:
            return self._decoder.flush() if self._decoder.pending and now - self._fed >= ESCAPE_AFTER else []
        self._fed = now
        return self._decoder.feed(self._terminal.read())

    def _paint(self, player: Player) -> None:
        self._stale = False
        player.paint()
        self._painted = self._clock()

    # ── signals: noted where they strike, obeyed here ────────────────────────────────────────────────────

    def _signals(self, player: Player) -> None:
        if self._interrupted:
            self._interrupted = False
            player.key(Key("ctrl-c"))
            self._stale = True
        if self._stopped:
            self._stopped = False
            self._stop()
        if self._continued:
            self._continued = False
            self._terminal.enter()
            self._resized = True
        if self._resized:
            self._resized = False
            player.resized()
            self._paint(player)

    def _stop(self) -> None:
        self._terminal.suspend()
        self._resized = True

    def _on(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handlers[number] = signal.signal(number, handler)

    def _note_resize(self, _number: int, _frame: FrameType | None) -> None:
        self._resized = True

    def _note_interrupt(self, number: int, _frame: FrameType | None) -> None:
        self._interrupted = True
        if self._phase == "closing":
            self._impatient(number)

    def _note_stop(self, _number: int, _frame: FrameType | None) -> None:
        """Suspend. If another program has the terminal, such as an editor that was stopped with us, only stop."""
        if self._terminal.inside:
            self._stopped = True
        else:
            self._terminal.stop()

    def _note_continue(self, _number: int, _frame: FrameType | None) -> None:
        self._continued = True

    def _note_end(self, number: int, _frame: FrameType | None) -> None:
        if self._phase == "closing":
            self._impatient(number)
            return
        self._ended = number
        if self._terminal.inside:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        if self._phase == "running":
            self._phase = "leaving"
            raise SystemExit(128 + number)

    def _impatient(self, number: int) -> None:
        """We are closing already. A second signal means that the user does not want to wait for it."""
        if self._ended:
            raise SystemExit(128 + number)
        self._ended = number


def _too_late(_number: int, _frame: FrameType | None) -> NoReturn:
    """A terminal that takes no more bytes is as good as gone."""
    raise Gone(EIO, strerror(EIO))
