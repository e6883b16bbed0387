"""Run a tool, for real or as a preview. Whatever goes wrong becomes an error that the model can read."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from overt.core.errors import OvertError, ToolError
from overt.core.protocols import BOXED, Hands, Journal, Profile
from overt.core.tool import Outcome
from overt.lib.logs.log import LOG
from overt.lib.result_limit import ResultLimit, limited_to
from overt.repair.repair_call import MendedCall

T = TypeVar("T")


async def attempt(
    mended: MendedCall,
    hands: Hands,
    *,
    preview: bool = False,
    report: Callable[[str], None] | None = None,
    box: Profile = BOXED,
    limit: ResultLimit | None = None,
) -> tuple[Outcome, Journal]:
    """Run a tool, which says at most `limit`. Return its outcome and what it did, or raise a ToolError."""
    tool = mended.tool
    assert tool is not None

    async def run() -> tuple[Outcome, Journal]:
        loan = hands.lend(mended.call.id, tool.needs, preview=preview, report=report, box=box)
        with limited_to(limit):
            return await tool.run(mended.args, **loan.capabilities), loan.journal

    return await contain(tool.name, run())


async def contain(name: str, work: Awaitable[T]) -> T:
    """Await a part of a tool call. An unexpected exception goes to the log and becomes a ToolError (`broken`)."""
    try:
        return await work
    except ToolError:
        raise
    except OvertError as error:
        raise ToolError(error.message) from error
    except Exception as error:
        from overt.lib.logs import tracebacks  # late: 0.5 ms

        summary = tracebacks.summarize(error)
        LOG.error("tool", f"{name} broke: {summary}", error)
        raise ToolError(f"{name} broke: {summary}", code="broken") from error
