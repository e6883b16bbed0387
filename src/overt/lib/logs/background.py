"""Background tasks that nothing awaits: what breaks in them goes to the log."""

from collections.abc import Callable
from typing import Protocol

from overt.lib.logs.log import LOG


class Ended(Protocol):
    """A task or future that is done."""

    def cancelled(self) -> bool: ...
    def exception(self) -> BaseException | None: ...


def log_failure(area: str) -> Callable[[Ended], None]:
    """Return a done callback for a task: if it failed, write its traceback to the log."""

    def done(task: Ended) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error(area, "a background task failed", error)

    return done
