"""An unexpected exception inside a turn ends that turn: it becomes a crash file and the reason of the turn's end."""

from collections.abc import Awaitable

from overt.core.errors import OvertError
from overt.core.events import TurnEnded


async def failure_of(work: Awaitable[None]) -> Exception | None:
    """Await a part of a turn and return the exception that ended it. A cancellation passes through."""
    try:
        await work
    except Exception as error:  # noqa: BLE001 - the third and last blanket catch, see decision 0011
        return error
    return None


def failed_end(error: Exception) -> TurnEnded:
    """The end of a turn that failed: with the words of an OvertError, else with the path of a crash file."""
    if not isinstance(error, OvertError):
        from overt.app.diagnostics.crash import report_crash  # late: 25 ms

        error = report_crash(error, where="turn")
    return TurnEnded(reason="error", text=error.message, kind="internal")
