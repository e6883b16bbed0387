"""What happens behind the terminal: the conversation is opened in a thread, and what it is asked comes back later.

Nothing here is waited for. Every piece of work is started with what is to be done with its result; that runs in the
thread of the terminal, when the loop finds it among the posted items.
"""

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from overt.app.options import Options
from overt.core.errors import OvertError
from overt.faces.tui.loop import Broken
from overt.faces.wake import Wake

if TYPE_CHECKING:
    from overt.app.setting import Setting

Do = Callable[[Any], None]


class Then(NamedTuple):
    """Something to do in the thread of the terminal."""

    do: Do
    value: Any


class Aside(threading.Thread):
    """A thread for work that blocks. If the work breaks, `failed` is called with the report."""

    def __init__(self, work: Callable[[], None], failed: Do) -> None:
        super().__init__(target=work, daemon=True, name="aside")
        self.failed = failed


class Backstage:
    """`engine` and `conversation` are None until `open` has succeeded; before, only `aside` and `later` can be used."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self._closed = False
        self.engine: Any = None
        self.conversation: Any = None

    def aside(self, work: Callable[[], Any], then: Do, failed: Do) -> None:
        """Run something that blocks in a thread of its own."""

        def run() -> None:
            try:
                value = work()
            except OvertError as error:
                self._post(Then(failed, error))
            else:
                self._post(Then(then, value))

        Aside(run, failed).start()

    def open(self, options: Options, then: Do, failed: Do) -> None:
        self.aside(lambda: self.opened(options), then, failed)

    def opened(self, options: Options, setting: "Setting | None" = None) -> Any:
        """Open a conversation, in a thread that may wait; the one before is closed only when the new one stands."""
        from overt.faces.engine import Engine  # late: 34 ms

        engine = self.engine or Engine(self._wake)
        try:
            from overt.app.start import open_conversation  # late: 258 ms

            conversation = engine.call(open_conversation(options, setting))
        except BaseException:
            if engine is not self.engine:
                engine.stop()
            raise
        engine.call(engine.watch(conversation.session))
        old, self.engine, self.conversation = self.conversation, engine, conversation
        if old is not None:
            engine.call(old.close())
        return conversation

    def ask(self, work: Callable[[], Coroutine[Any, Any, Any]], then: Do, failed: Do) -> None:
        """Ask something of the conversation, in the engine's own thread."""

        async def run() -> None:
            try:
                value = await work()
            except OvertError as error:
                self._post(Then(failed, error))
            else:
                self._post(Then(then, value))

        self._start(run(), failed)

    def look(self, work: Callable[[], Any], then: Do, failed: Do | None = None) -> None:
        """Read something of the conversation that takes no time."""

        async def run() -> None:
            self._post(Then(then, work()))

        self._start(run(), failed)

    def later(self, do: Do, value: Any) -> None:
        """From any thread: do this in the thread of the terminal."""
        self._post(Then(do, value))

    def play(self, turn: Callable[[], Any]) -> None:
        self._start(self.engine.play(turn))

    def _start(self, work: Coroutine[Any, Any, None], failed: Do | None = None) -> None:
        """Start work that nothing awaits. If it breaks, `failed` gets the report; without `failed` the loop ends."""

        def ended(future: Any) -> None:
            error = None if future.cancelled() else future.exception()
            if error is not None and failed is not None:
                from overt.app.crash import report_crash  # late: 54 ms

                self._post(Then(failed, report_crash(error, where="engine")))
            elif error is not None:
                self._post(Broken(error))

        self.engine.start(work).add_done_callback(ended)

    def _post(self, item: Then | Broken) -> None:
        """Whoever is not waited for at the end may still come to one: then nobody listens any more."""
        if not self._closed:
            self._wake.post(item)

    def close(self, ending: str) -> None:
        self._closed = True
        if self.engine is None:
            return
        try:
            if self.conversation is not None:
                self.engine.call(self.conversation.close(ending))
        finally:
            self.engine.stop()
