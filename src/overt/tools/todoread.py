"""Read the todo list."""

from msgspec import Struct

from overt.core.effects import Notes
from overt.core.tool import Outcome, tool
from overt.core.views import Checklist
from overt.tools._todos import written


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    def subjects(self) -> tuple[str, ...]:
        return ()


@tool
async def todoread(args: Args, notes: Notes) -> Outcome:
    """Read the todo list."""
    items = notes.todos()
    return Outcome(text=written(items), view=Checklist(items=items))
