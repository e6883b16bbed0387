"""Access to the session from the terminal thread: a conversation is opened in a thread, and results come back later.

Nothing here blocks. Each piece of work is started with a callback for its result; the callback runs in the terminal
thread, when the loop takes it from the posted items.
"""

import threading
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from overt.app.options import Options
from overt.core.errors import OvertError
from overt.core.events import EndReason, TurnEnded
from overt.frontends.tui.terminal.loop import Callback, Item, ThreadCrash
from overt.frontends.wakeup_queue import Wake

if TYPE_CHECKING:
    from concurrent.futures import Future

    from overt.app.conversation import Conversation
    from overt.app.setting import Setting
    from overt.frontends.session_thread import SessionThread

T = TypeVar("T")
Failed = Callable[[OvertError], None]


class Worker(threading.Thread):
    """A thread for work that blocks. If the work breaks, `failed` is called with the report."""

    def __init__(self, work: Callable[[], None], failed: Failed) -> None:
        super().__init__(target=work, daemon=True, name="aside")
        self.failed = failed


class Background:
    """Starts work in the session's thread and in threads of its own.

    `session_thread` and `conversation` are None until `open` has succeeded. Before, use `run_in_thread` and `post`.
    """

    def __init__(self, wake: Wake[Item]) -> None:
        self._wake = wake
        self._closed = False
        self.session_thread: SessionThread | None = None
        self.conversation: Conversation | None = None

    def run_in_thread(self, work: Callable[[], T], then: Callable[[T], None], failed: Failed) -> None:
        """Run blocking work in a thread of its own."""

        def run() -> None:
            try:
                value = work()
            except OvertError as error:
                self.post(failed, error)
            else:
                self.post(then, value)

        Worker(run, failed).start()

    def open(self, options: Options, then: "Callable[[Conversation], None]", failed: Failed) -> None:
        self.run_in_thread(lambda: self.open_blocking(options), then, failed)

    def open_blocking(self, options: Options, setting: "Setting | None" = None) -> "Conversation":
        """Open a conversation. Call this in a thread that may block. The old one is closed when the new one is open."""
        from overt.frontends.session_thread import SessionThread  # late: 51 ms

        session_thread = self.session_thread or SessionThread(self._wake)
        try:
            from overt.app.start import open_conversation  # late: 102 ms

            conversation = session_thread.call(open_conversation(options, setting))
        except BaseException:
            if session_thread is not self.session_thread:
                session_thread.stop()
            raise
        session_thread.call(session_thread.watch(conversation.session))
        old, self.session_thread, self.conversation = self.conversation, session_thread, conversation
        if old is not None:
            session_thread.call(old.close())
        return conversation

    def ask(
        self, work: "Callable[[Conversation], Coroutine[object, None, T]]", then: Callable[[T], None], failed: Failed
    ) -> None:
        """Await something of the conversation in the session's thread."""
        conversation = self.current

        async def run() -> None:
            try:
                value = await work(conversation)
            except OvertError as error:
                self.post(failed, error)
            else:
                self.post(then, value)

        self.start(run(), failed)

    def read(
        self, work: "Callable[[Conversation], T]", then: Callable[[T], None], failed: Failed | None = None
    ) -> None:
        """Read something of the conversation that takes no time, in the session's thread."""
        conversation = self.current

        async def run() -> None:
            self.post(then, work(conversation))

        self.start(run(), failed)

    def call_soon(self, do: "Callable[[Conversation], object]") -> None:
        """Do something with the conversation in the session's thread and ignore the result."""
        self._running.call_soon(do, self.current)

    def play(self, turn: "Callable[[Conversation], Awaitable[TurnEnded]]") -> None:
        """Run a turn of the conversation."""
        self.start(self._running.play(partial(turn, self.current)))

    def post(self, do: Callable[[T], None], value: T) -> None:
        """Call this in the terminal thread. May be used from any thread."""
        self._post(Callback(partial(do, value)))

    def start(self, work: Coroutine[object, None, None], failed: Failed | None = None) -> None:
        """Start work that nothing awaits. If it breaks, `failed` gets the report; without `failed` the loop ends."""

        def ended(future: "Future[None]") -> None:
            error = None if future.cancelled() else future.exception()
            if error is not None and failed is not None:
                from overt.app.diagnostics.crash import report_crash  # late: 26 ms

                self.post(failed, report_crash(error, where="session"))
            elif error is not None:
                self._post(ThreadCrash(error))

        self._running.start(work).add_done_callback(ended)

    @property
    def current(self) -> "Conversation":
        """The open conversation. Fails if there is none."""
        assert self.conversation is not None, "no conversation is open yet"
        return self.conversation

    @property
    def _running(self) -> "SessionThread":
        assert self.session_thread is not None, "no conversation is open yet"
        return self.session_thread

    def _post(self, item: Callback | ThreadCrash) -> None:
        """Post an item, unless the chat has ended: threads that were not awaited may finish after it."""
        if not self._closed:
            self._wake.post(item)

    def close(self, ending: EndReason) -> None:
        self._closed = True
        if self.session_thread is None:
            return
        try:
            if self.conversation is not None:
                self.session_thread.call(self.conversation.close(ending))
        finally:
            self.session_thread.stop()
