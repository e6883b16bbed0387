"""A command of Overt while it runs, and the time it has left."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

MAX_LIMITS = 10
MIN_TOTAL_S = 600.0
"""A server that reports progress has ten times the limit of its command, and never less than this."""
MAX_QUESTIONS = 10


@dataclass(slots=True, eq=False)
class RunningCommand:
    """`sent`: a request of it has reached the server. `notes` are for the model, about questions that were declined.

    `questions` counts those of the server to the user. `may_log_in`: Overt shows the user the page of a login during
    this command.
    """

    id: int
    server: str
    may_log_in: bool = False
    questions: int = 0
    sent: bool = False
    notes: list[str] = field(default_factory=list)
    _limit: asyncio.Timeout | None = None
    _limit_s: float = 0.0
    _last_end: float = math.inf
    _pauses: int = 0
    _paused_at: float = 0.0

    @asynccontextmanager
    async def limited(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError when the server has been silent for this long, or has taken many times as long at all."""
        self._limit_s = seconds
        self._last_end = asyncio.get_running_loop().time() + max(MAX_LIMITS * seconds, MIN_TOTAL_S)
        async with asyncio.timeout(seconds) as self._limit:
            try:
                yield
            finally:
                self._limit = None

    def restart_limit(self) -> None:
        """The server is alive: it has all of its time again, up to the end of the whole."""
        if self._limit is not None and not self._pauses and not self._limit.expired():
            self._limit.reschedule(min(asyncio.get_running_loop().time() + self._limit_s, self._last_end))

    def explain_timeout(self) -> str:
        """Say which limit has passed, as the end of a sentence about the server."""
        if asyncio.get_running_loop().time() < self._last_end:
            return f"did not answer within {self._limit_s:g} s"
        return f"reported progress, but has not answered after {max(MAX_LIMITS * self._limit_s, MIN_TOTAL_S):g} s"

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and one on the questions above the limit."""
        more = self.questions - MAX_QUESTIONS
        if more <= 0:
            return tuple(self.notes)
        last = f"{self.server} asked {more} more questions, which were declined: a call may ask {MAX_QUESTIONS}."
        return (*self.notes, last)

    @contextmanager
    def waiting_for_user(self) -> Iterator[None]:
        """The time does not run while the user has to answer."""
        if not self._pauses:
            self._paused_at = asyncio.get_running_loop().time()
        self._pauses += 1
        if self._limit is not None:
            self._limit.reschedule(None)
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._last_end += asyncio.get_running_loop().time() - self._paused_at
            self.restart_limit()


CURRENT: ContextVar[RunningCommand | None] = ContextVar("command", default=None)
"""The command for which the code runs. Requests to servers are made in the task of their command, and over HTTP the SDK
handles what comes back for a request in the context of its sender."""
