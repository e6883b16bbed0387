"""Background tasks that nothing awaits: what breaks in them goes to the log."""

from collections.abc import Callable
from typing import Any

from overt.lib.log import LOG


def log_failure(area: str) -> Callable[[Any], None]:
    """Return a done callback for a task: if it failed, write its traceback to the log."""

    def done(task: Any) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error(area, "a background task failed", error)

    return done
