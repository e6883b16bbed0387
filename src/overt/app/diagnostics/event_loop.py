"""Event loops that report what goes wrong in their callbacks and background tasks."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

from overt.app.diagnostics.recent_events import RECENT
from overt.core.errors import InternalError

T = TypeVar("T")


def run_async(work: Coroutine[object, None, T]) -> T:
    """`asyncio.run`, but an exception in a callback leaves a crash file and one line on stderr."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda _, context: _handle(context, _print_report))
        return runner.run(work)


def report_failures(loop: asyncio.AbstractEventLoop, show: Callable[[InternalError], None]) -> None:
    """Hand exceptions in callbacks of this loop to `show`, once they are in a crash file."""
    loop.set_exception_handler(lambda _, context: _handle(context, show))


def _handle(context: dict[str, object], show: Callable[[InternalError], None]) -> None:
    from overt.app.diagnostics.crash import report_callback  # late: 18 ms

    reported = report_callback(context)
    if reported is not None:
        show(reported)


def _print_report(reported: InternalError) -> None:
    RECENT.uncaught += 1
    from overt.app.diagnostics.crash import print_report  # late: 18 ms

    print_report(reported)
