"""A command of Overt while it runs, and the time it has left."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class RunningCommand:
    """`sent`: a request of it has reached the server. `notes` are for the model, about questions that were declined.

    `may_log_in`: Overt shows the page of a login during this command to the user.
    """

    id: int
    server: str
    may_log_in: bool = False
    sent: bool = False
    notes: list[str] = field(default_factory=list)
    _limit: asyncio.Timeout | None = None
    _limit_s: float = 0.0
    _pauses: int = 0

    @asynccontextmanager
    async def limited(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError when the server has been silent for this long. A repetition begins anew."""
        self._limit_s = seconds
        async with asyncio.timeout(seconds) as self._limit:
            try:
                yield
            finally:
                self._limit = None

    def restart_limit(self) -> None:
        """The server is alive: it has all of its time again."""
        if self._limit is not None and not self._pauses and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + self._limit_s)

    @contextmanager
    def waiting_for_user(self) -> Iterator[None]:
        """The time does not run while the user has to answer."""
        self._pauses += 1
        if self._limit is not None:
            self._limit.reschedule(None)
        try:
            yield
        finally:
            self._pauses -= 1
            self.restart_limit()


CURRENT: ContextVar[RunningCommand | None] = ContextVar("command", default=None)
"""The command for which the code runs. Requests to servers are made in the task of their command, and over HTTP the SDK
handles what comes back for a request in the context of its sender."""
