"""Running a tool, for real or as a preview: whatever goes wrong becomes an error the model can read."""

from collections.abc import Callable

from overt.core.errors import OvertError, ToolError
from overt.core.ports import BOXED, Hands, Journal, Profile
from overt.core.tool import Outcome
from overt.repair.mend import Mended


async def attempt(
    mended: Mended,
    hands: Hands,
    *,
    preview: bool = False,
    report: Callable[[str], None] | None = None,
    box: Profile = BOXED,
) -> tuple[Outcome, Journal]:
    """The outcome and what was done through the capabilities, or a ToolError."""
    tool = mended.tool
    assert tool is not None
    try:
        loan = hands.lend(mended.call.id, tool.needs, preview=preview, report=report, box=box)
        return await tool.run(mended.args, **loan.capabilities), loan.journal
    except ToolError:
        raise
    except OvertError as error:
        raise ToolError(error.message) from error
    except Exception as error:
        raise ToolError(f"{tool.name} broke: {type(error).__name__}: {error}", code="broken") from error
