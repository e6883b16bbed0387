"""Replace the todo list."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import Notes
from overt.core.tool import Outcome, tool
from overt.core.views import Checklist, Todo


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    todos: Annotated[tuple[Todo, ...] | None, Meta(description="The whole list")] = None

    def subjects(self) -> tuple[str, ...]:
        return ()


@tool(
    order=110,
    aliases="TodoWrite todo_write update_plan write_todos todo manage_todo_list set_todos set_todo_list "
    "update_todo_list todoread TodoRead todo_read read_todos get_todos list_todos",
)
async def todowrite(args: Args, notes: Notes) -> Outcome:
    """Replace the todo list. Use it for work of three or more steps; keep one item in_progress and complete it
    as soon as it is done."""
    items = notes.todos() if args.todos is None else args.todos
    lines = [item.line() for item in items] or ["[the list is empty]"]
    busy = sum(item.status == "in_progress" for item in items)
    if args.todos is None:  # the tools that other agents read a list with are names of this one
        lines.append("[not changed]")
    else:
        notes.set_todos(items)
        lines += [f"[{busy} items are in_progress; work on one at a time]"] if busy > 1 else []
    return Outcome(text="\n".join(lines), view=Checklist(items=items))
