"""When a failed attempt is worth another one, and how long to wait first. Pure: chance is a parameter."""

from msgspec import Struct

from overt.core.errors import ProviderError


class Patience(Struct, frozen=True, kw_only=True):
    """Seconds. Waits grow from `first` by `growth`, none above `longest`, together at most `together`.

    A server that names its own wait gets it, with a little added, up to `asked`. `loopback` replaces the default
    limit before the first event for servers on this machine; for `comments` seconds comments count as life, and
    `ending` is how long a finished reply may leave its connection open.
    """

    first: float = 1.0
    growth: float = 3.0
    longest: float = 20.0
    together: float = 60.0
    asked: float = 300.0
    loopback: float = 600.0
    comments: float = 600.0
    ending: float = 5.0


class RetryHistory(Struct, frozen=True, kw_only=True):
    """Attempts made so far and the seconds already waited on our own account."""

    made: int = 1
    waited: float = 0.0


def next_wait(
    error: ProviderError, history: RetryHistory, *, attempts: int, chance: float, patience: Patience
) -> float | None:
    """Seconds to wait before the next attempt; None: no further attempt. `chance` is from 0 to 1."""
    if not error.retryable or history.made >= attempts:
        return None
    if error.retry_after:
        return None if error.retry_after > patience.asked else error.retry_after * (1.0 + 0.15 * chance)
    wait = min(patience.first * patience.growth ** (history.made - 1), patience.longest)
    wait *= 0.75 + 0.5 * chance
    return max(0.0, min(wait, patience.together - history.waited))


def final_error(error: ProviderError, history: RetryHistory, *, patience: Patience) -> ProviderError:
    """The error to show when no further attempt follows, with what the attempts came to."""
    words = error.message
    if error.retry_after is not None and error.retry_after > patience.asked:
        words += f" The server asks to wait {_span(error.retry_after)}; try again then."
    elif history.made > 1:
        words += f" Tried {history.made} times."
    return error.reworded(words, server_text=error.server_text)


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
