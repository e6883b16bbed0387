"""The thread that runs the session: an event loop for the conversation, whose events wake the terminal."""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from itertools import groupby
from typing import Protocol, TypeAlias, TypeVar, TypeVarTuple

from msgspec.structs import replace

from overt.app.diagnostics.event_loop import report_failures
from overt.app.session import Session, Subscription
from overt.core.errors import OvertError
from overt.core.events import CallStreamed, Event, ReasoningStreamed, TextStreamed, ToolProgressed, TurnEnded

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
SessionItem: TypeAlias = Event | OvertError | None
"""An event of the session, an error that kept a turn from starting, or None: the turn is over."""
NUDGE, NUDGE_DELAYS_S = signal.SIGUSR1, (0.02, 0.1, 0.5)
"""A signal that means nothing but that others may wait, and when it is sent after a Ctrl-C."""
STOP_TIMEOUT_S = 2.0
"""Seconds that work nobody waits for has to clean up."""
STREAMED = (TextStreamed, ReasoningStreamed, CallStreamed, ToolProgressed)
"""What comes bit by bit, far more often than anybody can see."""
BATCH_DELAY_S = 1 / 30
"""Seconds between two times that the terminal is woken for such bits."""
MAX_BATCH_TEXT = 4000
"""Characters of one such bit, so that the terminal can look for keys in between."""


class WakeQueue(Protocol):
    """The part of a `Wake` that the thread uses."""

    def post(self, *items: SessionItem) -> None: ...
    def fileno(self) -> int: ...
    def drain(self) -> bytes: ...


class SessionThread:
    def __init__(self, wake: WakeQueue) -> None:
        self.loop = asyncio.new_event_loop()
        self.wake = wake
        self._batcher = EventBatcher(self.loop, wake)
        self._subscription: Subscription | None = None
        report_failures(self.loop, self._batcher.post)
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True, name="session")
        self._thread.start()

    def call(self, work: Coroutine[object, None, T]) -> T:
        """Wait for the result. An unexpected exception of the work is reported and raised as an InternalError."""
        future = self.start(work)
        try:
            error = future.exception()
        except CancelledError:
            raise OvertError("The chat has ended.") from None  # from another thread, which has nobody to tell it to
        except BaseException:
            future.cancel()  # Ctrl-C: nobody waits for it any more
            raise
        if isinstance(error, Exception) and not isinstance(error, OvertError):
            from overt.app.diagnostics.crash import report_crash  # late: 18 ms

            raise report_crash(error, where="session") from error
        return future.result()

    def start(self, work: Coroutine[object, None, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call_soon(self, function: Callable[[*Ts], object], *args: *Ts) -> None:
        self.loop.call_soon_threadsafe(function, *args)

    async def watch(self, session: Session) -> None:
        """Post every event of a session from now on, in a turn and between two, and no more of the one before."""
        if self._subscription is not None:
            self._subscription.close()
        self._subscription = session.subscribe(self._batcher.post, name="terminal")

    async def play(self, turn: Callable[[], Awaitable[TurnEnded]]) -> None:
        """Run a turn. Post an OvertError that kept it from starting, and None when it is over."""
        try:
            await turn()
        except OvertError as error:
            self._batcher.post(error)
        finally:
            self._batcher.post(None)

    @contextmanager
    def nudging(self) -> Iterator[None]:
        """A Ctrl-C that comes just before readline waits for a key would else be heard with that key only."""
        self.call(self._watch(on=True))
        try:
            yield
        finally:
            self.call(self._watch(on=False))

    async def _watch(self, *, on: bool) -> None:
        if on:
            self.loop.add_reader(self.wake, self._woken)
        else:
            self.loop.remove_reader(self.wake)

    def _woken(self) -> None:
        if signal.SIGINT in self.wake.drain():
            for seconds in NUDGE_DELAYS_S:
                self.loop.call_later(seconds, _nudge)

    def stop(self) -> None:
        """What is still under way belongs to nobody: left alone, it would complain on the screen of being dropped."""
        self.call(_end_all())
        self.call_soon(self.loop.stop)
        self._thread.join()
        self.loop.close()


class EventBatcher:
    """Posts items in order: the bits of a stream together after a moment, everything else at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: WakeQueue) -> None:
        self._loop = loop
        self._wake = wake
        self._waiting: list[SessionItem] = []
        self._posted = -BATCH_DELAY_S
        self._timer: asyncio.TimerHandle | None = None

    def post(self, item: SessionItem) -> None:
        self._waiting.append(item)
        if not isinstance(item, STREAMED) or self._loop.time() >= self._posted + BATCH_DELAY_S:
            self._flush()
        elif self._timer is None:
            self._timer = self._loop.call_at(self._posted + BATCH_DELAY_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        self._posted = self._loop.time()
        self._wake.post(*(item for _, bits in groupby(waiting, _stream) for item in _joined(bits)))


def _stream(item: SessionItem) -> object:
    """Return what is the same for bits of one stream of text, and for nothing else."""
    return (type(item), item.agent) if isinstance(item, TextStreamed | ReasoningStreamed) else id(item)


def _joined(bits: Iterator[SessionItem]) -> Iterator[SessionItem]:
    """Join the bits of one stream, and cut what is too long."""
    for item in bits:
        if not isinstance(item, TextStreamed | ReasoningStreamed):
            yield item
            continue
        rest = (bit.text for bit in bits if isinstance(bit, TextStreamed | ReasoningStreamed))
        text = "".join((item.text, *rest))
        yield from (replace(item, text=text[at : at + MAX_BATCH_TEXT]) for at in range(0, len(text), MAX_BATCH_TEXT))


async def _end_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=STOP_TIMEOUT_S)


def _nudge() -> None:
    if ident := threading.main_thread().ident:
        signal.pthread_kill(ident, NUDGE)
