"""How much of a result goes to the model: decided here by the context window, for every tool and every program.

The engine sets the limit around a call; what words a result, in a tool or behind its capabilities, asks for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from overt.core.settings import Limits
from overt.lib.text import clip
from overt.lib.tokens import estimate

USUAL_TOKENS, MOST_TOKENS = 8_000, 25_000
SMALL_WINDOW_SHARE, LARGE_WINDOW_SHARE = 4, 12
"""A result has at most this fraction of a window: a small one, and one above 96 000 tokens."""
NOTES_TOKENS = 300
BYTES_PER_TOKEN = 6
"""More than ordinary text has, so that the tokens decide; bytes bound what the estimate takes for next to nothing."""


class ResultLimit(NamedTuple):
    """What one result may take, in tokens of the family of vocabularies that the model uses."""

    tokens: int
    bytes: int
    family: str = "default"

    def body(self) -> "ResultLimit":
        """Return the limit of a tool's own text, so that notes of the harness still fit behind it."""
        tokens, size = min(self.tokens // 16, NOTES_TOKENS), min(self.bytes // 16, NOTES_TOKENS * BYTES_PER_TOKEN)
        return self._replace(tokens=self.tokens - tokens, bytes=self.bytes - size)

    def count(self, text: str) -> int:
        return estimate(text, self.family)

    def clip(self, text: str, hint: str = "") -> str:
        """The text, or its head and tail around a marker that says what is missing and how to get it."""
        return clip(text, self.bytes, self.tokens, hint, family=self.family)


def result_limit(window: int, limits: Limits | None = None, *, family: str = "default") -> ResultLimit:
    """The limit for a window, 0 if nobody knows it.

    A quarter of the window below 32 000 tokens, 8 000 tokens up to 96 000, a twelfth above, at most 25 000. What the
    user has set takes the place of that, within a quarter of the window.
    """
    limits = limits or Limits()
    tokens = limits.result_tokens or max(USUAL_TOKENS, min(window // LARGE_WINDOW_SHARE, MOST_TOKENS))
    tokens = min(tokens, window // SMALL_WINDOW_SHARE) if window else tokens
    return ResultLimit(tokens, limits.result_bytes or tokens * BYTES_PER_TOKEN, family)


_current: ContextVar[ResultLimit] = ContextVar("result_limit")


def current_limit() -> ResultLimit:
    """Return the limit of the running call; outside of one, that of an unknown window."""
    return _current.get(None) or result_limit(0)


@contextmanager
def limited_to(limit: ResultLimit | None) -> Iterator[None]:
    """Cut results to this limit inside the block; None changes nothing."""
    if limit is None:
        yield
        return
    token = _current.set(limit)
    try:
        yield
    finally:
        _current.reset(token)
